/* SPDX-License-Identifier: MIT */
/*
 * First it is decided here which attempts count: profiles are few. Then each server adds up the
 * weights of those it is given, by stack, while it sends the stacks and frames of those days.
 * Servers know nothing of each other, so that one more or less needs no settings: what they say is
 * added up here.
 *
 * What is given along with an attempt is the number of its group: of a run and a period, since only
 * weights of one period can be added.
 */
#include "cli/store/fleet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/store/picks.h"
#include "cli/store/profile.h"
#include "cli/store/rows.h"
#include "cli/store/server_tree.h"

#define NS_PER_S      1e9
#define GROUPS_MAX    STORE_KINDRED
#define ADDRESSES_MAX 64u
#define UNSET	      UINT32_MAX
#define SEVERAL	      (UINT32_MAX - 1)
/* By STORE_ATTEMPT_BITS. One key of 64 bits is grouped by in half the time of two. */
#define KINDRED_OF "bitShiftRight(attempt, 20)"

/* What a server is asked: weights in two ways, see struct asking. */
enum {
	KINDRED,
	JOINED,
	STACKS,
	FRAMES,
	QUESTIONS
};

struct group {
	uint32_t run;
	uint64_t period_ns;
};

/*
 * The picks of one server. Where all that the first bits of an attempt's number stand for are of
 * one group, the server groups by those; where they are not, by what it is given, which takes three
 * times as long.
 */
struct asking {
	struct bytes given[2];		  /* of KINDRED: attempts; of JOINED: attempts and groups */
	uint32_t group_of[STORE_KINDRED]; /* UNSET: of none; SEVERAL */
	unsigned first_day, last_day;
	const char *service; /* borrowed; NULL: there are several */
	bool has_picks;
};

struct reading {
	struct diag_message *message;
	struct calltree *tree;
	struct store_address addresses[ADDRESSES_MAX];
	struct store_http *https[ADDRESSES_MAX]; /* owned; by address */
	struct store_server servers[ADDRESSES_MAX * 4];
	unsigned address_count, server_count;
	struct picks picks;
	struct group groups[GROUPS_MAX];
	unsigned group_count;
	bool by_host;
	uint64_t period_ns; /* of the tree */
	uint64_t weight;    /* that came, in the picks' own units */
	uint64_t unknown;   /* of that, of stacks that the server does not have */
};

/* ---- questions ------------------------------------------------------------------------------- */

static void note_pick(const struct reading *reading, struct asking *asking, const struct pick *pick)
{
	uint32_t *group = &asking->group_of[pick->attempt >> STORE_ATTEMPT_BITS];
	const char *service = texts_at(&reading->picks.texts, pick->service);

	*group = *group == UNSET || *group == pick->group ? pick->group : SEVERAL;
	if (!asking->has_picks || pick->day < asking->first_day)
		asking->first_day = pick->day;
	if (!asking->has_picks || pick->day > asking->last_day)
		asking->last_day = pick->day;
	if (!asking->has_picks)
		asking->service = service;
	else if (asking->service && strcmp(asking->service, service))
		asking->service = NULL;
	asking->has_picks = true;
}

static void sort_picks(const struct reading *reading, uint32_t server, struct asking *asking)
{
	const struct picks *picks = &reading->picks;

	memset(asking->group_of, 0xff, sizeof(asking->group_of));
	for (size_t i = 0; i < picks->count; i++)
		if (picks->at[i].server == server)
			note_pick(reading, asking, &picks->at[i]);
	for (size_t i = 0; i < picks->count; i++) {
		const struct pick *pick = &picks->at[i];
		bool is_joined = asking->group_of[pick->attempt >> STORE_ATTEMPT_BITS] == SEVERAL;

		if (pick->server != server)
			continue;
		rows_put_uint(&asking->given[is_joined], pick->attempt, 4);
		if (is_joined)
			rows_put_uint(&asking->given[is_joined], pick->group, 4);
	}
}

/* Which rows are meant, in the words of a query with a NUL; to be released. */
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

/* Fill @requests for server @number, if it has any picks. */
static void ask_server(const struct reading *reading, uint32_t number,
	struct store_request requests[QUESTIONS], struct asking *asking)
{
	const struct store_server *server = &reading->servers[number];
	const char *database = server->address->database;
	struct bytes where;

