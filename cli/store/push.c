/* SPDX-License-Identifier: MIT */
/*
 * Send profiles in batches. Profiles of one server, day and service form a batch, because their
 * common frames and stacks are sent only once, and servers prefer few large inserts. A batch takes
 * four rounds of requests: ask which frames and stacks exist, and claim attempt numbers; insert the
 * missing frames and stacks; insert weights; commit.
 *
 * Rendezvous hashing chooses the server of a profile from the profile's id and the servers' names.
 * So an equal profile always gets the same server, and a new server only takes over its own
 * profiles.
 */
#include "cli/store/push.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "cli/store/http.h"
#include "cli/store/spool.h"
#include "cli/store/tables.h"
#include "libprof/fnv.h"

#define BATCH_ROWS     (1u << 20)
#define BATCH_PROFILES 1024u
#define BATCHES_MAX    256u
#define TRIES	       6
/* ns before the second try. The pause doubles for each further try. */
#define BACKOFF_NS     200000000ULL
/* bytes of the hash in a frame's row, of a stack's row, of a weight's row */
#define FRAME_HEAD     8u
#define STACK_BYTES    24u
#define WEIGHT_BYTES   16u

struct batch {
	unsigned host;
	uint16_t day;
	char service[STORE_LABEL_BYTES];
	struct store_profile *profiles; /* owned */
	unsigned count, room;
	size_t rows;
	struct hashes frames, stacks; /* known to be on the server */
};

/* One try to send a batch. A profile that the store already has gets attempt number 0. */
struct sending {
	struct store_push *push;
	struct batch *batch;
	uint32_t *attempts;
	uint64_t nonce;
	struct bytes ids, numbers, claims; /* [profile] */
	struct bytes frame_hashes, stack_hashes;
	struct bytes frames, stacks, weights, commits; /* rows to insert */
	struct hashes new_frames, new_stacks;
};

struct store_push {
	struct store_address address;
	struct store_http *http;
	struct batch *batches[BATCHES_MAX];
	unsigned batch_count;
	bool is_away[STORE_HOSTS_MAX]; /* did not answer in all tries */
	struct store_pushed pushed;
	char why[256]; /* why the first batch was spooled */
};

const struct store_address *store_push_address(const struct store_push *push)
{
	return &push->address;
}

struct store_http *store_push_http(struct store_push *push)
{
	return push->http;
}

/* ---- asking what exists ---------------------------------------------------------------------- */

static void put_head(struct bytes *rows, const struct batch *batch)
{
	rows_put_uint(rows, batch->day, 2);
	rows_put_text(rows, batch->service);
}

/* If @hash is neither in @known nor in @unknown, append it to @list and @unknown. */
static int list_new(
	struct hashes *unknown, const struct hashes *known, struct bytes *list, uint64_t hash)
{
	uint32_t before = unknown->count, index;
	int error;

	if (hashes_find(known, hash) != HASHES_NONE)
		return 0;
	error = hashes_add(unknown, hash, &index);
	if (!error && unknown->count > before)
		rows_put_uint(list, hash, 8);
	return error;
}

static int list_profile(struct sending *sending, const struct store_profile *profile)
{
	const struct batch *batch = sending->batch;
	struct rows frames = rows_of(&profile->frames), stacks = rows_of(&profile->stacks);
	struct store_frame frame;
	int error = 0;

	while (!error && rows_are_left(&frames)) {
		store_frame_read(&frame, &frames);
		error = list_new(
			&sending->new_frames, &batch->frames, &sending->frame_hashes, frame.hash);
	}
	while (!error && rows_are_left(&stacks)) {
		error = list_new(&sending->new_stacks, &batch->stacks, &sending->stack_hashes,
			rows_uint(&stacks, 8));
		rows_uint(&stacks, 8);
		rows_uint(&stacks, 8);
	}
	return error;
}

static int draw_numbers(struct sending *sending)
{
	const struct batch *batch = sending->batch;

	if (getrandom(&sending->nonce, sizeof(sending->nonce), 0) < 0 ||
		getrandom(sending->attempts, batch->count * sizeof(*sending->attempts), 0) < 0)
		return -errno;
	for (unsigned i = 0; i < batch->count; i++) {
		sending->attempts[i] += !sending->attempts[i];
		rows_put_text(&sending->ids, batch->profiles[i].id);
		rows_put_uint(&sending->numbers, sending->attempts[i], 4);
		rows_put_uint(&sending->claims, batch->day, 2);
		rows_put_uint(&sending->claims, sending->attempts[i], 4);
		rows_put_uint(&sending->claims, sending->nonce, 8);
	}
	return 0;
}

