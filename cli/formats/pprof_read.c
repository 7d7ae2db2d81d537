/* SPDX-License-Identifier: MIT */
/*
 * Read a profile into a tree: samples become stacks, their labels become threads, and its other
 * fields become facts.
 *
 * If all values are multiples of the period, weights are samples, and the picture shows samples and
 * times; otherwise weights are times. This is known only after all values were read, so samples are
 * read twice.
 */
#include "cli/formats/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/formats/pprof_tables.h"
#include "cli/profile/picture_names.h"
#include "libprof/pprof/protobuf.h"
#include "libprof/pprof/writer.h"

#define NS_PER_S    1000000000
#define TYPE_BYTES  63	/* longest type name in messages */
#define LABEL_BYTES 255 /* longest label; longer ones are cut */

/*
 * Kinds of time. If a profile has a sample type for each kind, all three are read. Otherwise one
 * sample type is read, at index CPU.
 */
enum {
	CPU,
	WAITING,
	READY,
	TIMES
};

/* The labels of a sample; texts are borrowed from the tables. */
struct identity {
	const char *name, *id, *process, *wait; /* "": no such label */
	int64_t number;				/* thread number, instead of @id; 0: none */
};

/* The end of a stack. */
struct leaf {
	uint32_t parent; /* node of the caller */
	uint32_t frame;	 /* PPROF_UNSET: empty stack */
};

struct stack {
	uint64_t *ids; /* of locations, innermost first */
	uint32_t depth;
};

struct pprof_reader {
	struct pprof_tables tables;
	struct texts own_threads;
	struct input_sum to; /* destination tree and its threads */
	/* index of the sample type of each kind; PPROF_UNSET: not read */
	uint32_t types[TIMES];
	uint64_t divisor; /* units of the type per unit of weight */
	/* all values are multiples of the period */
	bool is_whole;
	bool has_weight;   /* some values are above 0 */
	bool wants_stacks; /* false: read values only */
	uint64_t weight;   /* of samples on a CPU, or of the one type */
	uint64_t waits;	   /* weight of samples that wait */
	uint64_t negative; /* number of samples skipped */
	/* labels of the previous sample, and the number of its thread */
	struct identity last_identity;
	uint32_t thread;
	struct stack current, before;
	/* [N] -> innermost frame of the outermost N + 1 locations of the previous stack */
	struct leaf *leaves;
	int64_t values[TIMES]; /* of the current sample */
};

/* ---- samples --------------------------------------------------------------------------------- */

/* Read the values of a sample and, if reader->wants_stacks is set, its stack. */
static int read_sample(struct pprof_reader *reader, struct protobuf message)
{
	struct protobuf in = message;
	struct protobuf_field field;
	uint64_t number;
	uint32_t values = 0;
	int more, inner = 0;

	reader->current.depth = 0;
	memset(reader->values, 0, sizeof(reader->values));
	while ((more = protobuf_next(&in, &field)) > 0) {
		while (field.number == SAMPLE_VALUE &&
			(inner = protobuf_number(&field, &number)) > 0) {
			for (unsigned time = 0; time < TIMES; time++)
				if (values == reader->types[time])
					reader->values[time] = (int64_t)number;
			values++;
		}
		while (reader->wants_stacks && field.number == SAMPLE_LOCATION &&
			(inner = protobuf_number(&field, &number)) > 0) {
			if (reader->current.depth == PPROF_DEPTH_MAX)
				return pprof_damaged(
					&reader->tables, message.at, "a stack that is too deep");
			reader->current.ids[reader->current.depth++] = number;
		}
		if (inner < 0)
			break;
	}
	if (more || inner)
		return pprof_damaged(&reader->tables, in.at, "a damaged sample");
	if (values != reader->tables.type_count)
		return pprof_damaged(&reader->tables, message.at,
			"a sample that has not one value for each type");
	return 0;
}

/* First pass: are there values above 0, and are all multiples of the period? */
static int check_values(struct pprof_reader *reader, struct protobuf message)
{
	int error = read_sample(reader, message);

	for (unsigned time = 0; !error && time < TIMES; time++) {
		if (reader->values[time] <= 0)
			continue;
		reader->has_weight = true;
		if (reader->is_whole && (uint64_t)reader->values[time] % reader->tables.period)
			reader->is_whole = false;
	}
	return error;
}

