/* SPDX-License-Identifier: MIT */
/*
 * A chunk of equal stubs: one mapping with pages of code and call-frame information (see chunk.c),
 * then pages of data that begin with struct chunk. Addresses and data are never unmapped, because
 * handlers read them without a lock. The code pages are freed with the arena and filled again,
 * perhaps with other code, when another arena reuses the chunk.
 *
 *	start               executable pages: chunk.c
 *	start + code_room   struct chunk, slots
 */
#ifndef LIBPROF_TRAMPOLINE_CHUNK_H
#define LIBPROF_TRAMPOLINE_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "arch/stub.h"
#include "libprof/trampoline/region.h"

struct chunk {
	struct region region;
	flameprof_function *target; /* the word that all stubs share */
	struct chunk *next_pooled;
	struct flameprof_arena *arena;
	size_t code_room;   /* bytes of the executable pages */
	/* number of slots that the data pages can hold */
	uint32_t slot_room;
	uint32_t number;    /* index in its arena */
	/* atomic: slots claimed so far; may exceed region.slots */
	uint32_t used;
	struct region_slot slot[];
};

/*
 * Make a chunk with all slots free, not yet in the set of regions.
 *
 * @slots  wanted number; rounded up to fill pages
 * @arena  owner of the stubs
 *
 * Returns 0, -ENOMEM, or -EACCES if the system refuses executable memory.
 * Context of all functions here: any thread, not a handler.
 */
int chunk_new(struct chunk **out, uint32_t slots, struct flameprof_arena *arena);

/* Free the code; keep addresses and data for another arena. The region must be removed before. */
void chunk_free(struct chunk *chunk);

/* Hold this file's lock across every fork(): see region_watch_forks(). */
void chunk_watch_forks(void);

#endif
