/* SPDX-License-Identifier: MIT */
/*
 * What DWARF says of one module's addresses, as it is shown: asked for in batches, looked up one by
 * one, names demangled when they are first looked up.
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

/* Returns an owned empty object, or NULL without memory. @style is how its names are written. */
struct chains *chains_new(enum demangle_style style);
void chains_free(struct chains *chains); /* NULL is fine */

/*
 * Find the chains of the @count @addresses of @module (all borrowed), in any order and more than
 * once each, except those that were asked for before. A module without DWARF has none.
 * Returns 0 or -ENOMEM; what was there before stays.
 */
int chains_add(struct chains *chains, const struct symbols_module *module,
	const uint64_t *addresses, size_t count, bool (*is_hurried)(void));

/*
 * The chain of @address as struct symbols_name has it, but for the name of the first frame, which
 * the caller sets; NULL and *@count 0: nothing is known. Owned by @chains.
 */
struct symbols_frame *chains_find(struct chains *chains, uint64_t address, uint32_t *count);

#endif
