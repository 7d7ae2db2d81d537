/* SPDX-License-Identifier: MIT */
/*
 * Find the functions of one unit that cover some addresses, and the functions inlined into them, in
 * one walk through the unit's entries.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_INSTANCES_H
#define CLI_SYMBOLS_INSTANCES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_unit.h"

#define INSTANCE_NONE UINT32_MAX

/* A function, or one inlined copy of it. */
struct instance {
	struct dwarf_reader *named_by;
	/* offset of the entry that has its name or refers to it; DWARF_NONE */
	uint64_t named_at;
	uint64_t call_file;
	uint32_t call_line;
	uint64_t call_column;
	/* index of the instance around it; INSTANCE_NONE: not inlined */
	uint32_t outer;
	/* offset of the entry that it is a copy of; DWARF_NONE */
	uint64_t origin;
	/* Set by the user of the instances: */
	const char *name; /* NULL: not yet read */
	uint64_t declared_line, declared_column;
};

struct instances {
	struct instance *list; /* owned */
	uint32_t count, room;
	const uint64_t *addresses; /* borrowed; sorted */
	size_t address_count;
	/* owned; by address: index of the innermost instance; INSTANCE_NONE */
	uint32_t *innermost;
	uint32_t *enclosing; /* owned; by depth of the entry */
};

/* Allocate for @addresses_max addresses. Returns 0 or -ENOMEM; instances_release() in any case. */
int instances_init(struct instances *instances, size_t addresses_max);
void instances_release(struct instances *instances);

/*
 * Find the instances in @unit that cover the @count sorted @addresses (borrowed until the next
 * call). Earlier results are dropped. In a broken unit, reading ends at the error.
 * Returns 0 or -ENOMEM.
 */
int instances_find(struct instances *instances, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, const uint64_t *addresses, size_t count);

/* Return the index of the first of @count sorted @addresses >= @address; @count if none. */
size_t instances_first(const uint64_t *addresses, size_t count, uint64_t address);

#endif
