/* SPDX-License-Identifier: MIT */
/*
 * Read profiles from stores. First this file chooses which attempts (push.h) count, because
 * profiles are few. Then each server adds up the weights of its attempts by stack, and sends all
 * stacks and frames of the days of these attempts. This file adds up the sums of all servers. No
 * server needs settings about other servers, so servers can be added at any time.
 *
 * Only weights of one run (a host) and one sampling period can be added; such weights form a group.
 * If there are few groups, a server computes a sum for each. If there are many, it sends the weight
 * of each stack in each attempt: grouping by stack and attempt costs a server three times as much
 * as grouping by stack, which is the table's order, and hardly makes the answer smaller.
 */
#include "cli/store/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/store/picks.h"
#include "cli/store/store_profile.h"
#include "cli/store/rows.h"
#include "cli/store/server_tree.h"

#define NS_PER_S      1e9
#define GROUPS_MAX    4096u
/* If there are more groups than this, servers do not compute sums. */
#define GROUPS_SUMMED 4u
#define ADDRESSES_MAX 64u

/* Indices of the queries to one server. Each group that the server sums has one WEIGHTS query. */
enum {
	STACKS,
	FRAMES,
	WEIGHTS,
	QUESTIONS = WEIGHTS + GROUPS_SUMMED
};

struct group {
	uint32_t run;
	uint64_t period_ns;
};

/* What one server is asked for. An attempt is one stored push of a profile. */
struct asking {
	/* attempts to ask for: given[group] if servers compute sums, otherwise given[0] */
	struct bytes given[GROUPS_SUMMED];
	/* array of struct server_attempt; empty if servers compute sums */
	struct bytes attempts;
	struct server_weights weights[GROUPS_SUMMED];
	unsigned first_day, last_day;
	const char *service; /* borrowed; NULL: several */
	bool has_picks;
};

struct reading {
	struct diag_message *message;
	struct calltree *tree;
	struct store_address addresses[ADDRESSES_MAX];
	struct store_http *https[ADDRESSES_MAX]; /* [address]; owned */
	struct store_server servers[ADDRESSES_MAX * 4];
	unsigned address_count, server_count;
	struct picks picks;
	struct group groups[GROUPS_MAX];
	struct server_unit units[GROUPS_MAX]; /* [group] */
	unsigned group_count;
	bool by_host;
	uint64_t period_ns; /* of the tree */
	struct server_sums sums;
};

/* ---- questions ------------------------------------------------------------------------------- */

static bool is_summed(const struct reading *reading)
{
	return reading->group_count <= GROUPS_SUMMED;
}

static void note_pick(const struct reading *reading, struct asking *asking, const struct pick *pick)
{
	const char *service = texts_at(&reading->picks.texts, pick->service);
	const struct server_attempt attempt = {pick->attempt, pick->group};

	if (!asking->has_picks || pick->day < asking->first_day)
		asking->first_day = pick->day;
	if (!asking->has_picks || pick->day > asking->last_day)
		asking->last_day = pick->day;
	if (!asking->has_picks)
		asking->service = service;
	else if (asking->service && strcmp(asking->service, service))
		asking->service = NULL;
	asking->has_picks = true;
	rows_put_uint(&asking->given[is_summed(reading) ? pick->group : 0], pick->attempt, 4);
	if (!is_summed(reading))
		bytes_put(&asking->attempts, &attempt, sizeof(attempt));
}

static int by_attempt(const void *left, const void *right)
{
	const struct server_attempt *a = left, *b = right;

	return a->attempt < b->attempt ? -1 : a->attempt > b->attempt;
}

/* Returns 0 or -ENOMEM. */
static int sort_picks(const struct reading *reading, uint32_t server, struct asking *asking)
{
	const struct picks *picks = &reading->picks;
	int error = 0;

	for (size_t i = 0; i < picks->count; i++)
		if (picks->at[i].server == server)
			note_pick(reading, asking, &picks->at[i]);
	if (asking->attempts.used)
		qsort(asking->attempts.data, asking->attempts.used / sizeof(struct server_attempt),
			sizeof(struct server_attempt), by_attempt);
	for (unsigned i = 0; i < GROUPS_SUMMED; i++)
		error = error ? error : asking->given[i].error;
	return error ? error : asking->attempts.error;
}

/* Returns the WHERE condition of all queries, with NUL; the caller releases it. */
static struct bytes put_where(const struct asking *asking)
{
	struct bytes where = {0};
	char days[96];

	snprintf(days, sizeof(days), "day >= toDate(%u) AND day <= toDate(%u)", asking->first_day,
		asking->last_day);
	bytes_text(&where, days);
	if (asking->service) {
		bytes_text(&where, " AND service = ");
		store_put_literal(&where, asking->service);
	}
	bytes_put(&where, "", 1);
	return where;
}

