/* SPDX-License-Identifier: MIT */
/*
 * One ring's records into batches: measured first, then copied whole or dropped whole, then given
 * back to the ring. What is read from the ring is checked; the copy is checked again by its
 * user.
 *
 * Context: the one reader of the ring; the queue's lock sees to that.
 */
#ifndef LIBPROF_AGGREGATOR_HARVEST_H
#define LIBPROF_AGGREGATOR_HARVEST_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/aggregator/queue.h"

struct harvest {
	struct wire_drain *drain;
	struct wire_drain_look look;
	uint64_t until_ns;
	/* The piece measured last: records that lie one behind the other in a block. */
	const char *records;
	uint32_t bytes;
	uint64_t samples, weight;
	int is_damaged;		/* a record made no sense: */
	uint64_t damaged_bytes; /* given up */
};

/*
 * Begin with ring number @index, which holds what it holds now. Returns 0 when it is not one of
 * @image's.
 */
int harvest_begin(struct harvest *h, struct wire_drain *drain, uint32_t index, uint64_t image,
	uint64_t until_ns);

/*
 * Measure the next piece: as many records as fit into @batch_bytes and are not later than the
 * boundary. Returns 0 when there is none; what follows a damaged record has been given up then.
 */
int harvest_measure(struct harvest *h, size_t batch_bytes);

/* What a new block for this piece takes, headers included. */
size_t harvest_block_bytes(const struct harvest *h);

/* Make the piece a batch in @item, a block of at least harvest_block_bytes(). */
void harvest_copy(const struct harvest *h, struct queue_item *item);

/* The piece is done with. */
void harvest_give_back(struct harvest *h);

/* The ring may use again what was given back. */
void harvest_end(struct harvest *h);

#endif