static uint32_t leaf_node(struct pprof_reader *reader, const struct leaf *leaf)
{
	return leaf->frame == PPROF_UNSET
		       ? leaf->parent
		       : calltree_child(reader->to.tree, leaf->parent, leaf->frame);
}

/* Extend the stack that ends in @leaf by the frames of location @id. */
static int add_location(
	struct pprof_reader *reader, uint64_t id, const uint8_t *at, struct leaf *leaf)
{
	struct pprof_tables *tables = &reader->tables;
	struct pprof_location *location = pprof_location(tables, id);
	int error = 0;

	if (!location)
		return pprof_damaged(tables, at, "a sample at a location that is not there");
	if (location->first_frame == PPROF_UNSET)
		error = pprof_name(tables, location, reader->to.tree);
	for (uint32_t line = location->frame_count; !error && line-- > 0;) {
		leaf->parent = leaf_node(reader, leaf);
		leaf->frame =
			((const uint32_t *)tables->frames.items)[location->first_frame + line];
	}
	return error;
}

/* Find the end of the current stack. Reuse the outer frames shared with the previous stack. */
static int find_leaf(struct pprof_reader *reader, const uint8_t *at, struct leaf *leaf)
{
	const struct stack here = reader->current, before = reader->before;
	uint32_t done = 0;
	int error = 0;

	while (done < here.depth && done < before.depth &&
		here.ids[here.depth - 1 - done] == before.ids[before.depth - 1 - done])
		done++;
	*leaf = done ? reader->leaves[done - 1] : (struct leaf){reader->to.root, PPROF_UNSET};
	for (; !error && done < here.depth; done++) {
		error = add_location(reader, here.ids[here.depth - 1 - done], at, leaf);
		reader->leaves[done] = *leaf;
	}
	reader->current = before;
	reader->before = here;
	return error;
}

/* Returns the node of a stack that waits. A synthetic leaf frame names the cause of the wait. */
static uint32_t wait_node(struct pprof_reader *reader, const struct leaf *leaf, const char *kind)
{
	struct calltree *tree = reader->to.tree;
	const struct calltree_frame *frame = NULL;

	if (leaf->frame != PPROF_UNSET && !calltree_error(tree))
		frame = calltree_frame_at(tree, leaf->frame);
	if (frame && frame->kind == CALLTREE_SYNTHETIC)
		return calltree_child(
			tree, leaf->parent, calltree_frame(tree, frame->name, kind, CALLTREE_WAIT));
	return calltree_child(tree, leaf_node(reader, leaf),
		calltree_frame(tree, "[waiting]", kind, CALLTREE_WAIT));
}

static int is_one_of(const char *key, const char *const *names)
{
	while (*names && strcmp(key, *names))
		names++;
	return *names != NULL;
}

/* Read a label into @identity. Each label has several names, as profilers use different ones. */
static int read_label(
	const struct pprof_tables *tables, struct protobuf label, struct identity *identity)
{
	static const char *const names[] = {PPROF_THREAD, "thread_name", "thread name", NULL};
	static const char *const ids[] = {PPROF_THREAD_ID, "thread id", "tid", NULL};
	uint64_t numbers[LABEL_NUMBER + 1] = {0};
	struct protobuf_field field;
	const char *key, *text;
	int more;

	while ((more = protobuf_next(&label, &field)) > 0)
		if (field.number <= LABEL_NUMBER)
			numbers[field.number] = field.value;
	if (more)
		return pprof_damaged(tables, label.at, "a damaged label");
	key = pprof_text(tables, numbers[LABEL_KEY]);
	text = pprof_text(tables, numbers[LABEL_STRING]);
	if (!strcmp(key, PPROF_PROCESS)) {
		identity->process = text;
	} else if (!strcmp(key, PPROF_WAIT_KIND)) {
		identity->wait = text;
	} else if (is_one_of(key, names) && *text) {
		identity->name = text;
	} else if (is_one_of(key, ids) && *text) {
		identity->id = text;
		identity->number = 0;
	} else if (is_one_of(key, ids) && numbers[LABEL_NUMBER]) {
		identity->number = (int64_t)numbers[LABEL_NUMBER];
		identity->id = "";
	}
	return 0;
}

