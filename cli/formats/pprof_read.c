/* SPDX-License-Identifier: MIT */
/*
 * Second pass over a profile: its samples become stacks of the tree. They are read twice, because
 * only all values together tell whether they are whole periods, which is what "samples" are.
 */
#include "cli/formats/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/pprof_tables.h"
#include "cli/formats/pprof_threads.h"
#include "libprof/pprof/fields.h"

#define TYPE_BYTES 64

struct reading {
	struct pprof_tables tables;
	struct pprof_pool threads;
	struct calltree *tree;
	uint32_t type;	      /* index of the sample type taken */
	uint32_t vm_type;     /* of that added to it: each stack has one of both; or type_count */
	uint64_t divisor;     /* units of the type in one unit of weight */
	bool is_whole;	      /* all values are multiples of the period */
	uint64_t weight;      /* of all samples */
	uint64_t negative;    /* samples left out */
	uint64_t *ids;	      /* of the locations of the sample at hand, innermost first */
	uint32_t depth;
	int64_t value; /* of the sample at hand */
};

/* What virtual machines told comes behind what the clock counted, if the profile has it. */
static void take_value(struct reading *reading, uint32_t type, uint64_t value)
{
	if (type == reading->type || (type == reading->vm_type && !reading->value))
		reading->value = (int64_t)value;
}

/* Read the stack and the value of one Sample. */
static int read_sample(struct reading *reading, struct protobuf message)
{
	struct protobuf in = message;
	struct protobuf_field field;
	uint64_t number;
	uint32_t values = 0;
	int more, inner = 0;

	reading->depth = 0;
	while ((more = protobuf_next(&in, &field)) > 0) {
		while (field.number == SAMPLE_VALUE &&
			(inner = protobuf_number(&field, &number)) > 0)
			take_value(reading, values++, number);
		while (field.number == SAMPLE_LOCATION &&
			(inner = protobuf_number(&field, &number)) > 0) {
			if (reading->depth == PPROF_DEPTH_MAX)
				return pprof_damaged(&reading->tables, message.at,
					"a stack that is too deep");
			reading->ids[reading->depth++] = number;
		}
		if (inner < 0)
			break;
	}
	if (more || inner)
		return pprof_damaged(&reading->tables, in.at, "a damaged sample");
	if (values != reading->tables.type_count)
		return pprof_damaged(&reading->tables, message.at,
			"a sample that has not one value for each type");
	return 0;
}

/* First reading of a sample: are the values whole periods? */
static int look(struct reading *reading, struct protobuf message)
{
	int error = read_sample(reading, message);

	if (!error && reading->value > 0 && (uint64_t)reading->value % reading->tables.period)
		reading->is_whole = false;
	return error;
}

/* The tree's node of the stack at hand. */
static int place(struct reading *reading, const uint8_t *at, uint32_t *node)
{
	struct pprof_tables *tables = &reading->tables;

	*node = CALLTREE_ROOT;
	for (uint32_t i = reading->depth; i-- > 0;) {
		struct pprof_location *location = pprof_location(tables, reading->ids[i]);
		int error = 0;

		if (!location)
			return pprof_damaged(
				tables, at, "a sample at a location that is not there");
		if (location->first_frame == PPROF_UNSET)
			error = pprof_name(tables, location, reading->tree);
		if (error)
			return error;
		for (uint32_t line = location->frame_count; line-- > 0;)
			*node = calltree_child(reading->tree, *node,
				tables->frames[location->first_frame + line]);
	}
	return 0;
}

/* Say whose @weight is; a sample of the tree holds 32 bits of it. */
static void attribute(struct reading *reading, uint32_t node, uint32_t thread, uint64_t weight)
{
	while (weight && !calltree_error(reading->tree)) {
		uint32_t part = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;

		calltree_sample(reading->tree, &(struct calltree_sample){
			.node = node, .weight = part, .thread = thread});
		weight -= part;
	}
}

static int add(struct reading *reading, struct protobuf message)
{
	uint32_t node, thread;
	uint64_t weight;
	int error = read_sample(reading, message);

	if (error)
		return error;
	if (reading->value <= 0) {
		reading->negative += reading->value < 0;
		return 0;
	}
	weight = (uint64_t)reading->value / reading->divisor;
	error = place(reading, message.at, &node);
	if (!error)
		error = pprof_threads_find(
			&reading->threads, &reading->tables, message, reading->tree, &thread);
	if (error)
		return error;
	calltree_add(reading->tree, node, weight);
	reading->weight += weight;
	if (thread != PPROF_UNSET)
		attribute(reading, node, thread, weight);
	return 0;
}

static int each_sample(
	struct reading *reading, int (*take)(struct reading *reading, struct protobuf message))
{
	struct protobuf in = reading->tables.whole;
	struct protobuf_field field;
	int error = 0;

	while (!error && protobuf_next(&in, &field) > 0) {
		if (field.number == PROFILE_SAMPLE)
			error = take(reading, field.bytes);
		if (!error && calltree_error(reading->tree))
			error = diag_fail(reading->tables.message, calltree_error(reading->tree),
				"cannot read '%s': %s", reading->tables.name,
				strerror(-calltree_error(reading->tree)));
	}
	return error;
}

/* "cpu" or "cpu/nanoseconds". */
static bool is_called(const struct pprof_tables *tables, const struct pprof_type *type,
	const char *wanted)
{
	char name[TYPE_BYTES], unit[TYPE_BYTES];
	size_t bytes;

	pprof_text(tables, type->type, name, sizeof(name));
	pprof_text(tables, type->unit, unit, sizeof(unit));
	bytes = strlen(name);
	return !strncmp(wanted, name, bytes) &&
	       (!wanted[bytes] || (wanted[bytes] == '/' && !strcmp(wanted + bytes + 1, unit)));
}

