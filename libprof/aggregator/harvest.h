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

/* Positions are the ring's (wire.h). */
struct harvest {
	struct wire_ring *ring;
	const char *data;
	uint32_t index;
	uint64_t until_ns;
	uint64_t head;
	/* The piece measured last: records from..to; those from `wrap` on lie at the start. */
	uint64_t from, wrap, to;
	uint64_t samples, weight;
	uint64_t damaged_bytes; /* at the end, skipped */
};

/* Begin with ring number @index, which holds what it holds now. */
void harvest_begin(struct harvest *h, void *arena, uint32_t index, uint64_t until_ns);

/*
 * Measure the next piece: as many records as fit into @batch_bytes and are not later than the
 * boundary. Returns 0 when there is none; what follows a damaged record has been given back then.
 */
int harvest_measure(struct harvest *h, size_t batch_bytes);

/* What a new block for this piece takes, headers included. */
size_t harvest_block_bytes(const struct harvest *h);

/* Make the piece a batch in @item, a block of at least harvest_block_bytes(). */
void harvest_copy(const struct harvest *h, struct queue_item *item);

/* The ring may use the piece's bytes again. */
void harvest_give_back(struct harvest *h);

#endif
