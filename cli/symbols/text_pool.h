/* SPDX-License-Identifier: MIT */
/*
 * Memory that is given back all at once, with texts in it that are kept once each: names and paths
 * that many addresses share.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_TEXT_POOL_H
#define CLI_SYMBOLS_TEXT_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"

/* All zero is an empty one. */
struct text_pool {
	struct segment *segments; /* owned; the newest first */
	size_t free_bytes;	  /* at the end of the newest */
	size_t segment_bytes;
	const char **texts; /* owned; each once, numbered from 1 in the lookup */
	uint32_t text_count, text_room;
	struct lookup lookup;
	struct pages_account account;
};

void text_pool_release(struct text_pool *pool);

/* @bytes bytes, aligned for pointers, that are the pool's. NULL without memory. */
void *text_pool_memory(struct text_pool *pool, size_t bytes);

/* The pool's copy of @text: equal texts have one address. NULL without memory. */
const char *text_pool_add(struct text_pool *pool, const char *text);

#endif
