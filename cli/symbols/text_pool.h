/* SPDX-License-Identifier: MIT */
/* A memory pool that is freed as a whole. Context: one thread. */
#ifndef CLI_SYMBOLS_TEXT_POOL_H
#define CLI_SYMBOLS_TEXT_POOL_H

#include <stddef.h>

/* A pool. Zero-initialise. */
struct text_pool {
	struct segment *segments; /* owned; newest first */
	/* number of bytes left in the newest segment */
	size_t free_bytes;
	size_t segment_bytes;
};

void text_pool_release(struct text_pool *pool);

/* Allocate @bytes bytes, owned by the pool, aligned for pointers. Returns NULL if out of memory. */
void *text_pool_memory(struct text_pool *pool, size_t bytes);

/* Return a copy of @text, owned by the pool, or NULL if out of memory. */
const char *text_pool_add(struct text_pool *pool, const char *text);

#endif
