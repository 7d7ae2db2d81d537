/* SPDX-License-Identifier: MIT */
/*
 * Find, in one walk through the entries of a unit, the functions that cover given addresses, and
 * the functions inlined there.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_INSTANCES_H
#define CLI_SYMBOLS_INSTANCES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_unit.h"

#define INSTANCE_NONE UINT32_MAX

/* A function, or an inlined copy of a function. */
struct instance {
	struct dwarf_reader *named_by;
	/* offset of the entry that has the name or refers to it; DWARF_NONE: no name */
	uint64_t named_at;
	uint64_t call_file;
	uint32_t call_line;
	uint64_t call_column;
	/* index of the enclosing instance; INSTANCE_NONE: not inlined */
	uint32_t outer;
	/* offset of the entry of which this is a copy; DWARF_NONE: none */
	uint64_t origin;
	/* The code that uses the instances sets these: */
	const char *name; /* NULL: not yet read */
	uint64_t declared_line, declared_column;
};

struct instances {
	struct instance *list; /* owned */
	uint32_t count, room;
	const uint64_t *addresses; /* borrowed; sorted */
	size_t address_count;
	/* owned; [address] -> index of its innermost instance, or INSTANCE_NONE */
	uint32_t *innermost;
	uint32_t *enclosing; /* owned; [depth] -> enclosing instance */
};

/* Allocate for @addresses_max addresses. Returns 0 or -ENOMEM; release @instances in any case. */
int instances_init(struct instances *instances, size_t addresses_max);
void instances_release(struct instances *instances);

/*
 * Find the instances in @unit that cover the @count sorted @addresses (borrowed until the next
 * call). Earlier results are dropped. In a broken unit, reading ends at the error.
 * Returns 0 or -ENOMEM.
 */
int instances_find(struct instances *instances, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, const uint64_t *addresses, size_t count);

/* Return the index of the first of @count sorted @addresses that is >= @address, else @count. */
size_t instances_first(const uint64_t *addresses, size_t count, uint64_t address);

#endif
