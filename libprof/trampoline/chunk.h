/* SPDX-License-Identifier: MIT */
/*
 * A chunk of equal stubs: one mapping, pages of code and call-frame information (chunk.c), then
 * pages of data that begin with struct chunk. Its addresses and its data are kept for ever, because
 * handlers read them without asking; its code goes when its arena does, and comes back, maybe
 * another, when an arena takes the chunk again.
 *
 *	start               executable: chunk.c
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
	flameprof_function *target; /* read by the stubs */
	struct chunk *next_pooled;
	struct flameprof_arena *arena;
	size_t code_room;   /* bytes of the executable pages */
	uint32_t slot_room; /* slots there is memory for */
	uint32_t number;    /* in its arena */
	uint32_t used;	    /* atomic: slots taken for the first time; may pass region.slots */
	struct region_slot slot[];
};

/*
 * A chunk with all slots free, not yet in the set of regions.
 *
 * @slots  about as many; rounded so that pages are full
 * @arena  whose stubs they are
 *
 * Returns 0, -ENOMEM, or -EACCES where executable memory is refused.
 * Context: any thread, not a handler; as are all.
 */
int chunk_new(struct chunk **out, uint32_t slots, struct flameprof_arena *arena);

/* Take the code away and keep the rest for another arena; the region was removed before. */
void chunk_free(struct chunk *chunk);

/*
 * From now on no fork child finds our lock held by a thread that it does not have. To be called
 * before the lock is taken first, and before others watch for a lock that they hold around it.
 * Does its work once. Context: not a handler.
 */
void chunk_watch_forks(void);

#endif
