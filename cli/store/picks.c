/* SPDX-License-Identifier: MIT */
/*
 * Choose one attempt of each profile. If several attempts were committed, all are complete, but all
 * readers must choose the same one: the one that was committed first.
 */
#include "cli/store/picks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/store_profile.h"
#include "cli/store/rows.h"

#define DAY_S 86400

/* Add a condition for each label of the address. A label and its column have equal names. */
static void put_conditions(struct store_request *request, const struct store_address *address)
{
	for (unsigned i = 0; i < STORE_LABELS; i++) {
		if (!address->label[i][0])
			continue;
		store_request_text(request, " AND %s = ", store_label_names()[i]);
		store_put_literal(&request->query, address->label[i]);
	}
}

static void ask(struct store_request *request, const struct store_server *server)
{
	const struct store_address *address = server->address;
	unsigned long from = (unsigned long)address->from_s, to = (unsigned long)address->to_s;

	request->host = server->host;
	store_request_text(request,
		"SELECT profile, attempt, committed, day, start, span, period, weight, service, "
		"host, unit, count_name, title FROM %s.profiles WHERE day >= toDate(%lu) AND "
		"day <= toDate(%lu) AND start >= toDateTime(%lu) AND start < toDateTime(%lu)",
		address->database, from / DAY_S, to / DAY_S, from, to);
	put_conditions(request, address);
	bytes_text(&request->query, " FORMAT RowBinary");
}

static int read_text(struct picks *picks, struct rows *rows, uint32_t *number)
{
	char text[ROWS_TEXT_BYTES + 1];

	rows_text(rows, text, sizeof(text));
	return texts_add(&picks->texts, text, "", 0, number) ? -ENOMEM : 0;
}

/* Refuse a profile whose unit is not the unit of the first profile. */
static int check_unit(struct picks *picks, const char *unit, const char *count_name, bool is_time,
	struct diag_message *message)
{
	if (!picks->count) {
		strcpy(picks->unit, unit);
		strcpy(picks->count_name, count_name);
		picks->is_time = is_time;
		return 0;
	}
	if (strcmp(picks->count_name, count_name))
		strcpy(picks->count_name, "samples");
	if (picks->is_time == is_time && !strcmp(picks->unit, unit))
		return 0;
	diag_fail(message, -EINVAL, "some of the profiles count '%s' and some '%s'", picks->unit,
		unit);
	diag_fail_hint(message, "choose by &unit=%s", unit);
	return -EINVAL;
}

static void parse_id(struct pick *pick, const char *id)
{
	char half[17] = "";

	memcpy(half, id, 16);
	pick->id[0] = strtoull(half, NULL, 16);
	pick->id[1] = strtoull(id + 16, NULL, 16);
}

static int add_pick(struct picks *picks, const struct pick *pick)
{
	if (picks->count == picks->room) {
		size_t room = picks->room ? 2 * picks->room : 1024;
		struct pick *at =
			room > PICKS_MAX ? NULL : reallocarray(picks->at, room, sizeof(*at));

		if (!at)
			return room > PICKS_MAX ? -E2BIG : -ENOMEM;
		picks->at = at;
		picks->room = room;
	}
	picks->at[picks->count++] = *pick;
	return 0;
}

static int read_row(
	struct picks *picks, struct rows *rows, uint32_t server, struct diag_message *message)
{
	struct pick pick = {.server = server};
	char id[STORE_ID_BYTES], unit[STORE_LABEL_BYTES], count_name[sizeof(picks->count_name)];
	int error;

