/* SPDX-License-Identifier: MIT */
/*
 * What functions stand in: namespaces, classes, and functions that classes are in; for the names of
 * those that have no linkage name. gcc gives none to functions that are local to their file, in C++
 * all that are in an unnamed namespace or have a lambda among their arguments.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_DWARF_CONTAINERS_H
#define CLI_SYMBOLS_DWARF_CONTAINERS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_unit.h"

/* All zero is an empty one. */
struct dwarf_containers {
	struct unit_containers *list; /* owned; of units that were asked for */
	size_t count, room;
	size_t total; /* containers of all of them */
};

/* Forget all, and give the memory back. To be called before units that were asked for go. */
void dwarf_containers_release(struct dwarf_containers *containers);

/*
 * Write what the entry at @offset of @unit stands in before @end, as in "outer::(anonymous
 * namespace)::inner::"; what it is called itself is there. The walk that @reader is in is lost.
 * Returns how long it is, at most @bytes_max; 0 also where it does not fit, or in languages that
 * have no such names; or -ENOMEM.
 */
int dwarf_containers_write(struct dwarf_containers *containers, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, uint64_t offset, char *end, size_t bytes_max);

#endif
