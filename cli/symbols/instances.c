/* SPDX-License-Identifier: MIT */
/*
 * Only functions that cover one of the addresses are read, and the entries inside them. These
 * functions and the functions inlined into them form a tree of instances; for each address, the
 * index of its innermost instance is kept. Other entries are skipped with their children, in one
 * step if they have DW_AT_sibling.
 */
#include "cli/symbols/instances.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

/* Children of entries at a greater depth are skipped. */
#define DEPTH_MAX    512
/* Comparing one address is charged to the work limit like reading this many bytes. */
#define ADDRESS_COST 16

size_t instances_first(const uint64_t *addresses, size_t count, uint64_t address)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (addresses[middle] < address)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* How to handle an entry. */
enum kind {
	KIND_OTHER,	/* skip the entry and its children */
	KIND_CONTAINER, /* children may be functions */
	KIND_BLOCK,	/* a part of a function */
	KIND_FUNCTION,
	KIND_INLINED,
};

static enum kind kind_of(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return KIND_CONTAINER;
	case DW_TAG_lexical_block:
		return KIND_BLOCK;
	case DW_TAG_subprogram:
	case DW_TAG_entry_point:
		return KIND_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return KIND_INLINED;
	default:
		return KIND_OTHER;
	}
}

/* One walk through a unit. */
struct walk {
	struct instances *instances;
	struct dwarf_reader *reader;
	const struct dwarf_unit *unit;
	/* true: also read functions that cover no address */
	bool is_thorough;
	int error;
};

/* An entry whose ranges are compared with the addresses, and the result. */
struct match {
	struct walk *walk;
	const struct dwarf_die *die;
	enum kind kind;
	uint32_t outer; /* index of the enclosing instance */
	/* index of the entry's own instance; INSTANCE_NONE: not made yet */
	uint32_t instance;
	bool is_hit;
};

/* Add an instance for the entry. Returns false if out of memory. */
static bool add_instance(struct match *match)
{
	struct walk *walk = match->walk;
	struct instances *instances = walk->instances;
	const struct dwarf_die *die = match->die;
	const struct dwarf_value *origin = dwarf_entry_origin(die);
	struct dwarf_reader *origin_by = walk->reader;
	struct instance *instance;

	walk->error = ARRAY_GROW(instances->list, instances->count, instances->room, 256);
	if (walk->error)
		return false;
	match->instance = instances->count++;
	instance = &instances->list[match->instance];
	*instance = (struct instance){.named_by = walk->reader,
		.named_at = die->offset,
		.origin = DWARF_NONE,
		.outer = INSTANCE_NONE};
	if (origin)
		instance->origin = dwarf_reference(&origin_by, walk->unit, origin);
	if (match->kind == KIND_FUNCTION)
		return true;
	instance->outer = match->outer;
	/* A copy of a function has the name of that function. */
	if (origin) {
		instance->named_at = instance->origin;
		instance->named_by = origin_by;
	}
	if (die->has & DWARF_HAS(DWARF_CALL_FILE))
		instance->call_file = die->value[DWARF_CALL_FILE].number;
	if (die->has & DWARF_HAS(DWARF_CALL_LINE))
		instance->call_line = (uint32_t)die->value[DWARF_CALL_LINE].number;
	if (die->has & DWARF_HAS(DWARF_CALL_COLUMN))
		instance->call_column = die->value[DWARF_CALL_COLUMN].number;
	return true;
}

/* Assign the addresses in the range to the entry, except those that an earlier sibling covers. */
static bool match_range(void *context, uint64_t low, uint64_t high)
{
	struct match *match = context;
	struct instances *instances = match->walk->instances;
	size_t first = instances_first(instances->addresses, instances->address_count, low);
	size_t at = first;

	for (; at < instances->address_count && instances->addresses[at] < high; at++) {
		uint32_t innermost = instances->innermost[at];

		if (match->kind == KIND_BLOCK) {
			match->is_hit = true;
			return false;
		}
		if (innermost != match->outer &&
			(match->kind == KIND_INLINED || innermost != INSTANCE_NONE))
			continue;
		if (match->instance == INSTANCE_NONE && !add_instance(match))
			return false;
		instances->innermost[at] = match->instance;
		match->is_hit = true;
	}
	if (at != first)
		cursor_charge(&match->walk->reader->entries, (at - first) * ADDRESS_COST);
	return true;
}

/*
 * Compare the ranges of @die, whose enclosing instance is *@instance, with the addresses. Sets
 * *@instance to the instance that encloses the children of @die. Returns whether the children must
 * be read.
 */
static bool match_die(struct walk *walk, const struct dwarf_die *die, uint32_t *instance)
{
	struct match match = {.walk = walk,
		.die = die,
		.kind = kind_of(die->tag),
		.outer = *instance,
		.instance = INSTANCE_NONE};

	if (match.kind == KIND_OTHER || match.kind == KIND_CONTAINER)
		return match.kind == KIND_CONTAINER;
	dwarf_die_ranges(walk->reader, walk->unit, die, match_range, &match);
	if (match.instance != INSTANCE_NONE)
		*instance = match.instance;
	/* If thorough, also read children: the code of a nested function can be elsewhere. */
	return match.is_hit || (walk->is_thorough && match.kind != KIND_INLINED);
}

/* Walk through the unit and assign instances to the addresses. Returns 0 or -ENOMEM. */
static int walk_unit(struct walk *walk)
{
	uint32_t *enclosing = walk->instances->enclosing;
	struct dwarf_die die;
	unsigned depth = 0;
	int error = dwarf_walk_begin(walk->reader, walk->unit);

	if (error)
		return error == -ENOMEM ? error : 0;
	enclosing[0] = INSTANCE_NONE;
	while (!walk->error && dwarf_walk_next(walk->reader, &die)) {
		uint32_t instance = enclosing[depth];
		bool enters;

		if (!die.tag) {
			if (!depth--)
				break;
			continue;
		}
		enters = match_die(walk, &die, &instance);
		if (!die.has_children)
			continue;
		if (enters && depth + 1 < DEPTH_MAX)
			enclosing[++depth] = instance;
		else if (!dwarf_walk_skip(walk->reader, walk->unit, &die))
			break;
	}
	return walk->error;
}

static bool has_unfound(const struct instances *instances)
{
	for (size_t i = 0; i < instances->address_count; i++)
		if (instances->innermost[i] == INSTANCE_NONE)
			return true;
	return false;
}

int instances_init(struct instances *instances, size_t addresses_max)
{
	*instances = (struct instances){
		.innermost = calloc(addresses_max + 1, sizeof(*instances->innermost)),
		.enclosing = calloc(DEPTH_MAX, sizeof(*instances->enclosing)),
	};
	return instances->innermost && instances->enclosing ? 0 : -ENOMEM;
}

void instances_release(struct instances *instances)
{
	free(instances->list);
	free(instances->innermost);
	free(instances->enclosing);
	*instances = (struct instances){0};
}

int instances_find(struct instances *instances, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, const uint64_t *addresses, size_t count)
{
	struct walk fast = {.instances = instances, .reader = reader, .unit = unit};
	struct walk thorough = fast;
	int error;

	thorough.is_thorough = true;
	instances->addresses = addresses;
	instances->address_count = count;
	instances->count = 0;
	memset(instances->innermost, 0xff, count * sizeof(*instances->innermost));
	error = walk_unit(&fast);
	return error || !has_unfound(instances) ? error : walk_unit(&thorough);
}