/* Read all labels of @sample. Returns 0, or -EBADMSG with the message filled. */
static int read_labels(
	const struct pprof_tables *tables, struct protobuf sample, struct identity *identity)
{
	struct protobuf_field field;
	int error = 0;

	*identity = (struct identity){"", "", "", "", 0};
	/* read_sample() has checked that the sample's fields are well-formed. */
	while (!error && protobuf_next(&sample, &field) > 0)
		if (field.number == SAMPLE_LABEL && field.type == PROTOBUF_BYTES)
			error = read_label(tables, field.bytes, identity);
	return error;
}

/*
 * Find the thread of @identity in the tree, or add it. Returns 0 with its number (PPROF_UNSET if no
 * label names a thread) in *@thread, or -errno with the message filled.
 */
static int find_thread(
	struct pprof_reader *reader, const struct identity *identity, uint32_t *thread)
{
	const struct pprof_tables *tables = &reader->tables;
	char text[2 * LABEL_BYTES + 16], number[24];
	const char *id = identity->id;
	uint32_t known = reader->to.threads->count;
	int error;

	if (identity->number) {
		snprintf(number, sizeof(number), "%" PRId64, identity->number);
		id = number;
	}
	*thread = PPROF_UNSET;
	if (!*identity->name && !*id)
		return 0;
	if (!*id)
		snprintf(text, sizeof(text), "%.*s", LABEL_BYTES, identity->name);
	else
		snprintf(text, sizeof(text), "%.*s (%.*s)", LABEL_BYTES,
			*identity->name ? identity->name : "thread", LABEL_BYTES, id);
	/* After exec(), a thread has another process name and counts as another thread. */
	error = texts_add(
		reader->to.threads, text, identity->process, strlen(identity->process), thread);
	if (error)
		return diag_fail(tables->message, error, "cannot read '%s': %s", tables->name,
			error == -ENOSPC ? "too many threads" : strerror(-error));
	if (*thread == known)
		calltree_thread(reader->to.tree, *thread, text, identity->process);
	return 0;
}

/* Compare addresses, which is fast; find_thread() also finds equal texts at other addresses. */
static bool is_same_thread(const struct identity *a, const struct identity *b)
{
	return a->name == b->name && a->id == b->id && a->process == b->process &&
	       a->number == b->number;
}

/* Add the current sample's weight in one kind of time. */
static void add_time(struct pprof_reader *reader, const struct leaf *leaf, uint32_t thread,
	unsigned time, const char *wait)
{
	uint64_t weight = (uint64_t)reader->values[time] / reader->divisor;
	uint32_t node = time == CPU ? leaf_node(reader, leaf)
				    : wait_node(reader, leaf, time == READY ? "cpu" : wait);

	calltree_add(reader->to.tree, node,
		weight > UINT64_MAX / reader->to.factor ? UINT64_MAX : weight * reader->to.factor);
	*(time == CPU ? &reader->weight : &reader->waits) += weight;
	if (thread != PPROF_UNSET)
		calltree_sample_weight(reader->to.tree,
			&(struct calltree_sample){.node = node,
				.thread = thread,
				.kind = time == CPU ? CALLTREE_ON_CPU : CALLTREE_WAITING},
			weight);
}

static int add_sample(struct pprof_reader *reader, struct protobuf message)
{
	struct identity identity;
	struct leaf leaf;
	bool is_nothing = true;
	int error = read_sample(reader, message);

	if (error)
		return error;
	for (unsigned time = 0; time < TIMES; time++) {
		reader->negative += reader->values[time] < 0;
		is_nothing &= reader->values[time] <= 0;
	}
	if (is_nothing)
		return 0;
	error = find_leaf(reader, message.at, &leaf);
	if (!error)
		error = read_labels(&reader->tables, message, &identity);
	if (error)
		return error;
	if (!is_same_thread(&identity, &reader->last_identity))
		error = find_thread(reader, &identity, &reader->thread);
	reader->last_identity = identity;
	for (unsigned time = 0; !error && time < TIMES; time++)
		if (reader->values[time] > 0)
			add_time(reader, &leaf, reader->thread, time, identity.wait);
	return error;
}

