/* SPDX-License-Identifier: MIT */
/*
 * Make rows from call trees. Hashes are XXH3, which does not change between versions. Among 37
 * million stores of a million stacks, one has a collision of 64-bit hashes. Writers to a store are
 * trusted not to construct collisions.
 */
#include "cli/store/store_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FORM  "flamerun profile 1"
#define DAY_S 86400
#define UNSET 0 /* never a hash */

static uint64_t hash_bytes(const void *data, size_t bytes)
{
	uint64_t hash = XXH3_64bits(data, bytes);

	return hash == UNSET ? 1 : hash;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Append the row of @frame to @rows. Returns the frame's hash. */
static uint64_t put_frame(struct bytes *rows, const struct calltree_frame *frame)
{
	struct bytes row = {0};
	uint64_t hash;

	rows_put_uint(&row, (uint64_t)frame->kind, 1);
	rows_put_uint(&row, frame->line, 4);
	rows_put_text(&row, frame->name);
	rows_put_text(&row, frame->module);
	rows_put_text(&row, frame->file);
	hash = row.error ? 1 : hash_bytes(row.data, row.used);
	rows_put_uint(rows, hash, 8);
	bytes_put(rows, row.data, row.used);
	if (row.error)
		rows->error = row.error;
	bytes_release(&row);
	return hash;
}

static void put_node(struct store_profile *profile, const struct calltree *tree, uint32_t number,
	uint64_t *stacks, uint64_t *frames)
{
	const struct calltree_node *node = calltree_node_at(tree, number);

	stacks[number] = STORE_ROOT;
	if (number != CALLTREE_ROOT) {
		uint64_t parts[2] = {stacks[node->parent], frames[node->frame]};

		if (parts[1] == UNSET)
			parts[1] = frames[node->frame] =
				put_frame(&profile->frames, calltree_frame_at(tree, node->frame));
		stacks[number] = hash_bytes(parts, sizeof(parts));
		rows_put_uint(&profile->stacks, stacks[number], 8);
		rows_put_uint(&profile->stacks, parts[0], 8);
		rows_put_uint(&profile->stacks, parts[1], 8);
	}
	/*
	 * Write a weight of 2^32 or more as several rows, because a server returns an attempt
	 * number and a weight in one UInt64, with 32 bits for each (struct server_weights).
	 */
	for (uint64_t left = node->self, part; left; left -= part) {
		part = left < UINT32_MAX ? left : UINT32_MAX;
		rows_put_uint(&profile->weights, stacks[number], 8);
		rows_put_uint(&profile->weights, part, 8);
		profile->weight_rows++;
	}
}

int store_profile_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture)
{
	const char *count = picture->count_name ? picture->count_name : "samples";
	const char *unit = picture->type_name ? picture->type_name
		: picture->period_ns	      ? "cpu"
					      : count;
	uint64_t *stacks = calloc((size_t)calltree_nodes(tree) + 1, sizeof(*stacks));
	uint64_t *frames = calloc((size_t)calltree_frames(tree) + 1, sizeof(*frames));
	int error = stacks && frames ? 0 : -ENOMEM;

	*profile = (struct store_profile){.span_ns = picture->duration_ns,
		.period_ns = picture->period_ns,
		.weight = calltree_total(tree)};
	snprintf(profile->label[STORE_UNIT], STORE_LABEL_BYTES, "%s", unit);
	snprintf(profile->count_name, sizeof(profile->count_name), "%s", count);
	snprintf(
		profile->title, sizeof(profile->title), "%s", picture->title ? picture->title : "");
	for (uint32_t i = 0; !error && i < calltree_nodes(tree); i++)
		put_node(profile, tree, i, stacks, frames);
	free(stacks);
	free(frames);
	return error || profile->frames.error || profile->stacks.error || profile->weights.error
		       ? -ENOMEM
		       : 0;
}

void store_profile_release(struct store_profile *profile)
{
	bytes_release(&profile->frames);
	bytes_release(&profile->stacks);
	bytes_release(&profile->weights);
	free(profile->spooled);
	*profile = (struct store_profile){.spooled = NULL};
}

uint16_t store_profile_day(const struct store_profile *profile)
{
	return (uint16_t)(profile->start_s / DAY_S);
}

