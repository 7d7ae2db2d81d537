/* SPDX-License-Identifier: MIT */
/*
 * Copying records out of a ring the handler goes on writing to.
 */
#include "libprof/aggregator/harvest.h"

#include <string.h>

#include "libprof/profile/pages.h"

/* One block: item, batch, records. */
#define HEADERS_BYTES (sizeof(struct queue_item) + sizeof(struct batch))

int harvest_begin(struct harvest *h, struct wire_drain *drain, uint32_t index, uint64_t image,
	uint64_t until_ns)
{
	*h = (struct harvest){.drain = drain, .until_ns = until_ns};
	return wire_drain_begin(drain, index, &h->look) && h->look.owner >> 2 == image;
}

/* Bytes from the reader's place to the end of what is written in its block. */
static uint32_t look_limit(const struct harvest *h)
{
	uint32_t limit = wire_drain_limit(h->drain, &h->look);
	uint32_t at = h->drain->place[h->look.index].at;

	return limit <= WIRE_BLOCK_BYTES && limit > at ? limit - at : 0;
}

int harvest_measure(struct harvest *h, size_t batch_bytes)
{
	uint64_t before = h->look.taken;
	struct wire_sample sample;
	enum wire_drain_step step = wire_drain_next(h->drain, &h->look, &sample);
	uint32_t limit;

	h->bytes = 0;
	h->samples = 0;
	h->weight = 0;
	if (step == WIRE_DRAIN_DAMAGED) {
		h->is_damaged = 1;
		h->damaged_bytes = h->look.taken - before;
	}
	if (step != WIRE_DRAIN_RECORD)
		return 0;
	h->records = wire_drain_frames(h->drain, &h->look) - sizeof(sample);
	limit = look_limit(h);
	while (wire_sample_is_whole(&sample, limit - h->bytes) && sample.time_ns <= h->until_ns &&
		h->bytes + sample.bytes <= batch_bytes) {
		h->bytes += sample.bytes;
		h->samples++;
		h->weight += sample.weight;
		if (limit - h->bytes < sizeof(sample))
			break;
		wire_copy(&sample, h->records + h->bytes, sizeof(sample));
	}
	return h->samples != 0;
}

size_t harvest_block_bytes(const struct harvest *h)
{
	return pages_round(HEADERS_BYTES + h->bytes);
}

void harvest_copy(const struct harvest *h, struct queue_item *item)
{
	const struct wire_ring *ring = wire_ring(h->drain->arena, h->look.index);
	struct batch *batch = (struct batch *)(item + 1);

	item->kind = QUEUE_BATCH;
	item->batch = batch;
	batch->tid = ring->tid;
	batch->ring = h->look.index;
	batch->image = h->look.owner >> 2;
	batch->bytes = h->bytes;
	memcpy(batch->comm, ring->comm, sizeof(batch->comm));
	batch->comm[sizeof(batch->comm) - 1] = '\0';
	memcpy(batch->records, h->records, h->bytes);
}

void harvest_give_back(struct harvest *h)
{
	wire_drain_skip(h->drain, &h->look, h->bytes);
}

void harvest_end(struct harvest *h)
{
	wire_drain_end(h->drain, &h->look);
}
