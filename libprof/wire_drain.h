/* SPDX-License-Identifier: MIT */
/*
 * Drain sample rings: copy one record at a time, check the copy, then free its bytes. flamerun's
 * collector drains the rings of every profiled process, living or dead; the worker of a process
 * that profiles itself drains its own. Programs may overwrite the arena, so the reader keeps its
 * position in each ring in its own memory.
 *
 *	if (wire_drain_begin(drain, ring, &pass)) {
 *		while (wire_drain_next(drain, &pass, &sample) == WIRE_DRAIN_RECORD) {
 *			... sample, wire_drain_frames(drain, &pass) ...
 *			wire_drain_skip(drain, &pass, sample.bytes);
 *		}
 *		wire_drain_end(drain, &pass);
 *	}
 *
 * Context: the arena's only reader.
 */
#ifndef LIBPROF_WIRE_DRAIN_H
#define LIBPROF_WIRE_DRAIN_H

#include <stdint.h>
#include <string.h>

#include "libprof/wire.h"

/* The reader's position in a ring. */
struct wire_drain_position {
	uint32_t block; /* block + 1; 0: the ring's `first` */
	uint32_t at;
};

struct wire_drain {
	void *arena;
	/*
	 * Number of blocks in the pool. A copy, because the arena's own number can be overwritten.
	 */
	uint32_t blocks;
	struct wire_drain_position position[WIRE_RINGS];
};

/*
 * One pass over a ring, up to the ring's head at the start of the pass. Later records belong to the
 * next pass.
 */
struct wire_drain_pass {
	uint32_t index;
	uint64_t owner; /* wire_ring.owner, not free */
	uint64_t head;
	uint64_t taken; /* bytes read in this pass */
};

enum wire_drain_step {
	WIRE_DRAIN_EMPTY,
	WIRE_DRAIN_RECORD,
	/* A record is damaged; all other records of the ring were skipped. */
	WIRE_DRAIN_DAMAGED,
};

/* Returns 1 if @sample is the head of a valid record of at most @rest bytes. */
static inline int wire_sample_is_whole(const struct wire_sample *sample, uint64_t rest)
{
	return rest >= sizeof(*sample) && sample->frames <= WIRE_MAX_DEPTH &&
	       sample->bytes == sizeof(*sample) + 8u * sample->frames && sample->bytes <= rest &&
	       sample->kind < WIRE_KIND_COUNT && sample->end < WIRE_END_COUNT;
}

static inline void wire_block_free(void *arena, uint32_t block)
{
	struct wire_arena *header = (struct wire_arena *)arena;

	__atomic_store_n(&wire_block(arena, block)->owner, 0, __ATOMIC_RELEASE);
	wire_hint(&header->blocks_hint, block);
}

/* Returns 1 if @block belongs to ring @index under the ring's owner word @owner. */
static inline int wire_drain_has_block(
	const struct wire_drain *drain, uint32_t index, uint64_t owner, uint32_t block)
{
	return block < drain->blocks &&
	       __atomic_load_n(&wire_block(drain->arena, block)->owner, __ATOMIC_ACQUIRE) ==
		       WIRE_BLOCK_OWNER(owner >> 2, index);
}

/* Begin a pass over ring @index. Returns 0 if the ring is free or is just changing its owner. */
static inline int wire_drain_begin(
	const struct wire_drain *drain, uint32_t index, struct wire_drain_pass *pass)
{
	const struct wire_ring *ring = wire_ring(drain->arena, index);
	uint64_t owner = __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE);

	pass->index = index;
	pass->owner = owner;
	pass->head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	pass->taken = 0;
	return (owner & 3) && __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE) == owner;
}

/*
 * Free all blocks that ring @index has under the owner word @owner, except block @kept (UINT32_MAX:
 * free all).
 */
