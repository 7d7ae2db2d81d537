/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * The control ring's writing side. Many writers and no lock: a writer owns the bytes it moved the
 * head over; the word at their start says when they are complete. Head and tail are what others wrote
 * last: a place is made of them that lies in the ring and is aligned, whatever they say.
 */
#include "libprof/sampler/control.h"

#include <stddef.h>

/*
 * Who is in the way has reserved something, and the ring is full long before so many have; a liar
 * would keep us here for ever.
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
