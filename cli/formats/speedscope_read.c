/* SPDX-License-Identifier: MIT */
/*
 * Read files of speedscope, by any writer: "sampled" profiles (stacks and weights) and "evented"
 * ones (functions entered and left).
 *
 * Numbers may have decimals and any unit of time. Times are rounded first and weights are
 * differences of rounded times, so that the sum of the weights is right.
 */
#include "cli/formats/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/json.h"
#include "cli/profile/picture_names.h"

/* Units of a profile. */
static const struct unit {
	const char *name;
	double ns; /* ns of one unit; 0: not a time */
} units[] = {
	{"none", 0},
	{"nanoseconds", 1},
	{"microseconds", 1e3},
	{"milliseconds", 1e6},
	{"seconds", 1e9},
	{"bytes", 0},
};

#define UNITS (sizeof(units) / sizeof(units[0]))

/* Larger times are refused, because sums of them are not exact in a picture. */
#define MOMENT_MAX 0x1p52

/* The members of a profile, as ranges of the file. */
struct scope_profile {
	struct json name, type, unit, start, end, samples, weights, events;
	unsigned unit_number; /* index in units */
	double start_value;
};

struct scope_reader {
	struct calltree *tree;
	const char *name, *text;
	struct diag_message *message;
	struct json root;
	uint32_t *frames; /* [number in the file] -> frame of the tree */
	uint32_t frame_count;
	/* nodes on the current stack, and the file's numbers of their frames */
	uint32_t *stack;
	uint32_t *stack_frames;
	uint32_t depth;
	const struct unit *unit;
	/* smallest start value of all profiles, in the tree's unit */
	double base;
	/* Of the current profile: */
	uint32_t thread;
	double scale; /* tree's units per unit of the profile */
	/* time up to which all weight was added */
	uint64_t moment;
	uint64_t last; /* latest time of all profiles */
	uint64_t weight;
	/* profiles read so far; index of the profile that is shown first */
	uint32_t number, active;
	uint32_t left_out;
};

