/* SPDX-License-Identifier: MIT */
/*
 * Write a call tree for speedscope, as "sampled" profiles: stacks with weights that are drawn one
 * after the other. The time axis is therefore the sum of the samples: a thread's CPU time, or with
 * waits all of its time.
 */
#include "cli/formats/speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/quoted.h"
#include "cli/formats/timeline.h"

struct scope_writer {
	const struct picture_options *options;
	struct timeline timeline;
	/* value written for one unit of weight */
	uint64_t unit;
	FILE *out;
	int error;
};

static void put_text(struct scope_writer *w, const char *name, const char *text)
{
	fprintf(w->out, "\"%s\":", name);
	if (!w->error)
		w->error = quoted_put(w->out, text, SIZE_MAX, QUOTED_JSON);
}

/* Speedscope shows an empty stack as idle, so the root's self weight gets a frame "[all]". */
static void put_frames(struct scope_writer *w)
{
	const struct calltree *tree = w->timeline.tree;

	fputs("\"shared\":{\"frames\":[\n{\"name\":\"[all]\"}", w->out);
	for (uint32_t i = 0; i < calltree_frames(tree); i++) {
		const struct calltree_frame *frame = calltree_frame_at(tree, i);
		const struct calltree_line *line = w->timeline.lines[i];
		const char *module = frame->kind == CALLTREE_WAIT ? "" : frame->module;

		fputs(",\n{", w->out);
		put_text(w, "name", *frame->name ? frame->name : "[empty]");
		if (line || *module) {
			putc(',', w->out);
			put_text(w, "file", line ? line->file : module);
		}
		if (line && line->line)
			fprintf(w->out, ",\"line\":%" PRIu32, line->line);
		putc('}', w->out);
	}
	fputs("\n]}", w->out);
}

/* Write the frames of @node's stack, outermost first. @path has room for the deepest stack. */
static void put_stack(struct scope_writer *w, uint32_t node, uint32_t *path)
{
	const struct calltree *tree = w->timeline.tree;
	uint32_t depth = 0;

	putc('[', w->out);
	if (node == CALLTREE_ROOT)
		putc('0', w->out);
	for (; node != CALLTREE_ROOT; node = calltree_node_at(tree, node)->parent)
		path[depth++] = calltree_node_at(tree, node)->frame;
	while (depth--)
		fprintf(w->out, "%" PRIu32 "%s", path[depth] + 1, depth ? "," : "");
	putc(']', w->out);
}

/* Returns the end of the shares from @at on with the same stack; *@weight receives their sum. */
static size_t end_of_stack(const struct timeline *timeline, size_t at, size_t end, uint64_t *weight)
{
	uint32_t node = timeline->shares[at].node;

	for (*weight = 0; at < end && timeline->shares[at].node == node; at++)
		*weight += timeline->shares[at].weight;
	return at;
}

static void put_profile(
	struct scope_writer *w, size_t begin, size_t end, uint64_t weight, uint32_t *path)
{
	const char *count = w->options->count_name ? w->options->count_name : "";
	const char *unit = w->options->period_ns ? "nanoseconds"
			   : !strcmp(count, "bytes") ? "bytes" : "none";
	uint64_t part;

	fputs("{\"type\":\"sampled\",", w->out);
	put_text(w, "name", timeline_thread_name(&w->timeline, begin));
	fprintf(w->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64
			",\n\"samples\":[", unit, weight * w->unit);
	for (size_t i = begin; i < end;) {
		fputs(i == begin ? "\n" : ",\n", w->out);
		put_stack(w, w->timeline.shares[i].node, path);
		i = end_of_stack(&w->timeline, i, end, &part);
	}
	fputs("],\n\"weights\":[", w->out);
	for (size_t i = begin; i < end;) {
		bool is_first = i == begin;

		i = end_of_stack(&w->timeline, i, end, &part);
		fprintf(w->out, "%s%" PRIu64, is_first ? "" : ",", part * w->unit);
	}
	fputs("]}", w->out);
}

/* Write all profiles, or an empty one, as speedscope needs one. Select the heaviest for display. */
static void put_profiles(struct scope_writer *w, uint32_t *path)
{
	uint64_t weight, most = 0;
	size_t end, number = 0, active = 0;

	fputs("\"profiles\":[", w->out);
	for (size_t i = 0; i < w->timeline.count; i = end, number++) {
		end = timeline_thread(&w->timeline, i, &weight);
		fputs(number ? ",\n" : "\n", w->out);
		put_profile(w, i, end, weight, path);
		if (weight > most) {
			most = weight;
			active = number;
		}
	}
	if (!number)
		put_profile(w, 0, 0, 0, path);
	fprintf(w->out, "\n],\n\"activeProfileIndex\":%zu}\n", active);
}

int speedscope_write(
	const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct scope_writer w = {.options = options, .out = out};
	uint32_t *path = NULL;
	int error = timeline_init(&w.timeline, tree, options, false);

	if (error)
		return error;
	w.unit = options->period_ns ? options->period_ns : 1;
	path = calloc((size_t)calltree_nodes(w.timeline.tree) + 1, sizeof(*path));
	if (!path) {
		w.error = -ENOMEM;
	} else {
		errno = 0;
		fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		      "\"exporter\":\"flamerun@" FLAMERUN_VERSION "\",\n", out);
		put_text(&w, "name", options->title ? options->title : "flamerun");
		fputs(",\n", out);
		put_frames(&w);
		fputs(",\n", out);
		put_profiles(&w, path);
		if (!w.error && ferror(out))
			w.error = errno ? -errno : -EIO;
	}
	free(path);
	timeline_release(&w.timeline);
	return w.error;
}