static inline void wire_drain_free_blocks(
	const struct wire_drain *drain, uint32_t index, uint64_t owner, uint32_t kept)
{
	const struct wire_arena *header = (const struct wire_arena *)drain->arena;
	uint32_t high = __atomic_load_n(&header->blocks_high, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < high && i < drain->blocks; i++)
		if (i != kept && wire_drain_has_block(drain, index, owner, i))
			wire_block_free(drain->arena, i);
}

/*
 * Skip everything that has been written to a damaged ring. Where records begin before the ring's
 * head is unknown, so the next pass starts at the head.
 */
static inline enum wire_drain_step wire_drain_give_up(
	struct wire_drain *drain, struct wire_drain_pass *pass)
{
	struct wire_drain_position *position = &drain->position[pass->index];
	struct wire_ring *ring = wire_ring(drain->arena, pass->index);
	uint32_t block = WIRE_HEAD_BLOCK(pass->head);

	/*
	 * Count all bytes that are written and not yet freed, including those that this pass has
	 * read.
	 */
	pass->taken = __atomic_load_n(&ring->written, __ATOMIC_RELAXED) -
		      __atomic_load_n(&ring->taken, __ATOMIC_RELAXED);
	if (WIRE_HEAD_END(pass->head) <= WIRE_BLOCK_BYTES &&
		wire_drain_has_block(drain, pass->index, pass->owner, block)) {
		*position = (struct wire_drain_position){block + 1, WIRE_HEAD_END(pass->head)};
		wire_drain_free_blocks(drain, pass->index, pass->owner, block);
		return WIRE_DRAIN_DAMAGED;
	}
	/* The head is damaged, too: empty the ring, so that its thread starts with a new block. */
	*position = (struct wire_drain_position){0, 0};
	__atomic_compare_exchange_n(
		&ring->head, &pass->head, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	wire_drain_free_blocks(drain, pass->index, pass->owner, UINT32_MAX);
	pass->head = 0;
	return WIRE_DRAIN_DAMAGED;
}

/*
 * Move to the next block of the list and free the previous one. Returns 0, or -1 if there is no
 * next block.
 */
static inline int wire_drain_move(struct wire_drain *drain, const struct wire_drain_pass *pass)
{
	struct wire_drain_position *position = &drain->position[pass->index];
	uint32_t next =
		position->block
			? __atomic_load_n(&wire_block(drain->arena, position->block - 1)->next,
				  __ATOMIC_ACQUIRE)
			: __atomic_load_n(
				  &wire_ring(drain->arena, pass->index)->first, __ATOMIC_RELAXED);

	if (!next || next == position->block ||
		!wire_drain_has_block(drain, pass->index, pass->owner, next - 1))
		return -1;
	if (position->block)
		wire_block_free(drain->arena, position->block - 1);
	*position = (struct wire_drain_position){next, 0};
	return 0;
}

/* Returns how many bytes of the reader's current block were written when this pass began. */
static inline uint32_t wire_drain_limit(
	const struct wire_drain *drain, const struct wire_drain_pass *pass)
{
	uint32_t block = drain->position[pass->index].block - 1;

	return block == WIRE_HEAD_BLOCK(pass->head)
		       ? WIRE_HEAD_END(pass->head)
		       : __atomic_load_n(&wire_block(drain->arena, block)->end, __ATOMIC_RELAXED);
}

/*
 * Copy the head of the oldest unread record into @sample and check it. Then wire_drain_frames()
 * returns the record's frames, and wire_drain_skip() moves to the next record. Frees the blocks
 * that it passes.
 */
static inline enum wire_drain_step wire_drain_next(
	struct wire_drain *drain, struct wire_drain_pass *pass, struct wire_sample *sample)
{
	struct wire_drain_position *position = &drain->position[pass->index];

