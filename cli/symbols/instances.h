/* SPDX-License-Identifier: MIT */
/*
 * The functions of one unit that cover some addresses, and those that are inlined in them: one walk
 * through the unit's entries for all addresses.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_INSTANCES_H
#define CLI_SYMBOLS_INSTANCES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_unit.h"

#define INSTANCE_NONE UINT32_MAX

/* A function, or one instance of it that is inlined. */
struct instance {
	struct dwarf_reader *named_by;
	uint64_t named_at; /* entry that has its name or leads to it; DWARF_NONE */
	uint64_t call_file;
	uint32_t call_line;
	uint64_t call_column;
	uint32_t outer;	  /* number of the instance that it is inlined into; INSTANCE_NONE: it is a
			     function */
	uint64_t origin; /* entry of the function that it is an instance of, in the unit's file
			  * unless named_by is of another; DWARF_NONE */
	/* The user's: */
	const char *name; /* NULL: not asked for */
	uint64_t declared_line, declared_column;
};

struct instances {
	struct instance *list; /* owned */
	uint32_t count, room;
	const uint64_t *addresses; /* borrowed; sorted */
	size_t address_count;
	uint32_t *innermost; /* owned; number of the instance by address; INSTANCE_NONE */
	uint32_t *enclosing; /* owned; by depth of the entry */
};

/* For up to @addresses_max addresses. Returns 0 or -ENOMEM; instances_release() in any case. */
int instances_init(struct instances *instances, size_t addresses_max);
void instances_release(struct instances *instances);

/*
 * Find the instances of the @count sorted @addresses in @unit, instead of what was there. Where the
 * unit is broken, what stands before that is found.
 * Returns 0 or -ENOMEM.
 */
int instances_find(struct instances *instances, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, const uint64_t *addresses, size_t count);

/* The number of the first of @count sorted @addresses that is at least @address. */
size_t instances_first(const uint64_t *addresses, size_t count, uint64_t address);

#endif