static int damaged(const struct scope_reader *reader, const char *at, const char *what)
{
	return diag_fail(reader->message, -EBADMSG, "cannot read '%s': %s at byte %zu",
		reader->name, what, (size_t)(at - reader->text));
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* Decode a text; other values give "". */
static void text_or_none(const struct json *value, char out[SPEEDSCOPE_NAME_BYTES])
{
	out[0] = '\0';
	if (json_is_text(value))
		json_text(value, out, SPEEDSCOPE_NAME_BYTES);
}

static int add_frame(struct scope_reader *reader, const struct json *frame)
{
	char name[SPEEDSCOPE_NAME_BYTES] = "", file[SPEEDSCOPE_NAME_BYTES] = "";
	uint32_t line = 0;
	struct json members, key, value;
	const char *module;
	int more;

	if (json_object(frame, &members))
		return damaged(reader, frame->at, "a frame that is no object");
	while ((more = json_next_member(&members, &key, &value)) > 0) {
		char word[8];

		if (json_text(&key, word, sizeof(word)))
			return damaged(reader, key.at, "a damaged name");
		if (!strcmp(word, "name") && json_text(&value, name, sizeof(name)))
			return damaged(reader, value.at, "a frame's damaged name");
		if (!strcmp(word, "file"))
			text_or_none(&value, file);
		if (!strcmp(word, "line") && json_index(&value, INT32_MAX, &line))
			line = 0;
	}
	if (more < 0)
		return damaged(reader, members.at, "a damaged frame");
	/* Without a line, the file is the module, as flamerun and converters from perf write it. */
	module = line ? "" : base_name(file);
	reader->frames[reader->frame_count++] = calltree_frame_line(reader->tree,
		*name ? name : "[empty]", module, picture_names_kind(name, module, CALLTREE_NATIVE),
		line ? file : "", line);
	return 0;
}

static int read_frames(struct scope_reader *reader)
{
	struct json shared, frames, frame;
	uint32_t room = 0;
	int more;

	if (json_member(&reader->root, "shared", &shared) <= 0 ||
		json_member(&shared, "frames", &frames) <= 0 || json_list(&frames, &frames))
		return damaged(reader, reader->root.at, "no list of frames");
	while ((more = json_next(&frames, &frame)) > 0) {
		int error = 0;

		if (reader->frame_count == room) {
			uint32_t *grown;

			room = room ? room * 2 : 1024;
			grown = room > SPEEDSCOPE_FRAMES_MAX
					? NULL
					: reallocarray(reader->frames, room, sizeof(*grown));
			if (!grown)
				return diag_fail(reader->message, -ENOMEM,
					"cannot read '%s': too many frames", reader->name);
			reader->frames = grown;
		}
		error = add_frame(reader, &frame);
		if (error)
			return error;
	}
	return more ? damaged(reader, frames.at, "a damaged list of frames") : 0;
}

/* ---- profiles -------------------------------------------------------------------------------- */

static int find_unit(const struct json *value, unsigned *number)
{
	char word[16] = "none";

	if (value->at && json_text(value, word, sizeof(word)))
		return -EBADMSG;
	for (*number = 0; *number < UNITS; ++*number)
		if (!strcmp(word, units[*number].name))
			return 0;
	return -EBADMSG;
}

static int read_profile_members(const struct scope_reader *reader, const struct json *value,
	struct scope_profile *profile)
{
	const struct {
		const char *name;
		struct json *value;
	} known[] = {{"name", &profile->name}, {"type", &profile->type}, {"unit", &profile->unit},
		{"startValue", &profile->start}, {"endValue", &profile->end},
		{"samples", &profile->samples}, {"weights", &profile->weights},
		{"events", &profile->events}};
	struct json members, key, found;
	int more;

	*profile = (struct scope_profile){.start_value = 0};
	if (json_object(value, &members))
		return damaged(reader, value->at, "a profile that is no object");
	while ((more = json_next_member(&members, &key, &found)) > 0) {
		char word[16];

		if (json_text(&key, word, sizeof(word)))
			return damaged(reader, key.at, "a damaged name");
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (!strcmp(word, known[i].name))
				*known[i].value = found;
	}
	if (more < 0)
		return damaged(reader, members.at, "a damaged profile");
	if (find_unit(&profile->unit, &profile->unit_number))
		return damaged(reader, profile->unit.at, "an unknown unit");
	if (profile->start.at && json_number(&profile->start, &profile->start_value))
		return damaged(reader, profile->start.at, "a damaged number");
	return 0;
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Convert @value, in the profile's unit, to a time of the tree. */
static int find_moment(
	const struct scope_reader *reader, const char *at, double value, uint64_t *moment)
{
	double scaled = value * reader->scale - reader->base;

	if (!(scaled >= 0 && scaled <= MOMENT_MAX))
		return damaged(reader, at, "a number out of range");
	*moment = (uint64_t)llround(scaled);
	return 0;
}

/* Add the time up to @moment to the current stack, as samples with weights of 32 bits. */
static void pass(struct scope_reader *reader, uint64_t moment)
{
	uint64_t left = moment - reader->moment;
	uint32_t node = reader->depth ? reader->stack[reader->depth - 1] : CALLTREE_ROOT;

	reader->moment = moment;
	if (!left || !reader->depth || calltree_error(reader->tree))
		return;
	calltree_add(reader->tree, node, left);
	reader->weight += left;
	while (left) {
		uint32_t part = left > UINT32_MAX ? UINT32_MAX : (uint32_t)left;

		left -= part;
		calltree_sample(reader->tree, &(struct calltree_sample){
						      .time_ns = moment - left,
						      .node = node,
						      .weight = part,
						      .thread = reader->thread});
	}
}

static int push(struct scope_reader *reader, const struct json *value)
{
	uint32_t frame, caller = reader->depth ? reader->stack[reader->depth - 1] : CALLTREE_ROOT;

	if (json_index(value, reader->frame_count, &frame))
		return damaged(reader, value->at, "a frame that is not there");
	if (reader->depth == SPEEDSCOPE_DEPTH_MAX)
		return damaged(reader, value->at, "a stack that is too deep");
	reader->stack_frames[reader->depth] = frame;
	reader->stack[reader->depth++] =
		calltree_child(reader->tree, caller, reader->frames[frame]);
	return 0;
}

/* Read a "sampled" profile: a list of stacks and a list of weights. */
static int read_sampled(struct scope_reader *reader, const struct scope_profile *profile)
{
	struct json samples, weights, sample, weight, frame;
	double at = profile->start_value;
	int more, error = 0;

	if (json_list(&profile->samples, &samples) || json_list(&profile->weights, &weights))
		return damaged(reader, profile->type.at, "no lists of samples and weights");
	while (!error && (more = json_next(&samples, &sample)) > 0) {
		uint64_t moment = 0;
		double number;

		if (json_next(&weights, &weight) <= 0 || json_number(&weight, &number) ||
			number < 0)
			return damaged(reader, weights.at, "a sample without a weight");
		if (json_list(&sample, &sample))
			return damaged(reader, sample.at, "a sample that is no list");
		reader->depth = 0;
		while (!error && (more = json_next(&sample, &frame)) > 0)
			error = push(reader, &frame);
		if (!error && more < 0)
			error = damaged(reader, sample.at, "a damaged sample");
		at += number;
		if (!error)
			error = find_moment(reader, weight.at, at, &moment);
		if (!error)
			pass(reader, moment);
	}
	return !error && more < 0 ? damaged(reader, samples.at, "damaged samples") : error;
}

/* Read an event: a function is entered ('O') or left ('C') at a time. */
static int read_event(struct scope_reader *reader, const struct json *event)
{
	struct json type, at, frame;
	char word[4];
	uint64_t moment = 0;
	uint32_t number;
	double value;
	int error;

	if (json_member(event, "type", &type) <= 0 || json_member(event, "at", &at) <= 0 ||
		json_member(event, "frame", &frame) <= 0 || json_number(&at, &value) ||
		json_text(&type, word, sizeof(word)))
		return damaged(reader, event->at, "a damaged event");
	error = find_moment(reader, at.at, value, &moment);
	if (error)
		return error;
	if (moment < reader->moment)
		return damaged(reader, at.at, "an event before the one before it");
	pass(reader, moment);
	if (!strcmp(word, "O"))
		return push(reader, &frame);
	if (strcmp(word, "C") || !reader->depth ||
		json_index(&frame, reader->frame_count, &number) ||
		reader->stack_frames[reader->depth - 1] != number)
		return damaged(reader, event->at, "the end of what is not innermost");
	reader->depth--;
	return 0;
}

/* Read an "evented" profile. A function that is never left stays on the stack to the end. */
static int read_evented(struct scope_reader *reader, const struct scope_profile *profile)
{
	struct json events, event;
	uint64_t moment = 0;
	double value;
	int more, error = 0;

	if (json_list(&profile->events, &events))
		return damaged(reader, profile->type.at, "no list of events");
	reader->depth = 0;
	while (!error && (more = json_next(&events, &event)) > 0)
		error = read_event(reader, &event);
	if (error || more < 0)
		return error ? error : damaged(reader, events.at, "damaged events");
	if (reader->depth && profile->end.at && !json_number(&profile->end, &value) &&
		!find_moment(reader, profile->end.at, value, &moment) && moment > reader->moment)
		pass(reader, moment);
	return 0;
}

static int read_profile(struct scope_reader *reader, const struct scope_profile *profile)
{
	char name[SPEEDSCOPE_NAME_BYTES], type[16] = "";
	int error;

	text_or_none(&profile->name, name);
	calltree_thread(reader->tree, reader->thread, *name ? name : "[no name]", "");
	reader->scale = reader->unit->ns ? units[profile->unit_number].ns : 1;
	error = find_moment(
		reader, profile->start.at, profile->start_value, &reader->moment);
	if (error)
		return error;
	if (json_is_text(&profile->type))
		json_text(&profile->type, type, sizeof(type));
	if (!strcmp(type, "sampled"))
		error = read_sampled(reader, profile);
	else if (!strcmp(type, "evented"))
		error = read_evented(reader, profile);
	else
		error = damaged(reader, reader->root.at, "a profile of an unknown type");
	reader->thread++;
	if (reader->moment > reader->last)
		reader->last = reader->moment;
	return error;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_counted(const struct scope_reader *reader, const struct scope_profile *profile)
{
	const struct unit *unit = &units[profile->unit_number];

	return unit == reader->unit || (unit->ns && reader->unit->ns);
}

static int for_profiles(struct scope_reader *reader,
	int (*each)(struct scope_reader *reader, const struct scope_profile *profile))
{
	struct scope_profile profile;
	struct json profiles, item;
	uint32_t number = 0;
	int more, error = 0;

	if (json_member(&reader->root, "profiles", &profiles) <= 0 ||
		json_list(&profiles, &profiles))
		return damaged(reader, reader->root.at, "no list of profiles");
	while (!error && (more = json_next(&profiles, &item)) > 0) {
		if (number++ == SPEEDSCOPE_PROFILES_MAX)
			return damaged(reader, item.at, "too many profiles");
		error = read_profile_members(reader, &item, &profile);
		if (!error)
			error = each(reader, &profile);
	}
	return !error && more < 0 ? damaged(reader, profiles.at, "damaged profiles") : error;
}

/* Find the unit of the profile with index reader->active, or of the last if there are fewer. */
static int find_shown(struct scope_reader *reader, const struct scope_profile *profile)
{
	if (reader->number++ <= reader->active)
		reader->unit = &units[profile->unit_number];
	return 0;
}

static int find_base(struct scope_reader *reader, const struct scope_profile *profile)
{
	double ns = units[profile->unit_number].ns;
	double start = profile->start_value * (reader->unit->ns ? ns : 1);

	if (!is_counted(reader, profile))
		reader->left_out++;
	else if (start < reader->base)
		reader->base = start;
	return 0;
}

static int read_counted(struct scope_reader *reader, const struct scope_profile *profile)
{
	return is_counted(reader, profile) ? read_profile(reader, profile) : 0;
}

static int choose_unit(struct scope_reader *reader, const char *wanted)
{
	struct json active;
	int error = 0;

	for (size_t i = 0; wanted && i < UNITS; i++)
		if (!strcmp(units[i].name, wanted))
			reader->unit = &units[i];
	if (!wanted) {
		if (json_member(&reader->root, "activeProfileIndex", &active) > 0)
			json_index(&active, SPEEDSCOPE_PROFILES_MAX, &reader->active);
		reader->unit = &units[0];
		error = for_profiles(reader, find_shown);
	}
	reader->base = INFINITY;
	if (!error && reader->unit)
		error = for_profiles(reader, find_base);
	if (!error && wanted && !isfinite(reader->base)) {
		diag_fail(reader->message, -EINVAL, "'%s' has no sample type '%s'", reader->name,
			wanted);
		diag_fail_hint(reader->message, "of files for speedscope it is the unit of their "
						"profiles: nanoseconds, bytes, none");
		return -EINVAL;
	}
	return error;
}

static void find_facts(const struct scope_reader *reader, struct input_facts *facts)
{
	bool is_time = reader->unit->ns != 0;
	struct json title;

	if (json_member(&reader->root, "name", &title) > 0 && json_is_text(&title))
		json_text(&title, facts->title, sizeof(facts->title));
	snprintf(facts->count_name, sizeof(facts->count_name), "%s",
		is_time ? "nanoseconds" : !strcmp(reader->unit->name, "bytes") ? "bytes" : "");
	if (is_time) {
		facts->period_ns = 1;
		facts->duration_ns = reader->last;
		snprintf(facts->subtitle, sizeof(facts->subtitle), "%.2f s in %.2f s",
			(double)reader->weight / 1e9, (double)reader->last / 1e9);
	}
	if (reader->left_out)
		diag_info("'%s': %" PRIu32 " profile%s of another unit than %s left out, "
			  "--sample-type draws that",
			reader->name, reader->left_out, reader->left_out == 1 ? " is" : "s are",
			is_time ? "time" : reader->unit->name);
}

int speedscope_read(struct calltree *tree, const struct bytes *file, const char *name,
	const char *unit, struct input_facts *facts, struct diag_message *message)
{
	struct scope_reader reader = {.tree = tree, .name = name, .message = message,
		.text = (const char *)file->data};
	int error = 0;

	*facts = (struct input_facts){.period_ns = 0};
	reader.stack = calloc(SPEEDSCOPE_DEPTH_MAX, sizeof(*reader.stack));
	reader.stack_frames = calloc(SPEEDSCOPE_DEPTH_MAX, sizeof(*reader.stack_frames));
	if (!reader.stack || !reader.stack_frames)
		error = diag_fail(message, -ENOMEM, "out of memory");
	else if (json_begin(reader.text, file->used, &reader.root))
		error = damaged(&reader, reader.text, "JSON that does not end");
	if (!error)
		error = choose_unit(&reader, unit);
	if (!error)
		error = read_frames(&reader);
	if (!error)
		error = for_profiles(&reader, read_counted);
	if (!error)
		find_facts(&reader, facts);
	free(reader.frames);
	free(reader.stack);
	free(reader.stack_frames);
	return error;
}

bool speedscope_is(const struct bytes *file)
{
	struct json root, part;

	return !json_begin((const char *)file->data, file->used, &root) &&
	       json_is_object(&root) && json_member(&root, "shared", &part) > 0 &&
	       json_member(&root, "profiles", &part) > 0;
}