	sort_picks(reading, number, asking);
	where = put_where(asking);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		requests[i].host = server->host;
		requests[i].query.error = where.error;
	}
	if (where.error || !asking->has_picks) {
		bytes_release(&where);
		return;
	}
	requests[KINDRED].given = (struct store_given){&asking->given[KINDRED], "attempt UInt32"};
	if (asking->given[KINDRED].used)
		store_request_text(&requests[KINDRED],
			"SELECT %s, sum(weight) FROM %s.weights WHERE %s AND attempt IN given "
			"GROUP BY %s FORMAT RowBinary",
			reading->group_count > 1 ? "any(toUInt32(" KINDRED_OF ")), any(stack)"
						 : "toUInt32(0), stack",
			database, where.data,
			reading->group_count > 1 ? "bitXor(stack, intHash64(" KINDRED_OF "))"
						 : "stack");
	requests[JOINED].given =
		(struct store_given){&asking->given[JOINED], "attempt UInt32, unit UInt32"};
	if (asking->given[JOINED].used)
		store_request_text(&requests[JOINED],
			"SELECT unit, stack, sum(weight) FROM %s.weights ALL INNER JOIN (SELECT "
			"attempt, unit FROM given) USING attempt WHERE %s AND attempt IN (SELECT "
			"attempt FROM given) GROUP BY unit, stack FORMAT RowBinary",
			database, where.data);
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

static struct server_unit unit_of(const struct reading *reading, uint32_t number)
{
	const struct group *group = &reading->groups[number];

	if (number >= reading->group_count)
		return (struct server_unit){.factor = 0};
	return (struct server_unit){
		group->run, group->period_ns == reading->period_ns ? 1 : group->period_ns};
}

static int add_weights(struct reading *reading, const struct asking *asking,
	struct server_tree *server, const struct store_request *requests)
{
	struct server_unit units[STORE_KINDRED];
	int error;

	for (unsigned i = 0; i < STORE_KINDRED; i++)
		units[i] = unit_of(reading, reading->group_count == 1 ? i : asking->group_of[i]);
	error = server_tree_add(server, &requests[KINDRED].answer, units, STORE_KINDRED,
		reading->by_host, reading->tree);
	for (unsigned i = 0; i < STORE_KINDRED; i++)
		units[i] = unit_of(reading, i);
	return error ? error
		     : server_tree_add(server, &requests[JOINED].answer, units, STORE_KINDRED,
			       reading->by_host, reading->tree);
}

static int take_answers(struct reading *reading, uint32_t number, const struct asking *asking,
	const struct store_request *requests)
{
	struct server_tree server = {.way = NULL};
	int error = server_tree_take(&server, &requests[STACKS].answer, &requests[FRAMES].answer);

	if (!error) {
		server_tree_use(&server, &requests[KINDRED].answer);
		server_tree_use(&server, &requests[JOINED].answer);
		error = named_frames_ask(
			&server.named, &reading->servers[number], reading->message);
	}
	if (!error)
		error = add_weights(reading, asking, &server, requests);
	if (__builtin_add_overflow(reading->weight, server.weight, &reading->weight))
		error = -EOVERFLOW;
	reading->unknown += server.unknown;
	server_tree_release(&server);
	if (error && !reading->message->text[0])
		diag_fail(reading->message, error, "'%s': the answer cannot be read: %s",
			reading->servers[number].address->host[reading->servers[number].host],
			strerror(-error));
	return error;
}

/* Servers @first to @end are of one address. */
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
			error = take_answers(
				reading, first + i, &askings[i], requests + i * QUESTIONS);
	if (requests)
		store_requests_release(requests, count * QUESTIONS);
	for (unsigned i = 0; askings && i < count; i++) {
		bytes_release(&askings[i].given[KINDRED]);
		bytes_release(&askings[i].given[JOINED]);
	}
	free(requests);
	free(askings);
	return error;
}

/* ---- runs and groups ------------------------------------------------------------------------- */

/* Each side's hosts become its runs, in the order of their names. */
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
	return 0;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

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

/* "120 profiles of 14 hosts: 1200 samples, 6.09 s of cpu in 7.10 s" */
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
	if (picks->is_time)
		snprintf(facts->time_name, sizeof(facts->time_name), "%.63s", picks->unit);
	write_title(reading, facts);
	write_subtitle(reading, facts);
}

/* What the profiles say that they weigh is what came, or something is missing. */
static void check_weight(const struct reading *reading)
{
	uint64_t due = 0;

	for (size_t i = 0; i < reading->picks.count; i++)
		due += reading->picks.at[i].weight;
	if (due != reading->weight)
		diag_error("the store has weights of %" PRIu64 ", and its profiles say %" PRIu64
			   ": parts of it were dropped, or are not there yet",
			reading->weight, due);
	if (reading->unknown)
		diag_error("stacks that weigh %" PRIu64 " of %" PRIu64 " are not in the store",
			reading->unknown, reading->weight);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Both sides of a comparison are mostly of one store. */
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