static int for_each_sample(struct pprof_reader *reader,
	int (*visit)(struct pprof_reader *reader, struct protobuf message))
{
	struct protobuf in = reader->tables.whole;
	struct protobuf_field field;
	int error = 0;

	while (!error && protobuf_next(&in, &field) > 0) {
		if (field.number == PROFILE_SAMPLE)
			error = visit(reader, field.bytes);
		if (!error && calltree_error(reader->to.tree))
			error = diag_fail(reader->tables.message, calltree_error(reader->to.tree),
				"cannot %s '%s': %s", reader->tables.request->sum ? "add" : "read",
				reader->tables.name, strerror(-calltree_error(reader->to.tree)));
	}
	return error;
}

/* ---- types and units ------------------------------------------------------------------------- */

/* Does @wanted, "cpu" or "cpu/nanoseconds", name this type? */
static bool is_called(
	const struct pprof_tables *tables, const struct pprof_type *type, const char *wanted)
{
	const char *name = pprof_text(tables, type->type);
	size_t bytes = strlen(name);

	return !strncmp(wanted, name, bytes) &&
	       (!wanted[bytes] ||
		       (wanted[bytes] == '/' &&
			       !strcmp(wanted + bytes + 1, pprof_text(tables, type->unit))));
}

static int refuse_type(const struct pprof_tables *tables, const char *wanted)
{
	char names[400] = "";
	size_t at = 0;

	for (uint32_t i = 0; i < tables->type_count && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%.*s", i ? ", " : "",
			TYPE_BYTES, pprof_text(tables, tables->types[i].type));
	diag_fail(tables->message, -EINVAL, "'%s' has no sample type '%s'", tables->name, wanted);
	diag_fail_hint(tables->message, "it has %s", names);
	return -EINVAL;
}

/* If stacks have times of two kinds, write the name of the kind that is not read. */
static void find_other(const struct pprof_reader *reader, char out[8])
{
	const struct pprof_tables *tables = &reader->tables;
	const char *const clocks[] = {"cpu/nanoseconds", "wall/nanoseconds"};

	for (uint32_t type = 1; type < tables->type_count; type++) {
		const struct pprof_type *pair = &tables->types[type - 1];

		if (!is_called(tables, &pair[1], PPROF_MACHINE_TIME "/nanoseconds"))
			continue;
		for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
			if (is_called(tables, pair, clocks[i]) && reader->types[CPU] + 1 >= type &&
				reader->types[CPU] <= type)
				snprintf(out, 8, "%s",
					reader->types[CPU] == type ? pprof_text(tables, pair->type)
								   : PPROF_MACHINE_TIME);
	}
}

/* Returns the first type called @name, or PPROF_UNSET. */
static uint32_t find_type(const struct pprof_tables *tables, const char *name)
{
	for (uint32_t i = 0; i < tables->type_count; i++)
		if (is_called(tables, &tables->types[i], name))
			return i;
	return PPROF_UNSET;
}

/* If CPU or waiting time is requested, and the profile has all three kinds of time, read all. */
static void choose_times(struct pprof_reader *reader)
{
	const struct pprof_tables *tables = &reader->tables;
	uint32_t cpu = find_type(tables, "cpu/nanoseconds");
	uint32_t waiting = find_type(tables, PPROF_WAITING_TIME "/nanoseconds");
	uint32_t ready = find_type(tables, PPROF_READY_TIME "/nanoseconds");

	if (cpu == PPROF_UNSET || waiting == PPROF_UNSET || ready == PPROF_UNSET ||
		(reader->types[CPU] != cpu && reader->types[CPU] != waiting))
		return;
	reader->types[CPU] = cpu;
	reader->types[WAITING] = waiting;
	reader->types[READY] = ready;
}