/* Set the attempt number of profiles that the store already has to 0, so that they are not sent. */
static void note_known(struct sending *sending, const struct bytes *answer)
{
	struct rows rows = rows_of(answer);
	char id[STORE_ID_BYTES];

	while (rows_are_left(&rows)) {
		rows_text(&rows, id, sizeof(id));
		for (unsigned i = 0; i < sending->batch->count; i++)
			if (!strcmp(sending->batch->profiles[i].id, id))
				sending->attempts[i] = 0;
	}
	/* Profiles of a batch are equal if they were read from equal files. Send only the first. */
	for (unsigned i = 1; i < sending->batch->count; i++)
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(sending->batch->profiles[i].id, sending->batch->profiles[k].id))
				sending->attempts[i] = 0;
}

static int note_hashes(struct hashes *known, const struct bytes *answer)
{
	struct rows rows = rows_of(answer);
	uint32_t index;
	int error = 0;

	while (!error && rows_are_left(&rows))
		error = hashes_add(known, rows_uint(&rows, 8), &index);
	return error ? error : rows.is_damaged ? -EPROTO : 0;
}

static int ask_existing(struct sending *sending, struct diag_message *message)
{
	struct batch *batch = sending->batch;
	const char *database = sending->push->address.database;
	struct store_request requests[4] = {
		{.host = batch->host, .in = &sending->claims},
		{.host = batch->host, .given = {&sending->ids, "profile String"}},
		{.host = batch->host, .given = {&sending->frame_hashes, "frame UInt64"}},
		{.host = batch->host, .given = {&sending->stack_hashes, "stack UInt64"}},
	};
	struct bytes service = {0};
	int error;

	store_put_literal(&service, batch->service);
	bytes_put(&service, "", 1);
	store_request_text(&requests[0],
		"INSERT INTO %s.attempts (day, attempt, nonce) FORMAT RowBinary", database);
	store_request_text(&requests[1],
		"SELECT DISTINCT profile FROM %s.profiles WHERE profile IN "
		"given FORMAT RowBinary",
		database);
	store_request_text(&requests[2],
		"SELECT DISTINCT frame FROM %s.frames WHERE day = toDate(%u) AND service = %s AND "
		"frame IN given FORMAT RowBinary",
		database, batch->day, service.error ? "''" : (char *)service.data);
	store_request_text(&requests[3],
		"SELECT DISTINCT stack FROM %s.stacks WHERE day = toDate(%u) AND service = %s AND "
		"stack IN given FORMAT RowBinary",
		database, batch->day, service.error ? "''" : (char *)service.data);
	error = service.error ? service.error
			      : store_http_ask(sending->push->http, requests, 4, message);
	if (!error) {
		note_known(sending, &requests[1].answer);
		error = note_hashes(&batch->frames, &requests[2].answer);
	}
	if (!error)
		error = note_hashes(&batch->stacks, &requests[3].answer);
	if (error == -EPROTO && !message->text[0])
		diag_fail(message, error, "'%s': an answer is damaged",
			sending->push->address.host[batch->host]);
	bytes_release(&service);
	store_requests_release(requests, 4);
	return error;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_new_frames(struct sending *sending, const struct store_profile *profile)
{
	struct rows rows = rows_of(&profile->frames);
	struct store_frame frame;

	while (rows_are_left(&rows)) {
		const uint8_t *row = rows.at;
		uint32_t before = sending->new_frames.count, index;

		store_frame_read(&frame, &rows);
		if (hashes_find(&sending->batch->frames, frame.hash) != HASHES_NONE ||
			hashes_add(&sending->new_frames, frame.hash, &index) ||
			sending->new_frames.count == before)
			continue;
		put_head(&sending->frames, sending->batch);
		bytes_put(&sending->frames, row, (size_t)(rows.at - row));
	}
}

static void put_new_stacks(struct sending *sending, const struct store_profile *profile)
{
	struct rows rows = rows_of(&profile->stacks);

	for (; rows_are_left(&rows); rows.at += STACK_BYTES) {
		struct rows row = rows;
		uint64_t hash = rows_uint(&row, 8);
		uint32_t before = sending->new_stacks.count, index;

		if (hashes_find(&sending->batch->stacks, hash) != HASHES_NONE ||
			hashes_add(&sending->new_stacks, hash, &index) ||
			sending->new_stacks.count == before)
			continue;
		put_head(&sending->stacks, sending->batch);
		bytes_put(&sending->stacks, rows.at, STACK_BYTES);
	}
}

static void put_weights(
	struct sending *sending, const struct store_profile *profile, uint32_t attempt)
{
	const uint8_t *row = profile->weights.data;

	for (uint32_t i = 0; i < profile->weight_rows; i++, row += WEIGHT_BYTES) {
		put_head(&sending->weights, sending->batch);
		bytes_put(&sending->weights, row, 8);
		rows_put_uint(&sending->weights, attempt, 4);
		bytes_put(&sending->weights, row + 8, 8);
	}
}

static void put_commit(
	struct sending *sending, const struct store_profile *profile, uint32_t attempt)
{
	struct bytes *rows = &sending->commits;

	rows_put_uint(rows, sending->batch->day, 2);
	rows_put_text(rows, profile->id);
	rows_put_uint(rows, attempt, 4);
	rows_put_uint(rows, (uint64_t)time(NULL), 4);
	for (unsigned i = 0; i < STORE_LABELS; i++)
		rows_put_text(rows, profile->label[i]);
	rows_put_uint(rows, (uint64_t)profile->start_s, 4);
	rows_put_uint(rows, profile->span_ns, 8);
	rows_put_uint(rows, profile->period_ns, 8);
	rows_put_text(rows, profile->count_name);
	rows_put_text(rows, profile->title);
	rows_put_uint(rows, profile->weight, 8);
}

/* Returns 0 or -ENOMEM. */
static int make_rows(struct sending *sending)
{
	const struct batch *batch = sending->batch;

	hashes_release(&sending->new_frames);
	hashes_release(&sending->new_stacks);
	for (unsigned i = 0; i < batch->count; i++) {
		if (!sending->attempts[i])
			continue;
		put_new_frames(sending, &batch->profiles[i]);
		put_new_stacks(sending, &batch->profiles[i]);
		put_weights(sending, &batch->profiles[i], sending->attempts[i]);
		put_commit(sending, &batch->profiles[i], sending->attempts[i]);
	}
	return sending->frames.error || sending->stacks.error || sending->weights.error ||
			       sending->commits.error
		       ? -ENOMEM
		       : 0;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

/* Is each of our attempt numbers unique? If two pushes claim the same number, both fail here. */
static int check_claims(
	const struct sending *sending, const struct bytes *answer, struct diag_message *message)
{
	struct rows rows = rows_of(answer);
	const char *host = sending->push->address.host[sending->batch->host];
	unsigned count = 0;

	for (; rows_are_left(&rows); count++) {
		rows_uint(&rows, 4);
		if (rows_uint(&rows, 8) != 1)
			return diag_fail(message, -EAGAIN, "'%s': a number was taken", host);
	}
	if (rows.is_damaged || count != sending->batch->count)
		return diag_fail(message, -EPROTO, "'%s' does not keep what it was given", host);
	return 0;
}

static int insert(struct sending *sending, const char *columns, const struct bytes *in,
	struct diag_message *message)
{
	struct store_request request = {.host = sending->batch->host, .in = in};
	int error;

	if (!in->used)
		return 0;
	store_request_text(&request, "INSERT INTO %s.%s FORMAT RowBinary",
		sending->push->address.database, columns);
	error = store_http_ask(sending->push->http, &request, 1, message);
	store_requests_release(&request, 1);
	return error;
}

static int check_and_describe(struct sending *sending, struct diag_message *message)
{
	struct store_request request = {
		.host = sending->batch->host, .given = {&sending->numbers, "attempt UInt32"}};
	int error;

	store_request_text(&request,
		"SELECT attempt, uniqExact(nonce) FROM %s.attempts WHERE attempt IN given GROUP BY "
		"attempt FORMAT RowBinary",
		sending->push->address.database);
	error = store_http_ask(sending->push->http, &request, 1, message);
	if (!error)
		error = check_claims(sending, &request.answer, message);
	store_requests_release(&request, 1);
	if (!error)
		error = insert(sending,
			"frames (day, service, frame, kind, line, name, module, file)",
			&sending->frames, message);
	if (!error)
		error = insert(sending, "stacks (day, service, stack, parent, frame)",
			&sending->stacks, message);
	return error;
}

static int send_rows(struct sending *sending, struct diag_message *message)
{
	int error = 0;

	for (unsigned i = 0; !error && i < sending->batch->count; i++)
		error = list_profile(sending, &sending->batch->profiles[i]);
	if (!error)
		error = draw_numbers(sending);
	if (error)
		return diag_fail(message, error, "cannot push: %s", strerror(-error));
	error = ask_existing(sending, message);
	if (!error && make_rows(sending))
		error = diag_fail(message, -ENOMEM, "out of memory");
	if (!error)
		error = check_and_describe(sending, message);
	if (!error)
		error = insert(sending, "weights (day, service, stack, attempt, weight)",
			&sending->weights, message);
	if (!error)
		error = insert(sending,
			"profiles (day, profile, attempt, committed, service, version, host, unit, "
			"start, span, period, count_name, title, weight)",
			&sending->commits, message);
	return error;
}

static void note_sent(struct sending *sending)
{
	struct batch *batch = sending->batch;
	uint32_t index;

	/* Remember what the server has. If memory is short, the next batch asks again. */
	for (uint32_t i = 0; i < sending->new_frames.count; i++)
		if (hashes_add(&batch->frames, hashes_at(&sending->new_frames, i), &index))
			break;
	for (uint32_t i = 0; i < sending->new_stacks.count; i++)
		if (hashes_add(&batch->stacks, hashes_at(&sending->new_stacks, i), &index))
			break;
	for (unsigned i = 0; i < batch->count; i++) {
		sending->push->pushed.sent += sending->attempts[i] != 0;
		sending->push->pushed.known += sending->attempts[i] == 0;
	}
}

static int try_batch(struct store_push *push, struct batch *batch, struct diag_message *message)
{
	struct sending sending = {
		.push = push, .batch = batch, .attempts = calloc(batch->count, sizeof(uint32_t))};
	struct bytes *owned[] = {&sending.ids, &sending.numbers, &sending.claims,
		&sending.frame_hashes, &sending.stack_hashes, &sending.frames, &sending.stacks,
		&sending.weights, &sending.commits};
	int error = sending.attempts ? send_rows(&sending, message)
				     : diag_fail(message, -ENOMEM, "out of memory");

	if (!error)
		note_sent(&sending);
	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		bytes_release(owned[i]);
	hashes_release(&sending.new_frames);
	hashes_release(&sending.new_stacks);
	free(sending.attempts);
	return error;
}

/* ---- batches --------------------------------------------------------------------------------- */

static int spool_batch(
	struct store_push *push, struct batch *batch, const char *why, struct diag_message *message)
{
	int error = 0;

	if (!push->why[0])
		snprintf(push->why, sizeof(push->why), "%.250s", why);
	for (unsigned i = 0; !error && i < batch->count; i++) {
		if (!batch->profiles[i].spooled)
			error = spool_put(&push->address, &batch->profiles[i],
				&push->pushed.dropped, message);
		push->pushed.spooled += !error;
	}
	return error;
}

static void empty_batch(struct batch *batch)
{
	for (unsigned i = 0; i < batch->count; i++)
		store_profile_release(&batch->profiles[i]);
	batch->count = 0;
	batch->rows = 0;
}

/* Wait before a retry. A random part prevents that all machines retry at the same time. */
static void wait_before(unsigned attempt)
{
	uint64_t ns = BACKOFF_NS << (attempt - 1), random = 0;
	struct timespec pause;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = 0;
	ns += random % (ns / 2);
	pause = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	nanosleep(&pause, NULL);
}

static int send_batch(struct store_push *push, struct batch *batch, struct diag_message *message)
{
	int error = push->is_away[batch->host] ? -EAGAIN : 0;

	for (unsigned attempt = 0; !push->is_away[batch->host] && attempt < TRIES; attempt++) {
		if (attempt && error == -EAGAIN)
			wait_before(attempt);
		*message = (struct diag_message){{0}, {0}};
		error = try_batch(push, batch, message);
		/* Create missing tables. The server may have lost them when it was killed. */
		if (error == -ENOENT) {
			error = store_tables_make(push->http, &push->address, batch->host, message);
			if (!error)
				error = try_batch(push, batch, message);
		}
		if (error != -EAGAIN)
			break;
		diag_verbose("%s", message->text);
	}
	if (error == -EAGAIN) {
		push->is_away[batch->host] = true;
		error = spool_batch(push, batch, message->text, message);
	} else if (!error) {
		for (unsigned i = 0; i < batch->count; i++)
			if (batch->profiles[i].spooled)
				spool_remove(batch->profiles[i].spooled);
	}
	empty_batch(batch);
	return error;
}

static unsigned choose_host(const struct store_address *address, const char *id)
{
	uint64_t best = 0;
	unsigned chosen = 0;

	for (unsigned i = 0; i < address->hosts; i++) {
		uint64_t hash =
			fnv_text(fnv_text(FNV_BEGIN, id, SIZE_MAX), address->host[i], SIZE_MAX);

		/* Mix the hash: the last bytes of a text change only few of FNV's upper bits. */
		hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ULL;
		if (hash >= best) {
			best = hash;
			chosen = i;
		}
	}
	return chosen;
}

static struct batch *find_batch(struct store_push *push, const struct store_profile *profile)
{
	unsigned host = choose_host(&push->address, profile->id);
	struct batch *batch;

	for (unsigned i = 0; i < push->batch_count; i++) {
		batch = push->batches[i];
		if (batch->host == host && batch->day == store_profile_day(profile) &&
			!strcmp(batch->service, profile->label[STORE_SERVICE]))
			return batch;
	}
	if (push->batch_count == BATCHES_MAX)
		return NULL;
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return NULL;
	batch->host = host;
	batch->day = store_profile_day(profile);
	strcpy(batch->service, profile->label[STORE_SERVICE]);
	push->batches[push->batch_count++] = batch;
	return batch;
}

static void free_batches(struct store_push *push)
{
	for (unsigned i = 0; i < push->batch_count; i++) {
		empty_batch(push->batches[i]);
		hashes_release(&push->batches[i]->frames);
		hashes_release(&push->batches[i]->stacks);
		free(push->batches[i]->profiles);
		free(push->batches[i]);
	}
	push->batch_count = 0;
}

static int send_all(struct store_push *push, struct diag_message *message)
{
	int error = 0;

	for (unsigned i = 0; !error && i < push->batch_count; i++)
		if (push->batches[i]->count)
			error = send_batch(push, push->batches[i], message);
	return error;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int store_push_new(struct store_push **out, const char *text, struct diag_message *message)
{
	struct store_push *push = calloc(1, sizeof(*push));
	int error = push ? store_address_parse(&push->address, text, time(NULL), message)
			 : diag_fail(message, -ENOMEM, "out of memory");

	if (!error && store_address_selects(&push->address)) {
		error = diag_fail(
			message, -EINVAL, "what goes into a store is not selected: '%s'", text);
		diag_fail_hint(message, "labels are given by --label service=NAME");
	}
	if (!error)
		error = store_http_new(&push->http, &push->address, message);
	if (error)
		store_push_free(push);
	else
		*out = push;
	return error;
}

void store_push_free(struct store_push *push)
{
	if (!push)
		return;
	free_batches(push);
	store_http_free(push->http);
	free(push);
}

int store_push_add(
	struct store_push *push, struct store_profile *profile, struct diag_message *message)
{
	struct batch *batch = find_batch(push, profile);
	int error = 0;

	if (!batch) {
		error = send_all(push, message);
		free_batches(push);
		batch = error ? NULL : find_batch(push, profile);
	}
	if (batch && batch->count == batch->room) {
		unsigned room = batch->room ? 2 * batch->room : 4;
		struct store_profile *profiles =
			reallocarray(batch->profiles, room, sizeof(*profiles));

		if (profiles) {
			batch->profiles = profiles;
			batch->room = room;
		} else {
			batch = NULL;
		}
	}
	if (!batch) {
		store_profile_release(profile);
		return error ? error : diag_fail(message, -ENOMEM, "out of memory");
	}
	batch->rows += profile->weight_rows;
	batch->profiles[batch->count++] = *profile;
	*profile = (struct store_profile){.spooled = NULL};
	if (batch->rows < BATCH_ROWS && batch->count < BATCH_PROFILES)
		return 0;
	return send_batch(push, batch, message);
}

struct adding {
	struct store_push *push;
	struct diag_message *message;
};

static int add_spooled(struct store_profile *profile, void *context)
{
	struct adding *adding = context;

	return store_push_add(adding->push, profile, adding->message);
}

int store_push_end(
	struct store_push *push, struct store_pushed *pushed, struct diag_message *message)
{
	struct adding adding = {push, message};
	int error = send_all(push, message);
	bool is_away = true;

	/* Retry all spooled profiles, also those of this push, unless no server answers. */
	for (unsigned i = 0; i < push->address.hosts; i++)
		is_away &= push->is_away[i];
	if (!error && !is_away) {
		unsigned spooled = push->pushed.spooled;

		error = spool_each(&push->address, add_spooled, &adding);
		if (!error)
			error = send_all(push, message);
		push->pushed.spooled = spooled;
	}
	if (!error && push->pushed.spooled)
		diag_info("%s", push->why);
	*pushed = push->pushed;
	return error;
}