/* Write the queries for server @number. A server without selected profiles gets no queries. */
static void ask_server(const struct reading *reading, uint32_t number,
	struct store_request requests[QUESTIONS], struct asking *asking)
{
	const struct store_server *server = &reading->servers[number];
	const char *database = server->address->database;
	int error = sort_picks(reading, number, asking);
	struct bytes where = put_where(asking);

	if (!error)
		error = where.error;
	for (unsigned i = 0; i < QUESTIONS; i++) {
		requests[i].host = server->host;
		requests[i].query.error = error;
	}
	if (error || !asking->has_picks) {
		bytes_release(&where);
		return;
	}
	for (unsigned i = 0; i < GROUPS_SUMMED; i++) {
		requests[WEIGHTS + i].given =
			(struct store_given){&asking->given[i], "attempt UInt32"};
		if (asking->given[i].used)
			store_request_text(&requests[WEIGHTS + i],
				"SELECT stack, %s FROM %s.weights WHERE %s AND attempt IN given "
				"GROUP BY stack FORMAT RowBinary",
				is_summed(reading) ? "[sum(weight)]"
						   : "groupArray(bitOr(bitShiftLeft(toUInt64("
						     "attempt), 32), weight))",
				database, where.data);
	}
	store_request_text(&requests[STACKS],
		"SELECT stack, parent, frame FROM %s.stacks WHERE %s FORMAT RowBinary", database,
		where.data);
	store_request_text(&requests[FRAMES],
		"SELECT frame, kind, line, name, module, file FROM %s.frames WHERE %s FORMAT "
		"RowBinary",
		database, where.data);
	bytes_release(&where);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Add a server's stacks to the tree, and its weights to reading->sums for server_sums_add(). */
static int add_answers(struct reading *reading, uint32_t number, struct asking *asking,
	const struct store_request *requests)
{
	struct server_tree server = {.path = NULL};
	int error = server_tree_index(&server, &requests[STACKS].answer, &requests[FRAMES].answer);

	for (unsigned i = 0; i < GROUPS_SUMMED; i++) {
		asking->weights[i] = (struct server_weights){.rows = &requests[WEIGHTS + i].answer,
			.unit = i,
			.attempts = (const void *)asking->attempts.data,
			.attempt_count = asking->attempts.used / sizeof(struct server_attempt)};
		if (!error)
			server_tree_use(&server, &asking->weights[i]);
	}
	if (!error)
		error = named_frames_ask(
			&server.named, &reading->servers[number], reading->message);
	for (unsigned i = 0; !error && i < GROUPS_SUMMED; i++)
		error = server_tree_add_weights(
			&server, &asking->weights[i], reading->tree, &reading->sums);
	server_tree_release(&server);
	if (error && !reading->message->text[0])
		diag_fail(reading->message, error, "'%s': the answer cannot be read: %s",
			reading->servers[number].address->host[reading->servers[number].host],
			strerror(-error));
	return error;
}

/* Read the servers @first to @end - 1, which are all servers of one address. */
static int read_servers(struct reading *reading, uint32_t first, uint32_t end)
{
	unsigned count = end - first;
	struct store_request *requests = calloc((size_t)count * QUESTIONS, sizeof(*requests));
	struct asking *askings = calloc(count, sizeof(*askings));
	int error = requests && askings ? 0 : diag_fail(reading->message, -ENOMEM, "out of memory");

	for (unsigned i = 0; !error && i < count; i++)
		ask_server(reading, first + i, requests + i * QUESTIONS, &askings[i]);
	if (!error)
		error = store_http_ask(reading->servers[first].http, requests, count * QUESTIONS,
			reading->message);
	for (unsigned i = 0; !error && i < count; i++)
		if (askings[i].has_picks)
			error = add_answers(
				reading, first + i, &askings[i], requests + i * QUESTIONS);
	if (!error) {
		error = server_sums_add(&reading->sums, reading->tree);
		if (error)
			diag_fail(reading->message, error, "'%s': the answer cannot be read: %s",
				reading->servers[first].address->host[0], strerror(-error));
	}
	if (requests)
		store_requests_release(requests, count * QUESTIONS);
	for (unsigned i = 0; askings && i < count; i++) {
		for (unsigned k = 0; k < GROUPS_SUMMED; k++) {
			bytes_release(&askings[i].given[k]);
			server_weights_release(&askings[i].weights[k]);
		}
		bytes_release(&askings[i].attempts);
	}
	free(requests);
	free(askings);
	return error;
}

/* ---- runs and groups ------------------------------------------------------------------------- */

/* Give each host of a side a run number, in the order of the hosts' first profiles. */
static void number_runs(struct reading *reading, unsigned runs[2])
{
	struct picks *picks = &reading->picks;
	uint32_t *hosts = calloc((size_t)picks->texts.count + 1, sizeof(*hosts));
	unsigned first = 0;

	runs[0] = runs[1] = 0;
	for (unsigned side = 0; hosts && side < 2; side++) {
		unsigned found = 0;

		memset(hosts, 0, ((size_t)picks->texts.count + 1) * sizeof(*hosts));
		for (size_t i = 0; i < picks->count; i++) {
			struct pick *pick = &picks->at[i];

			if (pick->side != side)
				continue;
			if (!hosts[pick->host])
				hosts[pick->host] = ++found;
			pick->run = first + (hosts[pick->host] - 1) % FLEET_RUNS_MAX;
		}
		runs[side] = found < FLEET_RUNS_MAX ? found : FLEET_RUNS_MAX;
		first += runs[side];
	}
	free(hosts);
}

static int number_groups(struct reading *reading)
{
	struct picks *picks = &reading->picks;

	reading->period_ns = picks->at[0].period_ns;
	for (size_t i = 0; i < picks->count; i++) {
		struct pick *pick = &picks->at[i];
		unsigned group = 0;

		if (pick->period_ns != reading->period_ns)
			reading->period_ns = 1;
		while (group < reading->group_count &&
			(reading->groups[group].run != pick->run ||
				reading->groups[group].period_ns != pick->period_ns))
			group++;
		if (group == GROUPS_MAX)
			return diag_fail(reading->message, -E2BIG,
				"the profiles have more than %u different rates", GROUPS_MAX);
		if (group == reading->group_count)
			reading->groups[reading->group_count++] =
				(struct group){pick->run, pick->period_ns};
		pick->group = group;
	}
	for (unsigned i = 0; i < reading->group_count; i++)
		reading->units[i] = (struct server_unit){
			reading->groups[i].run, reading->groups[i].period_ns == reading->period_ns
							? 1
							: reading->groups[i].period_ns};
	reading->sums = (struct server_sums){.units = reading->units,
		.unit_count = reading->group_count,
		.has_runs = reading->by_host};
	return 0;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static unsigned count_hosts(const struct picks *picks)
{
	uint8_t *seen = calloc((size_t)picks->texts.count + 1, 1);
	unsigned count = 0;

	for (size_t i = 0; seen && i < picks->count; i++) {
		count += !seen[picks->at[i].host];
		seen[picks->at[i].host] = 1;
	}
	free(seen);
	return count;
}

static void write_title(const struct reading *reading, struct input_facts *facts)
{
	const struct store_address *address = &reading->addresses[0];
	const struct picks *picks = &reading->picks;
	const char *service = texts_at(&picks->texts, picks->at[0].service);
	bool is_one = true;

	for (size_t i = 1; i < picks->count; i++)
		is_one &= picks->at[i].service == picks->at[0].service;
	snprintf(facts->title, sizeof(facts->title), "%.120s%s%.120s", is_one ? service : "Fleet",
		address->label[STORE_VERSION][0] ? " " : "", address->label[STORE_VERSION]);
}

/* Write a subtitle: "120 profiles of 14 hosts: 1200 samples, 6.09 s of cpu in 7.10 s". */
static void write_subtitle(const struct reading *reading, struct input_facts *facts)
{
	const struct picks *picks = &reading->picks;
	unsigned hosts = count_hosts(picks);
	uint64_t waits = calltree_waits(reading->tree);
	uint64_t weight = calltree_total(reading->tree) - waits;
	double seconds = (double)facts->period_ns / NS_PER_S;
	size_t room = sizeof(facts->subtitle);
	size_t at = (size_t)snprintf(facts->subtitle, room,
		"%zu profile%s of %u host%s: ", picks->count, picks->count == 1 ? "" : "s", hosts,
		hosts == 1 ? "" : "s");

	if (facts->period_ns != 1)
		at += (size_t)snprintf(facts->subtitle + at, room - at, "%" PRIu64 " %.60s%s",
			weight, picks->count_name, facts->period_ns ? ", " : "");
	if (facts->period_ns)
		at += (size_t)snprintf(facts->subtitle + at, room - at, "%.2f s of %.60s",
			(double)weight * seconds, picks->unit);
	if (waits)
		at += (size_t)snprintf(facts->subtitle + at, room - at, ", and %.2f s of waiting",
			(double)waits * seconds);
	if (facts->duration_ns)
		snprintf(facts->subtitle + at, room - at, " in %.2f s",
			(double)facts->duration_ns / NS_PER_S);
}

static void write_facts(const struct reading *reading, struct input_facts *facts)
{
	const struct picks *picks = &reading->picks;

	*facts = (struct input_facts){.period_ns = reading->period_ns};
	for (size_t i = 0; i < picks->count; i++) {
		const struct pick *pick = &picks->at[i];

		if (__builtin_add_overflow(facts->duration_ns, pick->span_ns, &facts->duration_ns))
			facts->duration_ns = 0;
		if (!facts->created_s || pick->start_s < facts->created_s)
			facts->created_s = pick->start_s;
	}
	snprintf(facts->count_name, sizeof(facts->count_name), "%s",
		reading->period_ns == 1 ? "nanoseconds" : picks->count_name);
	snprintf(facts->type_name, sizeof(facts->type_name), "%.63s", picks->unit);
	write_title(reading, facts);
	write_subtitle(reading, facts);
}

/* Compare the received weight with the sum that profiles state: a difference means lost parts. */
static void check_weight(const struct reading *reading)
{
	uint64_t due = 0;

	for (size_t i = 0; i < reading->picks.count; i++)
		due += reading->picks.at[i].weight;
	if (due != reading->sums.weight)
		diag_error("the store has weights of %" PRIu64 ", and its profiles say %" PRIu64
			   ": parts of it were dropped, or are not there yet",
			reading->sums.weight, due);
	if (reading->sums.unknown)
		diag_error("stacks that weigh %" PRIu64 " of %" PRIu64 " are not in the store",
			reading->sums.unknown, reading->sums.weight);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns the index of the server with equal host, database and user, or the number of servers. */
static uint32_t find_same(
	const struct reading *reading, const struct store_address *address, unsigned host)
{
	uint32_t i = 0;

	for (; i < reading->server_count; i++) {
		const struct store_server *server = &reading->servers[i];

		if (!strcmp(server->address->host[server->host], address->host[host]) &&
			!strcmp(server->address->database, address->database) &&
			!strcmp(server->address->user, address->user))
			break;
	}
	return i;
}

static int add_address(struct reading *reading, const char *text, unsigned side)
{
	unsigned number = reading->address_count;
	struct store_address *address = &reading->addresses[number];
	int error;

	if (number == ADDRESSES_MAX)
		return diag_fail(
			reading->message, -E2BIG, "at most %u addresses of stores", ADDRESSES_MAX);
	error = store_address_parse(address, text, time(NULL), reading->message);
	if (!error && reading->server_count + address->hosts > ADDRESSES_MAX * 4)
		error = diag_fail(
			reading->message, -E2BIG, "at most %u servers", ADDRESSES_MAX * 4);
	if (!error)
		error = store_http_new(&reading->https[number], address, reading->message);
	if (error)
		return error;
	reading->address_count++;
	for (unsigned i = 0; i < address->hosts; i++, reading->server_count++)
		reading->servers[reading->server_count] = (struct store_server){
			address, reading->https[number], i, side, find_same(reading, address, i)};
	return 0;
}

static int read_all(struct reading *reading, unsigned runs[2], struct input_facts *facts)
{
	int error = picks_read(
		&reading->picks, reading->servers, reading->server_count, reading->message);

	if (!error && reading->by_host)
		number_runs(reading, runs);
	if (!error)
		error = number_groups(reading);
	for (uint32_t i = 0, end; !error && i < reading->server_count; i = end) {
		end = i + reading->servers[i].address->hosts;
		error = read_servers(reading, i, end);
	}
	if (!error) {
		error = calltree_finish(reading->tree);
		if (error)
			diag_fail(reading->message, error, "cannot read the store: %s",
				strerror(-error));
	}
	if (!error) {
		check_weight(reading);
		write_facts(reading, facts);
	}
	return error;
}

static int read_addresses(struct calltree *tree, const char *const *addresses, unsigned count,
	unsigned old_count, unsigned runs[2], struct input_facts *facts,
	struct diag_message *message)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int error = 0;

	if (!reading)
		return diag_fail(message, -ENOMEM, "out of memory");
	reading->message = message;
	reading->tree = tree;
	reading->by_host = runs != NULL;
	for (unsigned i = 0; !error && i < count; i++)
		error = add_address(reading, addresses[i], i >= old_count);
	if (!error)
		error = read_all(reading, runs, facts);
	for (unsigned i = 0; i < ADDRESSES_MAX; i++)
		store_http_free(reading->https[i]);
	server_sums_release(&reading->sums);
	picks_release(&reading->picks);
	free(reading);
	return error;
}

int fleet_read(struct calltree *tree, const char *address, struct input_facts *facts,
	struct diag_message *message)
{
	return read_addresses(tree, &address, 1, 1, NULL, facts, message);
}

int fleet_read_sides(struct fleet *fleet, struct calltree *tree, const char *const *addresses,
	unsigned count, unsigned old_count, struct input_facts *facts, struct diag_message *message)
{
	return read_addresses(tree, addresses, count, old_count, fleet->runs, facts, message);
}
