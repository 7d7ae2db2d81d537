/* SPDX-License-Identifier: MIT */
/*
 * A chunk of equal stubs: one mapping that has pages of code and call-frame information (see
 * chunk.c), then pages of data that begin with struct chunk. Addresses and data are never unmapped,
 * because handlers read them without a lock. The code pages are freed with the arena. When another
 * arena reuses the chunk, they are filled again, possibly with other code.
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
	flameprof_function *target; /* shared by all stubs */
	struct chunk *next_pooled;
	struct flameprof_arena *arena;
	size_t code_room;   /* bytes of the executable pages */
	/* Number of slots for which the data pages have room. */
	uint32_t slot_room;
	uint32_t number;    /* index in its arena */
	/* Atomic: number of slots claimed so far. It may exceed region.slots. */
	uint32_t used;
	struct region_slot slot[];
};

/*
 * Make a chunk in which all slots are free. It is not in the set of regions yet.
 *
 * @slots  the wanted number of slots; rounded up to fill pages
 * @arena  owner of the stubs
 *
 * Returns 0, -ENOMEM, or -EACCES if the system refuses executable memory. Context of all functions
 * here: any thread, not a handler.
 */
int chunk_new(struct chunk **out, uint32_t slots, struct flameprof_arena *arena);

/*
 * Free the code. The addresses and the data are kept for another arena. Call region_remove()
 * before.
 */
void chunk_free(struct chunk *chunk);

/* Hold this file's lock across every fork(): see region_watch_forks(). */
void chunk_watch_forks(void);

#endif