static int choose_type(struct pprof_reader *reader, const char *wanted)
{
	const struct pprof_tables *tables = &reader->tables;
	const char *text = wanted ? wanted : pprof_text(tables, tables->default_type);
	uint32_t type = *text || wanted ? find_type(tables, text) : PPROF_UNSET;

	/* Refuse only a type that the user asked for; a wrong default is the profile's mistake. */
	if (wanted && type == PPROF_UNSET)
		return refuse_type(tables, wanted);
	reader->types[CPU] = type == PPROF_UNSET ? tables->type_count - 1 : type;
	choose_times(reader);
	return 0;
}

static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"nanoseconds", 1}, {"ns", 1}, {"microseconds", 1000}, {"us", 1000},
		{"milliseconds", 1000000}, {"ms", 1000000}, {"seconds", 1000000000},
		{"s", 1000000000}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* Returns the period in nanoseconds, 0 if it is not a time. */
static uint64_t period_ns_of(const struct pprof_tables *tables)
{
	uint64_t unit = unit_ns(pprof_text(tables, tables->period_type.unit));

	return unit && (int64_t)tables->period > 0 && tables->period < INT64_MAX / unit
		       ? tables->period * unit
		       : 0;
}

/* List the types that are not read. Counts of samples belong to the times. */
static void list_unread(const struct pprof_reader *reader, struct input_facts *facts)
{
	const struct pprof_tables *tables = &reader->tables;

	for (uint32_t i = 0; i < tables->type_count && facts->unread_count < INPUT_TYPES_MAX; i++) {
		const struct pprof_type *type = &tables->types[i];
		struct input_type *unread = &facts->unread[facts->unread_count];

		if (i == reader->types[CPU] || i == reader->types[WAITING] ||
			i == reader->types[READY] || is_called(tables, type, "samples/count") ||
			is_called(tables, type, facts->other_name))
			continue;
		snprintf(unread->name, sizeof(unread->name), "%.*s", TYPE_BYTES,
			pprof_text(tables, type->type));
		snprintf(unread->unit, sizeof(unread->unit), "%.*s", TYPE_BYTES,
			pprof_text(tables, type->unit));
		facts->unread_count++;
	}
}

/*
 * Choose the unit of weight. Times that are multiples of the period are converted to numbers of
 * periods. If the values are counts of samples, one sample is worth one period.
 */
