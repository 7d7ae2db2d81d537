/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: a few atomic operations. */
/* What handlers and the two files on threads do alike with a thread's entry and its ring. */
#ifndef LIBPROF_SAMPLER_THREAD_H
#define LIBPROF_SAMPLER_THREAD_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"

/* Keep the entry, or know that it is kept: nobody gives its ring away meanwhile. */
static inline void thread_use(struct sampler_thread *thread)
{
	__atomic_fetch_add(&thread->users, 1, __ATOMIC_SEQ_CST);
}

static inline void thread_let_go(struct sampler_thread *thread)
{
	__atomic_fetch_sub(&thread->users, 1, __ATOMIC_RELEASE);
}

/* The number of the entry's ring. */
static inline unsigned thread_index(const struct sampler_thread *thread)
{
	return (unsigned)(thread - sampler_threads);
}

/* Note in sampler.rings whether this image holds ring @index. */
static inline void thread_mark_ring(unsigned index, int held)
{
	uint64_t bit = 1ULL << index % 64;

	if (held)
		__atomic_fetch_or(&sampler.rings[index / 64], bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&sampler.rings[index / 64], ~bit, __ATOMIC_RELEASE);
}

/*
 * Take the entry for this process, before its ring. Others can write to the arena that a ring is
 * free which we have: its entry says whose start routine runs in which thread, and who writes.
 * Returns 0 when it is taken.
 */
static inline int thread_take_entry(struct sampler_thread *thread)
{
	unsigned index = thread_index(thread);

	if (__atomic_exchange_n(&thread->is_claimed, 1, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_or(&sampler.met[index / 64], 1ULL << index % 64, __ATOMIC_RELEASE);
	return 1;
}

static inline void thread_give_entry_back(struct sampler_thread *thread)
{
	__atomic_store_n(&thread->is_claimed, 0, __ATOMIC_RELEASE);
}

#endif
