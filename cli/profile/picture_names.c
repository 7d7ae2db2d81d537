/* SPDX-License-Identifier: MIT */
/*
 * Make and split names that are not symbols, and list marks. A program may give a mark any time; a
 * mark before the first sample is moved to the first sample.
 */
#include "cli/profile/picture_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLACED "[replaced: "
#define DELETED	 " (deleted)"

char *replaced_name(char *out, size_t size, const char *file)
{
	size_t bytes = strlen(file), mark = strlen(DELETED);

	if (bytes > mark && !strcmp(file + bytes - mark, DELETED))
		bytes -= mark;
	snprintf(out, size, REPLACED "%.*s]", (int)(bytes < 400 ? bytes : 400), file);
	return out;
}

const char *replaced_name_file(const char *name, size_t *bytes)
{
	size_t length = strlen(name), before = strlen(REPLACED);

	if (strncmp(name, REPLACED, before) || length < before + 2 || name[length - 1] != ']')
		return NULL;
	*bytes = length - before - 1;
	return name + before;
}

void picture_names_build_id(char out[PICTURE_BUILD_ID_BYTES], const uint8_t *id, size_t bytes)
{
	size_t at = strlen(CALLTREE_BUILD_ID);

	strcpy(out, bytes ? CALLTREE_BUILD_ID : "");
	for (size_t i = 0; i < bytes && at + 2 < PICTURE_BUILD_ID_BYTES; i++, at += 2)
		snprintf(out + at, 3, "%02x", id[i]);
}

enum calltree_frame_kind picture_names_kind(
	const char *name, const char *module, enum calltree_frame_kind otherwise)
{
	size_t bytes = strlen(name);

	if (replaced_name_file(name, &bytes))
		return CALLTREE_UNNAMED;
	if (bytes < 2 || name[0] != '[' || name[bytes - 1] != ']')
		return !strcmp(module, KERNEL_MODULE) || !strcmp(module, "[kernel.kallsyms]")
			       ? CALLTREE_KERNEL
			       : otherwise;
	if (!strcmp(name, KERNEL_MODULE) || !strncmp(name, "[kernel: ", strlen("[kernel: ")))
		return CALLTREE_KERNEL;
	return strstr(name, "+0x") ? CALLTREE_UNNAMED : CALLTREE_SYNTHETIC;
}

/* Does @frame stand for missing outermost frames? */
static bool is_incomplete(const struct calltree_frame *frame)
{
	return frame->kind == CALLTREE_SYNTHETIC &&
	       (!strcmp(frame->name, "[incomplete stack]") ||
		       !strncmp(frame->name, "[deeper than ", strlen("[deeper than ")));
}

void special_weights_of(const struct calltree *tree, struct special_weights *out)
{
	*out = (struct special_weights){0};
	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);

		if (frame->kind == CALLTREE_UNNAMED)
			out->unnamed += node->self;
		else if (frame->kind == CALLTREE_KERNEL) {
			out->kernel += node->self;
			out->kernel_functions += frame->name[0] == '[' ? 0 : node->self;
		} else if (is_incomplete(frame))
			out->incomplete += node->total;
		else if (frame->kind == CALLTREE_SYNTHETIC &&
			 !strncmp(frame->name, "[unsampled", strlen("[unsampled")))
			out->unsampled += node->self;
	}
}

const char *module_text(char out[PICTURE_NAMES_MODULE_BYTES], const struct calltree_frame *frame)
{
	bool is_bare = frame->module[0] != '[';

	out[0] = '\0';
	if (frame->module[0] && frame->kind != CALLTREE_UNNAMED &&
		frame->kind != CALLTREE_WAIT && frame->kind != CALLTREE_KERNEL)
		snprintf(out, PICTURE_NAMES_MODULE_BYTES, " %s%.120s%s", is_bare ? "[" : "",
			frame->module, is_bare ? "]" : "");
	return out;
}

char *machine_name_make(const char *name, const char *file, uint32_t line)
{
	char *made = NULL;
	int bytes;

	if (!*file)
		return strdup(name);
	if (line)
		bytes = asprintf(&made, "%s (%s:%" PRIu32 ")", name, file, line);
	else
		bytes = asprintf(&made, "%s (%s)", name, file);
	return bytes < 0 ? NULL : made;
}

static const char *find_last_paren(const char *text)
{
	const char *found = NULL;

	while ((text = strstr(text, " ("))) {
		found = text;
		text += 2;
	}
	return found;
}

bool machine_name_split(const char *text, struct machine_name *out)
{
	const char *open = find_last_paren(text);
	const char *colon = open ? strrchr(open, ':') : NULL;
	unsigned long long line;
	char *end;

	if (!colon || open == text || colon == open + 2 || colon[1] < '0' || colon[1] > '9')
		return false;
	line = strtoull(colon + 1, &end, 10);
	if (strcmp(end, ")") || line > UINT32_MAX)
		return false;
	*out = (struct machine_name){
		.name_bytes = (size_t)(open - text),
		.file = open + 2,
		.file_bytes = (size_t)(colon - open - 2),
		.line = (uint32_t)line,
	};
	return true;
}

bool machine_name_is_of(const struct calltree_frame *frame)
{
	return !strcmp(frame->module, MACHINE_MODULE);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
	const struct picture_mark *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return strcmp(a->text, b->text);
}

void marks_sort(struct picture_mark *marks, uint32_t count)
{
	if (count)
		qsort(marks, count, sizeof(*marks), by_time);
}

int marks_make(struct flameprof_profile *profile, struct picture_mark **marks, uint32_t *count)
{
	uint64_t start_ns = profile_first_ns(profile);
	struct picture_mark *made = NULL;

	if (profile->mark_count) {
		made = calloc(profile->mark_count, sizeof(*made));
		if (!made)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct profile_mark *mark = profile_mark_at(profile, i);

		made[i] = (struct picture_mark){
			.time_ns = mark->time_ns > start_ns ? mark->time_ns - start_ns : 0,
			.tid = mark->tid,
			.text = names_string(&profile->names, mark->name),
		};
	}
	marks_sort(made, profile->mark_count);
	*marks = made;
	*count = profile->mark_count;
	return 0;
}
