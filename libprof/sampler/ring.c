/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called by the handler. */
/*
 * A ring is a list of 64 KiB blocks out of one pool. A thread claims a block by one
 * compare-and-swap when it has a sample; only the reader frees blocks, when they are drained. So no
 * lock is needed. Values that are read from the arena, which other processes can write, are copied
 * once and checked before they are used as an index or a length.
 *
 * The pool has room for half a second of samples of 100 frames on all CPUs, in case the reader is
 * delayed. A block's owner is one word that is written by the claim. If a thread is killed between
 * claiming a block and linking it, the block is found by that word when its image ends. No record
 * crosses two blocks: a stack that does not fit into the current block is walked again into the
 * next one.
 *
 * The reader drains all rings every 50 ms. It is woken earlier if a ring has a quarter of a block
 * unread or enters another block, or if pool, rings or slots run low. It is not woken at an exit or
 * exec, which would become slower.
 */
#include "libprof/sampler/ring.h"

#include <stddef.h>

#include "libprof/sampler/sampler.h"

/* ---- sample records -------------------------------------------------------------------------- */

/* The reader is woken when a ring has this many bytes unread. */
#define WAKE_BYTES (WIRE_BLOCK_BYTES / 4)

/* Returns the number of bytes that are committed and not drained. */
static uint64_t waiting_bytes(const struct wire_ring *ring)
{
	return __atomic_load_n(&ring->written, __ATOMIC_RELAXED) -
	       __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE);
}

/*
 * Claim a block. Returns its index + 1, or 0. The lowest free block is claimed, so that its index
 * shows roughly how many blocks are in use. A ring may have at most as many blocks as remain free,
 * so that one thread with deep stacks leaves half of the pool to other threads.
 */