void store_frame_read(struct store_frame *frame, struct rows *rows)
{
	frame->hash = rows_uint(rows, 8);
	frame->kind = (uint8_t)rows_uint(rows, 1);
	frame->line = (uint32_t)rows_uint(rows, 4);
	rows_text(rows, frame->name, sizeof(frame->name));
	rows_text(rows, frame->module, sizeof(frame->module));
	rows_text(rows, frame->file, sizeof(frame->file));
	if (frame->kind >= CALLTREE_KINDS)
		rows->is_damaged = true;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static void set_id(struct store_profile *profile, const void *data, size_t bytes)
{
	XXH128_hash_t hash = XXH3_128bits(data, bytes);

	snprintf(profile->id, sizeof(profile->id), "%016llx%016llx",
		(unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

void store_profile_identify(struct store_profile *profile, const struct bytes *bytes)
{
	struct bytes all = {0};

	for (unsigned i = 0; i < STORE_LABELS; i++)
		rows_put_text(&all, profile->label[i]);
	rows_put_uint(&all, (uint64_t)profile->start_s, 8);
	bytes_put(&all, bytes->data, bytes->used);
	set_id(profile, all.data, all.used);
	bytes_release(&all);
}

void store_profile_identify_run(struct store_profile *profile)
{
	struct {
		uint64_t random[2];
		struct timespec now;
		pid_t pid;
	} seed = {.pid = getpid()};

	clock_gettime(CLOCK_REALTIME, &seed.now);
	/* If there are no random bytes, time and pid must suffice. */
	if (getrandom(seed.random, sizeof(seed.random), GRND_NONBLOCK) < 0)
		seed.random[0] = 0;
	set_id(profile, &seed, sizeof(seed));
}

/* ---- serialising ----------------------------------------------------------------------------- */

void store_profile_write(const struct store_profile *profile, struct bytes *out)
{
	const struct bytes *parts[] = {&profile->frames, &profile->stacks, &profile->weights};

	rows_put_text(out, FORM);
	rows_put_text(out, profile->id);
	for (unsigned i = 0; i < STORE_LABELS; i++)
		rows_put_text(out, profile->label[i]);
	rows_put_text(out, profile->title);
	rows_put_text(out, profile->count_name);
	rows_put_uint(out, (uint64_t)profile->start_s, 8);
	rows_put_uint(out, profile->span_ns, 8);
	rows_put_uint(out, profile->period_ns, 8);
	rows_put_uint(out, profile->weight, 8);
	rows_put_uint(out, profile->weight_rows, 4);
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		bytes_varint(out, parts[i]->used);
		bytes_put(out, parts[i]->data, parts[i]->used);
	}
}

static void copy_part(struct rows *rows, struct bytes *out)
{
	struct rows part = rows_part(rows);

	bytes_put(out, part.at, (size_t)(part.end - part.at));
}

int store_profile_read(struct store_profile *profile, const struct bytes *in)
{
	struct rows rows = rows_of(in), frames;
	struct store_frame frame;
	char form[sizeof(FORM)];

	*profile = (struct store_profile){.spooled = NULL};
	rows_text(&rows, form, sizeof(form));
	rows_text(&rows, profile->id, sizeof(profile->id));
	for (unsigned i = 0; i < STORE_LABELS; i++)
		rows_text(&rows, profile->label[i], STORE_LABEL_BYTES);
	rows_text(&rows, profile->title, sizeof(profile->title));
	rows_text(&rows, profile->count_name, sizeof(profile->count_name));
	profile->start_s = (int64_t)rows_uint(&rows, 8);
	profile->span_ns = rows_uint(&rows, 8);
	profile->period_ns = rows_uint(&rows, 8);
	profile->weight = rows_uint(&rows, 8);
	profile->weight_rows = (uint32_t)rows_uint(&rows, 4);
	copy_part(&rows, &profile->frames);
	copy_part(&rows, &profile->stacks);
	copy_part(&rows, &profile->weights);
	for (frames = rows_of(&profile->frames); rows_are_left(&frames);)
		store_frame_read(&frame, &frames);
	if (strcmp(form, FORM) || rows.is_damaged || rows_are_left(&rows) || frames.is_damaged ||
		profile->stacks.used % 24 || profile->weights.used / 16 != profile->weight_rows ||
		profile->weights.used % 16 || strlen(profile->id) != STORE_ID_BYTES - 1 ||
		strspn(profile->id, "0123456789abcdef") != STORE_ID_BYTES - 1 ||
		profile->start_s < 0 || profile->start_s > UINT32_MAX)
		return -EBADMSG;
	return profile->frames.error || profile->stacks.error || profile->weights.error ? -ENOMEM
											: 0;
}
