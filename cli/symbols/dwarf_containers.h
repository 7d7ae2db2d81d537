/* SPDX-License-Identifier: MIT */
/*
 * Find the namespaces, classes and functions that enclose a function. They qualify the name of a
 * function without a linkage name. gcc gives no linkage name to functions that are local to their
 * file: in C++ all functions in an unnamed namespace and those with a lambda among their arguments.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_DWARF_CONTAINERS_H
#define CLI_SYMBOLS_DWARF_CONTAINERS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_unit.h"

/* Cache of the enclosing namespaces, classes and functions, per unit. Zero-initialise. */
struct dwarf_containers {
	struct unit_containers *list; /* owned; one element per unit */
	size_t count, room;
	size_t total; /* number of containers in all units */
};

/* Free everything. Call this before the units that dwarf_containers_write() got are freed. */
void dwarf_containers_release(struct dwarf_containers *containers);

/*
 * Write the qualification of the entry at @offset of @unit, such as "outer::(anonymous
 * namespace)::inner::", so that it ends at @end, where the caller has put the entry's own name.
 * There is room for @bytes_max bytes before @end. Uses @reader's walk, so the caller's walk cannot
 * be continued. Returns the length written; 0 if nothing encloses the entry, the text does not fit,
 * or the unit is not C++; or -ENOMEM.
 */
int dwarf_containers_write(struct dwarf_containers *containers, struct dwarf_reader *reader,
	const struct dwarf_unit *unit, uint64_t offset, char *end, size_t bytes_max);

#endif
