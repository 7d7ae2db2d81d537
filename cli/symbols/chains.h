/* SPDX-License-Identifier: MIT */
/*
 * The inlined functions and source lines of one module's addresses, by its DWARF. Addresses are
 * added in batches, because one batch needs one pass over the DWARF, then looked up one by one. A
 * name is demangled at the first look-up of it.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_CHAINS_H
#define CLI_SYMBOLS_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/symbols.h"

struct chains;

/* Create an empty object that writes names in @style. Returns it owned, or NULL without memory. */
struct chains *chains_new(enum demangle_style style);
void chains_free(struct chains *chains); /* NULL is fine */

/*
 * Read the chains of the @count ELF virtual @addresses of @module (all borrowed) from its DWARF.
 * The addresses may be unsorted and repeated; addresses that were added before are skipped.
 * @is_hurried (NULL: never) is asked between units, by several threads; when it returns true, the
 * remaining addresses get no chain.
 * Returns 0, also if the module has no DWARF, or -ENOMEM; chains that were added before are kept.
 */
int chains_add(struct chains *chains, const struct symbols_module *module,
	const uint64_t *addresses, size_t count, bool (*is_hurried)(void));

/*
 * Return the chain of @address as in struct symbols_name, owned by @chains, and set *@count to its
 * length. The caller sets the name of the first frame, from the symbol table. Returns NULL with
 * *@count 0 if nothing is known.
 */
struct symbols_frame *chains_find(struct chains *chains, uint64_t address, uint32_t *count);

#endif
