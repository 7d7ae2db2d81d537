/* SPDX-License-Identifier: MIT */
/*
 * Look up inlined functions and source lines for the addresses of one module, by its DWARF.
 * Addresses are added in batches, because each batch needs a pass over the DWARF, then looked up
 * one by one. A name is demangled when it is first looked up.
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

/* Returns an owned, empty object that writes names in @style, or NULL if out of memory. */
struct chains *chains_new(enum demangle_style style);
void chains_free(struct chains *chains); /* NULL is fine */

/*
 * Read the chains of the @count ELF virtual @addresses of @module (all borrowed) from its DWARF.
 * The addresses may be unsorted and repeated; addresses that were added before are skipped.
 * @is_hurried (NULL: never) is called between units, by several threads; when it returns true, the
 * remaining addresses get no chain. Returns 0, also if the module has no DWARF, or -ENOMEM; chains
 * that were added before are kept.
 */
int chains_add(struct chains *chains, const struct symbols_module *module,
	const uint64_t *addresses, size_t count, bool (*is_hurried)(void));

/*
 * Return the chain of @address (struct symbols_name describes it), owned by @chains, and set
 * *@count to its length. The caller replaces the name of the first frame by that of the symbol
 * table. If nothing is known, return NULL and set *@count to 0.
 */
struct symbols_frame *chains_find(struct chains *chains, uint64_t address, uint32_t *count);

#endif
