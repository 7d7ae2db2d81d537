/* SPDX-License-Identifier: MIT */
/*
 * Build a tree from a picture's columns. The data is untrusted: every count and index is checked
 * before use, so that a forged picture can only cause an error, and use the memory of its inflated
 * data.
 */
#include "cli/formats/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/svg_columns.h"
#include "cli/formats/whole.h"
#include "render/embed.h"

#define UNSET UINT32_MAX

struct reader {
	const char *name; /* of the file, for messages */
	struct diag_message *message;
	struct calltree *tree;
	struct input_facts *facts;
	struct svg_columns columns;
	uint64_t nodes, frames, modules, threads, samples;
	uint32_t *frame_of; /* [frame of the file] -> frame of the tree */
	uint8_t *kind;	    /* [frame of the file] */
	/* [node of the file] -> frame of the file; unset for the root */
	uint32_t *node_frame;
	uint32_t *parent;    /* [node of the file] */
	uint32_t *tree_node; /* [node of the file] -> node of the tree, or UNSET */
	/* scratch space for the nodes of one stack */
	uint32_t *path;
};

static int damaged(const struct reader *reader, const char *what)
{
	return diag_fail(
		reader->message, -EBADMSG, "cannot read '%s': its data has %s", reader->name, what);
}

static int no_memory(const struct reader *reader)
{
	return diag_fail(reader->message, -ENOMEM, "out of memory");
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Copy a column that is one text. Cut it to @room bytes with the NUL. */
static void copy_text(const struct reader *reader, enum embed_tag tag, char *out, size_t room)
{
	const struct protobuf *column = &reader->columns.at[tag];
	size_t bytes = protobuf_left(column);

	if (bytes >= room)
		for (bytes = room - 1; bytes && (column->at[bytes] & 0xc0) == 0x80;)
			bytes--;
	if (bytes)
		memcpy(out, column->at, bytes);
	out[bytes] = '\0';
}

/* Is a count of @count items plausible? Each item takes at least a byte of column @tag. */
static bool is_possible(const struct reader *reader, uint64_t count, enum embed_tag tag)
{
	return count <= protobuf_left(&reader->columns.at[tag]) && count < UINT32_MAX;
}

static int read_numbers(struct reader *reader)
{
	struct protobuf *column = &reader->columns.at[EMBED_NUMBERS];

	column_number(column, &reader->facts->period_ns);
	column_number(column, &reader->facts->duration_ns);
	column_number(column, &reader->nodes);
	column_number(column, &reader->frames);
	column_number(column, &reader->modules);
	column_number(column, &reader->threads);
	if (!column_number(column, &reader->samples))
		return damaged(reader, "no numbers");
	if (!reader->nodes || !is_possible(reader, reader->nodes, EMBED_NODE_WEIGHTS) ||
		!is_possible(reader, reader->frames, EMBED_NAME_LENGTHS) ||
		!is_possible(reader, reader->modules, EMBED_MODULES) ||
		!is_possible(reader, reader->threads, EMBED_THREADS) ||
		!is_possible(reader, reader->samples,
			reader->columns.is_old ? EMBED_OLD_NODES : EMBED_SAMPLE_NODES))
		return damaged(reader, "counts of what it does not hold");
	return 0;
}

static void read_view(struct reader *reader)
{
	struct input_facts *facts = reader->facts;
	struct protobuf *column = &reader->columns.at[EMBED_VIEW];
	uint64_t view[11];

	for (unsigned i = 0; i < sizeof(view) / sizeof(view[0]); i++)
		column_number(column, &view[i]);
	facts->has_view = true;
	facts->direction = view[0] == 1 ? PICTURE_ICICLE : PICTURE_FLAME;
	facts->is_reversed = view[2] == 1;
	facts->times =
		view[8] <= CALLTREE_TIMES_BOTH ? (enum calltree_times)view[8] : CALLTREE_TIMES_CPU;
	facts->by_process = view[9] == 1;
	facts->by_thread = view[10] == 1;
}

/* ---- frames, nodes --------------------------------------------------------------------------- */

static void free_texts(char **texts, uint64_t count)
{
	for (uint64_t i = 0; texts && i < count; i++)
		free(texts[i]);
	free(texts);
}

/*
 * Read @count texts from column @tag. Each follows its length. Returns an array from malloc, or
 * NULL if there are fewer texts or without memory.
 */
static char **read_texts(const struct reader *reader, enum embed_tag tag, uint64_t count)
{
	struct protobuf column = reader->columns.at[tag];
	char **texts = calloc(count + 1, sizeof(*texts));

	for (uint64_t i = 0; texts && i < count; i++) {
		texts[i] = column_text(&column);
		if (!texts[i]) {
			free_texts(texts, count);
			return NULL;
		}
	}
	return texts;
}

static int add_frame(struct reader *reader, uint32_t frame, char *const *modules)
{
	struct protobuf *columns = reader->columns.at;
	uint64_t bytes, module, kind;
	char *name;

	if (!column_number(&columns[EMBED_NAME_LENGTHS], &bytes) ||
		!column_number(&columns[EMBED_FRAME_MODULES], &module) ||
		!column_number(&columns[EMBED_FRAME_KINDS], &kind) || module >= reader->modules ||
		kind >= CALLTREE_KINDS)
		return damaged(reader, "a function of no module or kind");
	name = column_bytes(&columns[EMBED_NAMES], bytes);
	if (!name)
		return damaged(reader, "a function without its name");
	reader->kind[frame] = (uint8_t)kind;
	reader->facts->has_idle |= kind == CALLTREE_IDLE;
	reader->frame_of[frame] =
		calltree_frame(reader->tree, name, modules[module], (enum calltree_frame_kind)kind);
	free(name);
	return 0;
}

static int read_frames(struct reader *reader)
{
	char **modules = read_texts(reader, EMBED_MODULES, reader->modules);
	int error = modules ? 0 : damaged(reader, "modules without names");

	for (uint32_t i = 0; !error && i < reader->frames; i++)
		error = add_frame(reader, i, modules);
	free_texts(modules, reader->modules);
	return error;
}

static int read_nodes(struct reader *reader)
{
	struct protobuf *ups = &reader->columns.at[EMBED_NODE_UPS];
	struct protobuf *frames = &reader->columns.at[EMBED_NODE_FRAMES];

	for (uint32_t node = 1; node < reader->nodes; node++) {
		uint32_t above = node - 1;
		uint64_t up, frame;

		if (!column_number(ups, &up) || !column_number(frames, &frame) ||
			frame >= reader->frames)
			return damaged(reader, "a node without a function");
		for (; up && above; up--)
			above = reader->parent[above];
		if (up)
			return damaged(reader, "a node above the root");
		reader->parent[node] = above;
		reader->node_frame[node] = (uint32_t)frame;
	}
	return 0;
}

/* When stacks were reversed, did @node stay at the root? */
static bool stays_at_root(const struct reader *reader, uint32_t node)
{
	uint8_t kind = reader->kind[reader->node_frame[node]];

	return kind == CALLTREE_IDLE || (kind == CALLTREE_PROCESS && reader->facts->by_process) ||
	       (kind == CALLTREE_THREAD && reader->facts->by_thread);
}

static uint32_t child_of(const struct reader *reader, uint32_t parent, uint32_t node)
{
	uint32_t frame = reader->node_frame[node];

	/* Drop idle frames, because drawing finds the idle threads again. */
	if (reader->kind[frame] == CALLTREE_IDLE)
		return parent;
	return calltree_child(reader->tree, parent, reader->frame_of[frame]);
}

/* Returns the node of the tree for @node of a reversed picture (see render/transform.c). */
static uint32_t place_unreversed(struct reader *reader, uint32_t node)
{
	uint32_t tree_node = CALLTREE_ROOT, steps = 0;

	for (; node; node = reader->parent[node])
		reader->path[steps++] = node;
	for (; steps && stays_at_root(reader, reader->path[steps - 1]); steps--)
		tree_node = child_of(reader, tree_node, reader->path[steps - 1]);
	for (uint32_t i = 0; i < steps; i++)
		tree_node = child_of(reader, tree_node, reader->path[i]);
	return tree_node;
}

/* Returns the node of the tree for @node. Unless stacks are reversed, its parent must have one. */
static uint32_t find_node(struct reader *reader, uint32_t node)
{
	if (reader->tree_node[node] == UNSET)
		reader->tree_node[node] =
			!node ? CALLTREE_ROOT
			: reader->facts->is_reversed
				? place_unreversed(reader, node)
				: child_of(reader, reader->tree_node[reader->parent[node]], node);
	return reader->tree_node[node];
}

/* Make the tree's nodes and add the weights. In the file, parents come before their children. */
static int position_nodes(struct reader *reader)
{
	struct protobuf *weights = &reader->columns.at[EMBED_NODE_WEIGHTS];

	memset(reader->tree_node, 0xff, reader->nodes * sizeof(*reader->tree_node));
	for (uint32_t node = 0; node < reader->nodes; node++) {
		uint64_t weight;

		if (!column_number(weights, &weight))
			return damaged(reader, "a node without its weight");
		if (weight || !reader->facts->is_reversed)
			find_node(reader, node);
		if (weight)
			calltree_add(reader->tree, reader->tree_node[node], weight);
	}
	return 0;
}

/* ---- samples, threads, marks, lines ---------------------------------------------------------- */

static int read_threads(struct reader *reader)
{
	char **names = read_texts(reader, EMBED_THREADS, reader->threads);
	struct protobuf processes = reader->columns.at[EMBED_THREAD_PROCESSES];
	int error = names ? 0 : damaged(reader, "threads without names");

	for (uint32_t i = 0; !error && i < reader->threads; i++) {
		char *process = column_text(&processes);

		if (*names[i])
			calltree_thread(reader->tree, i, names[i], process ? process : "");
		free(process);
	}
	free_texts(names, reader->threads);
	return error;
}

/* Add a sample at @time_us since the start. @node and @thread are numbers in the file. */
static int add_sample(struct reader *reader, uint64_t time_us, uint64_t node, uint64_t thread,
	uint64_t weight, uint64_t kind)
{
	if (time_us > INT64_MAX / 1000 || node >= reader->nodes || thread >= reader->threads ||
		weight > UINT32_MAX || kind > CALLTREE_WAITING)
		return damaged(reader, "a sample of no time, stack or thread");
	calltree_sample(reader->tree, &(struct calltree_sample){
					      .time_ns = time_us * 1000,
					      .node = find_node(reader, (uint32_t)node),
					      .weight = (uint32_t)weight,
					      .thread = (uint32_t)thread,
					      .kind = (enum calltree_sample_kind)kind,
				      });
	return 0;
}

static int read_old_samples(struct reader *reader)
{
	struct protobuf *columns = reader->columns.at;
	uint64_t time_us = 0, node = 0, thread, weight, kind;
	int64_t step_us, step;
	int error = 0;

	for (uint64_t i = 0; !error && i < reader->samples; i++) {
		if (!column_signed(&columns[EMBED_OLD_TIMES], &step_us) ||
			!column_signed(&columns[EMBED_OLD_NODES], &step) ||
			!column_number(&columns[EMBED_OLD_THREADS], &thread) ||
			!column_number(&columns[EMBED_OLD_WEIGHTS], &weight) ||
			!column_number(&columns[EMBED_OLD_KINDS], &kind))
			return damaged(reader, "less samples than it says");
		/* A negative sum becomes a huge number, which add_sample() refuses. */
		time_us += (uint64_t)step_us;
		node += (uint64_t)step;
		error = add_sample(reader, time_us, node, thread, weight, kind);
	}
	return error;
}

/* Read sample @i. @last is [thread] -> node of its previous sample, 0 at first. */
static int read_sample(
	struct reader *reader, uint64_t i, uint64_t tick_us, uint64_t *ticks, uint32_t *last)
{
	const struct protobuf *columns = reader->columns.at;
	uint32_t numbers[EMBED_SAMPLE_KINDS - EMBED_SAMPLE_TIMES + 1] = {0}, step, thread;
	uint64_t time_us;

	for (unsigned k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
		numbers[k] =
			column_plane_number(&columns[EMBED_SAMPLE_TIMES + k], reader->samples, i);
	thread = numbers[EMBED_SAMPLE_THREADS - EMBED_SAMPLE_TIMES];
	if (thread >= reader->threads)
		return damaged(reader, "a sample of no thread");
	*ticks += numbers[0];
	if (__builtin_mul_overflow(*ticks, tick_us, &time_us))
		return damaged(reader, "a sample of no time");
	step = numbers[EMBED_SAMPLE_NODES - EMBED_SAMPLE_TIMES];
	last[thread] += step >> 1 ^ -(step & 1);
	return add_sample(reader, time_us, last[thread], thread,
		numbers[EMBED_SAMPLE_WEIGHTS - EMBED_SAMPLE_TIMES],
		numbers[EMBED_SAMPLE_KINDS - EMBED_SAMPLE_TIMES]);
}

static int read_samples(struct reader *reader)
{
	struct protobuf *columns = reader->columns.at;
	uint64_t tick_us, ticks = 0;
	uint32_t *last;
	int error = 0;

	if (reader->columns.is_old)
		return read_old_samples(reader);
	if (!reader->samples)
		return 0;
	column_number(&columns[EMBED_TICK], &tick_us);
	for (unsigned tag = EMBED_SAMPLE_TIMES; tag <= EMBED_SAMPLE_KINDS; tag++)
		if (!column_has_planes(&columns[tag], reader->samples))
			return damaged(reader, "more or less samples than it says");
	last = calloc(reader->threads + 1, sizeof(*last));
	if (!last)
		return no_memory(reader);
	for (uint64_t i = 0; !error && i < reader->samples; i++)
		error = read_sample(reader, i, tick_us, &ticks, last);
	free(last);
	return error;
}

static int read_marks(struct reader *reader)
{
	struct protobuf *columns = reader->columns.at;
	struct input_facts *facts = reader->facts;
	size_t room = protobuf_left(&columns[EMBED_MARK_TIMES]);
	uint64_t step_us, tid, time_us = 0;

	facts->marks = calloc(room + 1, sizeof(*facts->marks));
	if (!facts->marks)
		return no_memory(reader);
	while (column_number(&columns[EMBED_MARK_TIMES], &step_us)) {
		char *text = column_text(&columns[EMBED_MARK_TEXTS]);

		if (!text || __builtin_add_overflow(time_us, step_us, &time_us) ||
			time_us > UINT64_MAX / 1000) {
			free(text);
			return damaged(reader, "a mark without its time or text");
		}
		column_number(&columns[EMBED_MARK_THREADS], &tid);
		facts->marks[facts->mark_count++] = (struct picture_mark){
			.time_ns = time_us * 1000, .tid = (uint32_t)tid, .text = text};
	}
	return 0;
}

static int read_line(struct reader *reader, uint32_t frame, char *const *files, uint64_t file_count,
	int64_t *number)
{
	struct protobuf *columns = reader->columns.at;
	struct calltree_line line = {.frame = reader->frame_of[frame]};
	int64_t step;
	uint64_t file;

	if (!column_number(&columns[EMBED_LINE_FILES], &file) ||
		!column_signed(&columns[EMBED_LINE_NUMBERS], &step) ||
		!column_number(&columns[EMBED_LINE_SELVES], &line.self) ||
		!column_number(&columns[EMBED_LINE_TOTALS], &line.total) || file >= file_count ||
		__builtin_add_overflow(*number, step, number) || *number < 0 ||
		*number > UINT32_MAX)
		return damaged(reader, "a line of no file or weight");
	/* Older pictures lack this column. In this case `waits` becomes 0. */
	column_number(&columns[EMBED_LINE_WAITS], &line.waits);
	line.file = files[file];
	line.line = (uint32_t)*number;
	calltree_add_line(reader->tree, &line);
	return 0;
}

static int read_lines(struct reader *reader)
{
	struct protobuf counts = reader->columns.at[EMBED_LINE_COUNTS], files = counts;
	uint64_t file_count = 0, count, file;
	char **names;
	int64_t number = 0;
	int error = 0;

	for (files = reader->columns.at[EMBED_LINE_FILES]; column_number(&files, &file);)
		if (file >= file_count && file < UINT32_MAX)
			file_count = file + 1;
	if (!is_possible(reader, file_count, EMBED_FILES))
		return damaged(reader, "lines of files that are not there");
	names = read_texts(reader, EMBED_FILES, file_count);
	if (!names)
		return damaged(reader, "files without names");
	for (uint32_t frame = 0; frame < reader->frames && column_number(&counts, &count); frame++)
		for (; !error && count; count--)
			error = read_line(reader, frame, names, file_count, &number);
	free_texts(names, file_count);
	return error;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int read_spread(struct reader *reader)
{
	struct protobuf *column = &reader->columns.at[EMBED_SPREAD];
	struct spread *spread;
	uint64_t count, is_known, self, total;
	int error = 0;

	if (!column_number(column, &count))
		return 0;
	spread = reader->facts->spread = spread_new();
	if (!spread)
		return no_memory(reader);
	while (!error && count--) {
		struct spread_run run;

		if (!column_number(column, &run.wall_ns) || !column_number(column, &run.cpu_ns))
			return damaged(reader, "less runs than it says");
		error = spread_add(spread, &run, NULL);
	}
	for (uint32_t i = 0; !error && i < reader->frames; i++) {
		if (!column_number(column, &is_known) || !is_known)
			continue;
		column_number(column, &self);
		column_number(column, &total);
		error = spread_put(spread, calltree_frame_at(reader->tree, reader->frame_of[i]),
			&(struct spread_shares){
				(double)self / SPREAD_UNITS, (double)total / SPREAD_UNITS});
	}
	return error ? no_memory(reader) : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int make_room(struct reader *reader)
{
	reader->frame_of = calloc(reader->frames + 1, sizeof(*reader->frame_of));
	reader->kind = calloc(reader->frames + 1, sizeof(*reader->kind));
	reader->node_frame = calloc(reader->nodes, sizeof(*reader->node_frame));
	reader->parent = calloc(reader->nodes, sizeof(*reader->parent));
	reader->tree_node = calloc(reader->nodes, sizeof(*reader->tree_node));
	reader->path = calloc(reader->nodes, sizeof(*reader->path));
	return reader->frame_of && reader->kind && reader->node_frame && reader->parent &&
			       reader->tree_node && reader->path
		       ? 0
		       : no_memory(reader);
}

static void reader_release(struct reader *reader)
{
	svg_columns_release(&reader->columns);
	free(reader->frame_of);
	free(reader->kind);
	free(reader->node_frame);
	free(reader->parent);
	free(reader->tree_node);
	free(reader->path);
}

static int read_facts(struct reader *reader)
{
	struct input_facts *facts = reader->facts;
	uint64_t created_s;

	copy_text(reader, EMBED_TITLE, facts->title, sizeof(facts->title));
	copy_text(reader, EMBED_SUBTITLE, facts->subtitle, sizeof(facts->subtitle));
	copy_text(reader, EMBED_NOTES, facts->notes, sizeof(facts->notes));
	copy_text(reader, EMBED_EMPTY, facts->empty, sizeof(facts->empty));
	copy_text(reader, EMBED_COUNT_NAME, facts->count_name, sizeof(facts->count_name));
	copy_text(reader, EMBED_TYPE_NAME, facts->type_name, sizeof(facts->type_name));
	copy_text(reader, EMBED_FILTERS, facts->filters, sizeof(facts->filters));
	copy_text(reader, EMBED_PALETTE, facts->palette, sizeof(facts->palette));
	column_number(&reader->columns.at[EMBED_CREATED], &created_s);
	facts->created_s = (int64_t)created_s;
	read_view(reader);
	return 0;
}

static int read_columns(struct reader *reader)
{
	int (*const steps[])(struct reader *) = {read_facts, read_numbers, make_room, read_frames,
		read_nodes, position_nodes, read_threads, read_samples, read_lines, read_marks,
		read_spread};
	int error = 0;

	for (size_t i = 0; !error && i < sizeof(steps) / sizeof(steps[0]); i++)
		error = steps[i](reader);
	return error;
}

/* Report why there are no columns. Returns @error. */
static int refuse(const struct reader *reader, int error)
{
	switch (error) {
	case -ENODATA:
		diag_fail(reader->message, error,
			"'%s' is no picture of flamerun's: it has no data", reader->name);
		diag_fail_hint(reader->message,
			"flamerun draws folded stacks and pprof profiles of others");
		return error;
	case -ENOTSUP:
		return diag_fail(reader->message, error,
			"cannot read '%s': another version of flamerun drew it", reader->name);
	case -EBADMSG:
		return damaged(reader, "text that is damaged or cut off");
	case -EFBIG:
		return whole_refuse(reader->name, error, reader->message);
	default:
		return no_memory(reader);
	}
}

int svg_read(struct calltree *tree, const struct bytes *file, const char *name,
	struct input_facts *facts, struct diag_message *message)
{
	struct reader reader = {.name = name, .message = message, .tree = tree, .facts = facts};
	int error = svg_columns_init(&reader.columns, file);

	*facts = (struct input_facts){0};
	if (error)
		return refuse(&reader, error);
	error = read_columns(&reader);
	reader_release(&reader);
	return error;
}