static int choose_unit(struct pprof_reader *reader, struct input_facts *facts)
{
	const struct pprof_tables *tables = &reader->tables;
	const struct pprof_type *type = &tables->types[reader->types[CPU]];
	const char *unit = pprof_text(tables, type->unit), *name = pprof_text(tables, type->type);
	uint64_t period_ns = period_ns_of(tables);
	int error;

	reader->divisor = 1;
	facts->period_ns = unit_ns(unit);
	snprintf(facts->count_name, sizeof(facts->count_name), "%.*s", TYPE_BYTES,
		!strcmp(unit, "count") ? name : unit);
	if (!strcmp(unit, "count") && !strcmp(name, "samples")) {
		facts->period_ns = period_ns;
		type += period_ns && reader->types[CPU] + 1 < tables->type_count; /* their times */
	}
	snprintf(facts->type_name, sizeof(facts->type_name), "%.*s", TYPE_BYTES,
		pprof_text(tables, type->type));
	find_other(reader, facts->other_name);
	list_unread(reader, facts);
	reader->is_whole = unit_ns(unit) && period_ns &&
			   !strcmp(unit, pprof_text(tables, tables->period_type.unit));
	error = for_each_sample(reader, check_values);
	if (error || !reader->is_whole)
		return error;
	reader->divisor = tables->period;
	facts->period_ns = period_ns;
	strcpy(facts->count_name, "samples");
	return 0;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Make a title from the program's name: by convention, the first mapping is the program. */
static void make_title(
	struct input_facts *facts, const struct pprof_tables *tables, const char *type)
{
	const char *file =
		tables->mappings.count
			? base_name(pprof_text(tables, pprof_mapping_at(tables, 0)->file))
			: "";

	if (*file)
		snprintf(
			facts->title, sizeof(facts->title), "%.150s: %.*s", file, TYPE_BYTES, type);
}

static double seconds_of(const struct input_facts *facts, uint64_t weight)
{
	return (double)weight * (double)facts->period_ns / NS_PER_S;
}

/* Example: "12 samples of cpu, 0.12 s, and 1.80 s of waiting in 2.00 s" */
static void write_subtitle(
	struct input_facts *facts, const char *type, uint64_t weight, uint64_t waits)
{
	char *out = facts->subtitle;
	size_t room = sizeof(facts->subtitle);
	size_t at = (size_t)snprintf(out, room, "%s%s%" PRIu64 " %s", facts->filters,
		facts->filters[0] ? " of " : "", weight, facts->count_name);

	if (strncmp(type, facts->count_name, TYPE_BYTES))
		at += (size_t)snprintf(out + at, room - at, " of %.*s", TYPE_BYTES, type);
	if (facts->period_ns > 1)
		at += (size_t)snprintf(out + at, room - at, ", %.2f s", seconds_of(facts, weight));
	if (waits)
		at += (size_t)snprintf(
			out + at, room - at, ", and %.2f s of waiting", seconds_of(facts, waits));
	if (facts->duration_ns)
		at += (size_t)snprintf(
			out + at, room - at, " in %.2f s", (double)facts->duration_ns / NS_PER_S);
	if (facts->other_name[0])
		snprintf(out + at, room - at, "; others with --sample-type %s", facts->other_name);
}

/* Example: "started 2001-09-09 01:46:40, 12 dropped" */
static void write_notes(struct input_facts *facts, uint64_t dropped)
{
	char *out = facts->notes;
	size_t room = sizeof(facts->notes), at = 0;
	time_t created_s = (time_t)facts->created_s;
	struct tm local;

	if (facts->created_s > 0 && localtime_r(&created_s, &local))
		at = strftime(out, room, "started %Y-%m-%d %H:%M:%S", &local);
	if (dropped)
		snprintf(out + at, room - at, "%s%" PRIu64 " dropped", at ? ", " : "", dropped);
}

/* Parse "12.345 678 text": milliseconds, thread, text. */
static bool parse_mark(const char *text, struct picture_mark *mark)
{
	unsigned long long ms;
	unsigned us;
	int used = 0;

	if (sscanf(text, "%18llu.%3u %" SCNu32 "%n", &ms, &us, &mark->tid, &used) != 3 ||
		text[used] != ' ')
		return false;
	mark->time_ns = (ms * 1000 + us) * 1000;
	mark->text = text + used + 1;
	return ms < INT64_MAX / 1000000;
}

/* Returns the part of @text after @start, or NULL if @text does not begin with @start. */
static const char *text_after(const char *text, const char *start)
{
	size_t bytes = strlen(start);

	return strncmp(text, start, bytes) ? NULL : text + bytes;
}

/* Read title, filters, dropped weight (the first of each) and all marks. Returns 0 or -ENOMEM. */
static int read_comments(
	struct input_facts *facts, const struct pprof_tables *tables, uint64_t *dropped)
{
	const uint64_t *comments = tables->comments.items;

	facts->marks = calloc(tables->comments.count + 1ULL, sizeof(*facts->marks));
	if (!facts->marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < tables->comments.count; i++) {
		const char *text = pprof_text(tables, comments[i]), *found;
		struct picture_mark *mark = &facts->marks[facts->mark_count];

		if ((found = text_after(text, PPROF_COMMENT_TITLE)) && !facts->title[0])
			snprintf(facts->title, sizeof(facts->title), "%.250s", found);
		if ((found = text_after(text, PPROF_COMMENT_FILTERS)) && !facts->filters[0])
			snprintf(facts->filters, sizeof(facts->filters), "%.250s", found);
		if ((found = text_after(text, PPROF_COMMENT_DROPPED)) && !*dropped)
			*dropped = strtoull(found, NULL, 10);
		found = text_after(text, PPROF_COMMENT_MARK);
		if (!found || !parse_mark(found, mark))
			continue;
		mark->text = strdup(mark->text);
		if (!mark->text)
			return -ENOMEM;
		facts->mark_count++;
	}
	marks_sort(facts->marks, facts->mark_count);
	return 0;
}

/* Find all facts but unit and subtitle. Returns 0, or -ENOMEM with the message filled. */
static int find_facts(const struct pprof_reader *reader, struct input_facts *facts)
{
	const struct pprof_tables *tables = &reader->tables;
	const char *type = pprof_text(tables, tables->types[reader->types[CPU]].type);
	uint64_t dropped = 0;
	int error = read_comments(facts, tables, &dropped);

	if ((int64_t)tables->duration_ns > 0)
		facts->duration_ns = tables->duration_ns;
	facts->created_s = (int64_t)tables->time_ns / NS_PER_S;
	if (!facts->title[0])
		make_title(facts, tables, type);
	write_notes(facts, dropped);
	return error ? diag_fail(tables->message, error, "out of memory") : 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int make_room(struct pprof_reader *reader)
{
	reader->current.ids = malloc(PPROF_DEPTH_MAX * sizeof(*reader->current.ids));
	reader->before.ids = malloc(PPROF_DEPTH_MAX * sizeof(*reader->before.ids));
	reader->leaves = malloc(PPROF_DEPTH_MAX * sizeof(*reader->leaves));
	return reader->current.ids && reader->before.ids && reader->leaves
		       ? 0
		       : diag_fail(reader->tables.message, -ENOMEM, "out of memory");
}

/* Find the unit and the facts, and begin the sum of several files, if there is one. */
static int begin(struct pprof_reader *reader, struct input_facts *facts)
{
	const struct input_request *request = reader->tables.request;
	int error = choose_unit(reader, facts);

	if (!error)
		error = find_facts(reader, facts);
	/* An empty profile has no unit and is not added to a sum. */
	if (!error && request->sum && reader->has_weight) {
		error = request->sum->begin(request->sum, reader->tables.message);
		reader->to = *request->sum;
	}
	reader->wants_stacks = true;
	return error;
}

static void finish(const struct pprof_reader *reader, struct input_facts *facts)
{
	const struct pprof_tables *tables = &reader->tables;

	write_subtitle(facts, pprof_text(tables, tables->types[reader->types[CPU]].type),
		reader->weight, reader->waits);
	if (reader->negative)
		diag_info("'%s': %" PRIu64 " sample%s less than nothing, as in the difference of "
			  "two profiles, and left out",
			tables->name, reader->negative, reader->negative == 1 ? " is" : "s are");
	pprof_report_unnamed(tables);
}

/* Read one sample type. If @is_other is set, @facts has the facts of the type read before. */
static int read_type(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const struct input_request *request, bool is_other, struct input_facts *facts,
	struct diag_message *message)
{
	struct pprof_reader reader = {
		.tables = {.whole = {bytes, (const uint8_t *)bytes + count},
			.name = name,
			.request = request,
			.message = message},
		.types = {PPROF_UNSET, PPROF_UNSET, PPROF_UNSET},
		.divisor = facts->period_ns,
		.wants_stacks = is_other,
	};
	int error = make_room(&reader);

	reader.to = (struct input_sum){
		.tree = tree, .threads = &reader.own_threads, .root = CALLTREE_ROOT, .factor = 1};
	if (!error)
		error = pprof_tables_read(&reader.tables);
	if (!error)
		error = choose_type(&reader, request->sample_type);
	if (!error && !is_other)
		error = begin(&reader, facts);
	if (!error && request->fetches)
		pprof_fetch(&reader.tables);
	if (!error)
		error = for_each_sample(&reader, add_sample);
	if (!error && !is_other)
		finish(&reader, facts);
	pprof_tables_release(&reader.tables);
	texts_release(&reader.own_threads);
	free(reader.current.ids);
	free(reader.before.ids);
	free(reader.leaves);
	return error;
}

int pprof_read(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const struct input_request *request, struct input_facts *facts,
	struct diag_message *message)
{
	*facts = (struct input_facts){0};
	return read_type(tree, bytes, count, name, request, false, facts, message);
}

int pprof_read_type(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const char *type, const struct input_request *request, const struct input_facts *facts,
	struct diag_message *message)
{
	struct input_facts same = *facts;
	struct input_request other = *request;

	other.sample_type = type;
	/* symbols of all addresses were already fetched for the first type */
	other.fetches = false;
	other.sum = NULL;
	return read_type(tree, bytes, count, name, &other, true, &same, message);
}