	rows_text(rows, id, sizeof(id));
	pick.attempt = (uint32_t)rows_uint(rows, 4);
	pick.committed_s = (uint32_t)rows_uint(rows, 4);
	pick.day = (uint16_t)rows_uint(rows, 2);
	pick.start_s = (uint32_t)rows_uint(rows, 4);
	pick.span_ns = rows_uint(rows, 8);
	pick.period_ns = rows_uint(rows, 8);
	pick.weight = rows_uint(rows, 8);
	error = read_text(picks, rows, &pick.service);
	if (!error)
		error = read_text(picks, rows, &pick.host);
	rows_text(rows, unit, sizeof(unit));
	rows_text(rows, count_name, sizeof(count_name));
	if (!error)
		error = read_text(picks, rows, &pick.title);
	if (!error && (rows->is_damaged || strlen(id) != STORE_ID_BYTES - 1))
		error = -EPROTO;
	if (!error)
		error = check_unit(picks, unit, count_name, pick.period_ns != 0, message);
	if (error)
		return error;
	parse_id(&pick, id);
	return add_pick(picks, &pick);
}

int picks_add(struct picks *picks, uint32_t server, const struct bytes *answer,
	struct diag_message *message)
{
	struct rows rows = rows_of(answer);
	int error = 0;

	if (!picks->texts.account.limit_bytes)
		picks->texts.account.limit_bytes = SIZE_MAX;
	while (!error && rows_are_left(&rows))
		error = read_row(picks, &rows, server, message);
	return error;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_side_and_id(const struct pick *a, const struct pick *b)
{
	int found = compare(a->side, b->side);

	for (unsigned i = 0; !found && i < 2; i++)
		found = compare(a->id[i], b->id[i]);
	return found;
}

static int by_commit(const void *left, const void *right)
{
	const struct pick *a = left, *b = right;
	int found = by_side_and_id(a, b);

	if (!found)
		found = compare(a->committed_s, b->committed_s);
	if (!found)
		found = compare(a->server, b->server);
	return found ? found : compare(a->attempt, b->attempt);
}

void picks_choose(struct picks *picks, const struct store_server *servers)
{
	size_t kept = 0;

	if (!picks->count)
		return;
	for (size_t i = 0; i < picks->count; i++) {
		struct pick *pick = &picks->at[i];

		pick->side = (uint8_t)servers[pick->server].side;
		pick->server = servers[pick->server].same_as;
	}
	qsort(picks->at, picks->count, sizeof(*picks->at), by_commit);
	for (size_t i = 1; i < picks->count; i++)
		if (by_side_and_id(&picks->at[kept], &picks->at[i]))
			picks->at[++kept] = picks->at[i];
	picks->count = kept + 1;
}

/* Ask all servers of one address in parallel and add the answers. */
static int ask_address(struct picks *picks, const struct store_server *servers, uint32_t first,
	unsigned count, struct diag_message *message)
{
	struct store_request requests[STORE_HOSTS_MAX] = {{.host = 0}};
	int error;

	for (unsigned i = 0; i < count; i++)
		ask(&requests[i], &servers[first + i]);
	error = store_http_ask(servers[first].http, requests, count, message);
	/* -ENOENT is no error: a server without tables has no profiles. */
	for (unsigned i = 0; i < count; i++)
		if (error == -ENOENT && requests[i].error && requests[i].error != -ENOENT)
			error = requests[i].error;
	if (error == -ENOENT) {
		*message = (struct diag_message){{0}, {0}};
		error = 0;
	}
	for (unsigned i = 0; !error && i < count; i++) {
		if (requests[i].error)
			continue;
		error = picks_add(picks, first + i, &requests[i].answer, message);
		if (error && error != -EINVAL)
			diag_fail(message, error, "'%s': profiles cannot be read: %s",
				servers[first].address->host[i], strerror(-error));
	}
	store_requests_release(requests, count);
	return error;
}

int picks_read(struct picks *picks, const struct store_server *servers, unsigned count,
	struct diag_message *message)
{
	int error = 0;

	for (unsigned i = 0; !error && i < count; i += servers[i].address->hosts)
		error = ask_address(picks, servers, i, servers[i].address->hosts, message);
	if (error)
		return error;
	picks_choose(picks, servers);
	if (!picks->count)
		return diag_fail(message, -ENOENT, "no profile is in the store that was asked for");
	return 0;
}

void picks_release(struct picks *picks)
{
	free(picks->at);
	texts_release(&picks->texts);
	*picks = (struct picks){.count = 0};
}
