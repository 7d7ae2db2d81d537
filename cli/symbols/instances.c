/* SPDX-License-Identifier: MIT */
/*
 * Entries are looked at only within functions that cover one of the addresses; those that do become
 * instances, a tree of which each address remembers the innermost. All others are passed over, by
 * one step where the compiler wrote where their children end.
 */
#include "cli/symbols/instances.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define DEPTH_MAX    512 /* entries nested deeper are passed over */
#define ADDRESS_COST 16	 /* bytes read that comparing with one is charged as */

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

/* What an entry is to us. */
enum kind {
	KIND_OTHER,	/* it and what is in it are passed over */
	KIND_CONTAINER, /* functions may be in it */
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
	bool is_thorough; /* also where functions stand in others that have none of the addresses */
	int error;
};

/* An entry whose code is compared with the addresses. */
struct match {
	struct walk *walk;
	const struct dwarf_die *die;
	enum kind kind;
	uint32_t outer;	   /* number of the instance it is in */
	uint32_t instance; /* of its own; INSTANCE_NONE: it has none of the addresses until now */
	bool is_hit;
};

/* Make the instance of the entry. Returns false without memory. */
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
	/* Instances of one function are named once. */
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

/* Of entries beside each other that cover one address, the first has it. */
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
 * Compare @die, which is in instance *@instance, with the addresses; *@instance is then what its
 * children are in. Returns whether they are to be looked at.
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
	/* A function can stand in one that lies elsewhere. */
	return match.is_hit || (walk->is_thorough && match.kind != KIND_INLINED);
}

/* Returns 0 or -ENOMEM. */
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