static int refuse_type(const struct pprof_tables *tables, const char *wanted)
{
	char names[400] = "", name[TYPE_BYTES];
	size_t at = 0;

	for (uint32_t i = 0; i < tables->type_count && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
			pprof_text(tables, tables->types[i].type, name, sizeof(name)));
	diag_fail(tables->message, -EINVAL, "'%s' has no sample type '%s'", tables->name, wanted);
	diag_fail_hint(tables->message, "it has %s", names);
	return -EINVAL;
}

/*
 * A profile of libflameprof's or flamerun's may have "cpu" (or "wall") and "vm". Without a wish all
 * that it has is shown.
 */
static uint32_t find_vm_type(const struct reading *reading)
{
	const struct pprof_tables *tables = &reading->tables;
	char text[PPROF_NAME_BYTES];

	for (uint32_t i = 0; i < tables->mapping_count; i++) {
		pprof_text(tables, tables->mappings[i].file, text, sizeof(text));
		if (strcmp(text, PPROF_MACHINE_FILE))
			continue;
		for (uint32_t type = reading->type + 1; type < tables->type_count; type++)
			if (is_called(tables, &tables->types[type],
				    PPROF_MACHINE_TIME "/nanoseconds"))
				return type;
	}
	return tables->type_count;
}

static int choose_type(struct reading *reading, const char *wanted)
{
	const struct pprof_tables *tables = &reading->tables;
	char text[TYPE_BYTES];

	reading->type = tables->type_count - 1;
	pprof_text(tables, tables->default_type, text, sizeof(text));
	if (!wanted && !text[0])
		return 0;
	for (uint32_t i = 0; i < tables->type_count; i++)
		if (is_called(tables, &tables->types[i], wanted ? wanted : text)) {
			reading->type = i;
			return 0;
		}
	/* A default that is not there is not the reader's mistake. */
	return wanted ? refuse_type(tables, wanted) : 0;
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

static bool same_text(const struct pprof_tables *tables, uint64_t a, uint64_t b)
{
	char left[TYPE_BYTES], right[TYPE_BYTES];

	return !strcmp(pprof_text(tables, a, left, sizeof(left)),
		pprof_text(tables, b, right, sizeof(right)));
}

/* The period in nanoseconds, 0 when it is no time. */
static uint64_t period_ns_of(const struct pprof_tables *tables)
{
	char text[TYPE_BYTES];
	uint64_t unit = unit_ns(
		pprof_text(tables, tables->period_type.unit, text, sizeof(text)));

	return unit && (int64_t)tables->period > 0 && tables->period < INT64_MAX / unit
		? tables->period * unit
		: 0;
}

/*
 * What a unit of weight is. Times that are whole periods are counted in those, as the profiler did,
 * and so are samples of which the period tells the time.
 */
static int choose_unit(struct reading *reading, struct pprof_facts *facts)
{
	const struct pprof_tables *tables = &reading->tables;
	const struct pprof_type *type = &tables->types[reading->type];
	uint64_t period_ns = period_ns_of(tables);
	char unit[TYPE_BYTES], name[TYPE_BYTES];
	int error = 0;

	reading->divisor = 1;
	pprof_text(tables, type->unit, unit, sizeof(unit));
	pprof_text(tables, type->type, name, sizeof(name));
	facts->period_ns = unit_ns(unit);
	strcpy(facts->count_name, !strcmp(unit, "count") ? name : unit);
	if (!strcmp(unit, "count") && !strcmp(name, "samples"))
		facts->period_ns = period_ns;
	reading->is_whole = unit_ns(unit) && period_ns &&
			    same_text(tables, type->unit, tables->period_type.unit);
	if (reading->is_whole)
		error = each_sample(reading, look);
	if (error || !reading->is_whole)
		return error;
	reading->divisor = tables->period;
	facts->period_ns = period_ns;
	strcpy(facts->count_name, "samples");
	return 0;
}

int pprof_read(struct calltree *tree, const void *bytes, size_t count, const char *name,
	const char *type, struct pprof_facts *facts, struct diag_message *message)
{
	struct reading reading = {
		.tables = {.whole = {bytes, (const uint8_t *)bytes + count}, .name = name,
			.message = message},
		.tree = tree,
	};
	int error = -ENOMEM;

	*facts = (struct pprof_facts){0};
	reading.ids = malloc(PPROF_DEPTH_MAX * sizeof(*reading.ids));
	if (!reading.ids) {
		diag_fail(message, error, "out of memory");
		goto out;
	}
	error = pprof_tables_read(&reading.tables);
	if (!error)
		error = choose_type(&reading, type);
	if (!error)
		reading.vm_type =
			type ? reading.tables.type_count : find_vm_type(&reading);
	if (!error)
		error = choose_unit(&reading, facts);
	if (!error)
		error = each_sample(&reading, add);
	if (error)
		goto out;
	error = pprof_facts_fill(facts, &reading.tables, reading.type, reading.weight);
	if (reading.negative)
		diag_info("'%s': %" PRIu64 " sample%s less than nothing, as in the difference of "
			  "two profiles, and left out",
			name, reading.negative, reading.negative == 1 ? " is" : "s are");
	pprof_report_unnamed(&reading.tables);
out:
	pprof_tables_release(&reading.tables);
	pprof_pool_release(&reading.threads);
	free(reading.ids);
	return error;
}