	/*
	 * An overwritten list may be a cycle: stop after as many blocks and bytes as the pool can
	 * hold.
	 */
	for (uint32_t turns = 0; pass->head && turns <= drain->blocks &&
				 pass->taken <= (uint64_t)drain->blocks * WIRE_BLOCK_BYTES;
		turns++) {
		uint32_t limit = 0;

		if (position->block)
			limit = wire_drain_limit(drain, pass);
		if (limit > WIRE_BLOCK_BYTES || position->at > limit)
			break;
		if (position->at < limit) {
			wire_copy(sample,
				wire_block_data(drain->arena, position->block - 1) + position->at,
				sizeof(*sample));
			if (!wire_sample_is_whole(sample, limit - position->at))
				break;
			return WIRE_DRAIN_RECORD;
		}
		if (position->block && position->block - 1 == WIRE_HEAD_BLOCK(pass->head))
			return WIRE_DRAIN_EMPTY;
		if (wire_drain_move(drain, pass))
			break;
	}
	return pass->head ? wire_drain_give_up(drain, pass) : WIRE_DRAIN_EMPTY;
}

/*
 * Returns the frames of the record that wire_drain_next() found. They are not a copy: the frames
 * are in the arena, so a profiled program may overwrite them while they are read.
 */
static inline const char *wire_drain_frames(
	const struct wire_drain *drain, const struct wire_drain_pass *pass)
{
	const struct wire_drain_position *position = &drain->position[pass->index];

	return wire_block_data(drain->arena, position->block - 1) + position->at +
	       sizeof(struct wire_sample);
}

/* Move the reader's position behind the current record of @bytes. */
static inline void wire_drain_skip(
	struct wire_drain *drain, struct wire_drain_pass *pass, uint32_t bytes)
{
	drain->position[pass->index].at += bytes;
	pass->taken += bytes;
}

/*
 * End the pass. Add the number of bytes that were read to ring->taken, which the ring's thread
 * reads. Free also the newest block if all of it was read and no record is being written. Then free
 * the ring if its thread has ended. Returns 1 if the ring was freed.
 */
static inline int wire_drain_end(struct wire_drain *drain, const struct wire_drain_pass *pass)
{
	struct wire_arena *header = (struct wire_arena *)drain->arena;
	struct wire_drain_position *position = &drain->position[pass->index];
	struct wire_ring *ring = wire_ring(drain->arena, pass->index);
	uint64_t head = pass->head;

	if (pass->taken)
		__atomic_store_n(&ring->taken,
			__atomic_load_n(&ring->taken, __ATOMIC_RELAXED) + pass->taken,
			__ATOMIC_RELEASE);
	if (position->block && head == WIRE_HEAD(position->block - 1, position->at) &&
		__atomic_compare_exchange_n(
			&ring->head, &head, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		wire_block_free(drain->arena, position->block - 1);
		*position = (struct wire_drain_position){0, 0};
	}
	if ((pass->owner & 3) != WIRE_RING_ENDED || position->block ||
		__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_store_n(&ring->owner, WIRE_RING_FREE, __ATOMIC_RELEASE);
	wire_hint(&header->rings_hint, pass->index);
	return 1;
}

/*
 * Free ring @index and its blocks, with all unread records, because the process of @owner has
 * ended. Returns 1 if a record was being written.
 */
static inline int wire_drain_release(struct wire_drain *drain, uint32_t index, uint64_t owner)
{
	struct wire_arena *header = (struct wire_arena *)drain->arena;
	struct wire_ring *ring = wire_ring(drain->arena, index);
	uint64_t head = __atomic_exchange_n(&ring->head, 0, __ATOMIC_ACQ_REL);

	/*
	 * The ring's list may lack a block whose thread died before linking it. This call frees it,
	 * too.
	 */
	wire_drain_free_blocks(drain, index, owner, UINT32_MAX);
	drain->position[index] = (struct wire_drain_position){0, 0};
	__atomic_store_n(&ring->exit_credit, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->owner, WIRE_RING_FREE, __ATOMIC_RELEASE);
	wire_hint(&header->rings_hint, index);
	return (head & WIRE_HEAD_WRITING) != 0;
}

#endif
