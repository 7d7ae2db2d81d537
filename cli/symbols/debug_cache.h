/* SPDX-License-Identifier: MIT */
/*
 * What large files' DWARF said before, in files of the user's cache: for each build-id the chains
 * of all addresses that were ever asked for. Nobody misses it where it cannot be had.
 *
 * Context: one thread; other processes may read and write at the same time.
 */
#ifndef CLI_SYMBOLS_DEBUG_CACHE_H
#define CLI_SYMBOLS_DEBUG_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/inlines.h"

/* Smaller files than these bytes of DWARF are not worth one. */
#define DEBUG_CACHE_DWARF_BYTES (16u << 20)

/* One file's bytes, at the most. */
#define DEBUG_CACHE_FILE_BYTES (16u << 20)

/*
 * What the cache has for the build-id @id. Returns an owned object, or NULL: nothing that is sound.
 */
struct inlines *debug_cache_read(const uint8_t *id, size_t id_bytes);

/*
 * Have the cache hold the @count @lists for the build-id @id, each address of which is in one of
 * them only, instead of what it had. Too much for a file is left out, the first lists last.
 */
void debug_cache_write(
	const uint8_t *id, size_t id_bytes, const struct inlines *const *lists, size_t count);

#endif