static uint32_t claim_block(const struct sampler_thread *thread)
{
	uint64_t own = waiting_bytes(thread->ring) / WIRE_BLOCK_BYTES;
	struct wire_arena *arena = sampler.arena;
	uint64_t owner = WIRE_BLOCK_OWNER(thread->image, thread_index(thread));
	uint32_t first = __atomic_load_n(&arena->blocks_hint, __ATOMIC_RELAXED);

	for (uint32_t n = 0; n < sampler.blocks; n++) {
		uint32_t i = (uint32_t)(((uint64_t)first + n) % sampler.blocks);
		struct wire_block *block = wire_block(arena, i);
		uint64_t nobody = 0;

		if (own > sampler.blocks - i)
			break;
		if (__atomic_load_n(&block->owner, __ATOMIC_RELAXED) ||
			!__atomic_compare_exchange_n(&block->owner, &nobody, owner, 0,
				__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		block->next = 0;
		block->end = 0;
		sampler_raise_high(&arena->blocks_high, i + 1);
		__atomic_store_n(&arena->blocks_hint, i + 1, __ATOMIC_RELAXED);
		if (i >= sampler.blocks / 4 * 3)
			sampler_wake_reader(sampler.arena);
		return i + 1;
	}
	return 0;
}

/* Returns how many bytes the thread may write before it exceeds the limit of unread bytes. */
static uint32_t allowed_bytes(const struct wire_ring *ring)
{
	uint64_t waiting = waiting_bytes(ring);

	return waiting < sampler.ring_bytes ? sampler.ring_bytes - (uint32_t)waiting : 0;
}

/*
 * Returns 1 if @head is a value that this thread can have stored. Other processes may overwrite it.
 */
static int is_sound(uint64_t head)
{
	return head && WIRE_HEAD_BLOCK(head) < sampler.blocks &&
	       WIRE_HEAD_END(head) <= WIRE_BLOCK_BYTES && WIRE_HEAD_END(head) % 8 == 0;
}

/*
 * Set WIRE_HEAD_WRITING, which keeps the reader from freeing the block. Returns the new head, or 0
 * if the thread has no block.
 */
static uint64_t claim_head(struct wire_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	if (is_sound(head) && (head & WIRE_HEAD_WRITING ||
				      __atomic_compare_exchange_n(&ring->head, &head,
					      head | WIRE_HEAD_WRITING, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED)))
		return head | WIRE_HEAD_WRITING;
	return 0;
}

/*
 * Claim another block and link it to the current one. Returns the new head, or 0 with nothing
 * changed.
 */
static uint64_t enter_block(struct sampler_thread *thread, uint64_t head)
{
	struct wire_ring *ring = thread->ring;
	uint32_t claimed = claim_block(thread);

	if (!claimed)
		return 0;
	if (head) {
		struct wire_block *full = wire_block(sampler.arena, WIRE_HEAD_BLOCK(head));

		__atomic_store_n(&full->end, WIRE_HEAD_END(head), __ATOMIC_RELAXED);
		__atomic_store_n(&full->next, claimed, __ATOMIC_RELEASE);
		sampler_wake_reader(sampler.arena);
	} else {
		__atomic_store_n(&ring->first, claimed, __ATOMIC_RELAXED);
	}
	head = WIRE_HEAD(claimed - 1, 0) | WIRE_HEAD_WRITING;
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	return head;
}

struct wire_sample *ring_begin(struct sampler_thread *thread, uint32_t least, uint32_t *room)
{
	struct wire_ring *ring = thread->ring;
	uint32_t allowed = allowed_bytes(ring), rest;
	uint64_t head;

	if (allowed < least) {
		ring_abandon(thread);
		return NULL;
	}
	head = claim_head(ring);
	if (!head || WIRE_BLOCK_BYTES - WIRE_HEAD_END(head) < least) {
		uint64_t entered = enter_block(thread, head);

		if (!entered) {
			ring_abandon(thread);
			return NULL;
		}
		head = entered;
	}
	/*
	 * The caller relies on a *@room of at least @least. `allowed` and `rest` are not smaller,
	 * even if another process has overwritten the arena meanwhile.
	 */
	rest = WIRE_BLOCK_BYTES - WIRE_HEAD_END(head);
	*room = allowed < rest ? allowed : rest;
	return (struct wire_sample *)(wire_block_data(sampler.arena, WIRE_HEAD_BLOCK(head)) +
				      WIRE_HEAD_END(head));
}

void ring_commit(struct sampler_thread *thread, uint32_t bytes)
{
	struct wire_ring *ring = thread->ring;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
	uint64_t before = waiting_bytes(ring);
	uint64_t wake_bytes = sampler_is_hosted() ? sampler.ring_bytes / 4 : WAKE_BYTES;

	__atomic_store_n(&ring->written,
		__atomic_load_n(&ring->written, __ATOMIC_RELAXED) + bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->head, (head + bytes) & ~WIRE_HEAD_WRITING, __ATOMIC_RELEASE);
	if (before <= wake_bytes && before + bytes > wake_bytes)
		sampler_wake_reader(sampler.arena);
}

void ring_abandon(struct sampler_thread *thread)
{
	struct wire_ring *ring = thread->ring;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);

	/* Only the reader may change a head in which WIRE_HEAD_WRITING is not set. */
	if (head & WIRE_HEAD_WRITING)
		__atomic_store_n(&ring->head, head & ~WIRE_HEAD_WRITING, __ATOMIC_RELEASE);
}

int ring_is_empty(const struct sampler_thread *thread)
{
	return !__atomic_load_n(&thread->ring->head, __ATOMIC_ACQUIRE);
}

/* ---- control records ------------------------------------------------------------------------- */
/*
 * Writing to a control ring, with many writers and no lock. A writer owns the bytes over which it
 * has moved control_head; `word` at their start shows when they are complete. Other processes may
 * overwrite head and tail, so the offset is computed such that it is aligned and in the ring for
 * any values.
 */

/*
 * Limit of failed attempts. Each one means that another writer has reserved bytes, and the ring
 * would be full long before this many. A process that overwrites the head could otherwise keep this
 * loop running for ever.
 */
#define TRIES_MAX 4096u

void control_commit(struct wire_control *record, uint32_t bytes, enum wire_control_type type)
{
	__atomic_store_n(&record->word, bytes << 8 | (uint32_t)type, __ATOMIC_RELEASE);
}

struct wire_control *control_reserve(struct wire_slot *slot, char *data, uint32_t bytes)
{
	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		uint64_t head = __atomic_load_n(&slot->control_head, __ATOMIC_RELAXED);
		uint64_t tail = __atomic_load_n(&slot->control_tail, __ATOMIC_ACQUIRE);
		uint32_t offset = (uint32_t)(head % WIRE_CONTROL_BYTES) & ~7u;
		uint32_t rest = WIRE_CONTROL_BYTES - offset;
		uint32_t take = bytes <= rest ? bytes : rest;
		struct wire_control *record = (struct wire_control *)(data + offset);

		if (head + take - tail > WIRE_CONTROL_BYTES)
			break;
		if (!__atomic_compare_exchange_n(&slot->control_head, &head, head + take, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&record->reserved, take, __ATOMIC_RELAXED);
		if (take == bytes)
			return record;
		control_commit(record, rest, WIRE_CONTROL_PAD);
	}
	__atomic_fetch_add(&slot->control_dropped, 1, __ATOMIC_RELAXED);
	return NULL;
}
