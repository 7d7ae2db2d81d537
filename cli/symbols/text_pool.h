/* SPDX-License-Identifier: MIT */
/*
 * A memory pool that is freed as a whole. Equal strings are stored only once, because many
 * addresses share names and paths.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_TEXT_POOL_H
#define CLI_SYMBOLS_TEXT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"

/* A pool. Zero-initialise. */
struct text_pool {
	struct segment *segments; /* owned; newest first */
	/* number of bytes left in the newest segment */
	size_t free_bytes;
	size_t segment_bytes;
	/* owned; each string once; the lookup stores the index in this array plus 1 */
	const char **texts;
	uint32_t text_count, text_room;
	struct lookup lookup;
	struct pages_account account;
};

void text_pool_release(struct text_pool *pool);

/* Allocate @bytes bytes, owned by the pool, aligned for pointers. Returns NULL if out of memory. */
void *text_pool_memory(struct text_pool *pool, size_t bytes);

/* Return the pool's copy of @text; equal strings have one address. NULL: out of memory. */
const char *text_pool_add(struct text_pool *pool, const char *text);

#endif
