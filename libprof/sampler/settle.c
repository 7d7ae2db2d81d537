/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: sampler_thread_owed() runs on exit paths of any kind. */
/*
 * What is settled when threads end: what was due and not delivered becomes credit, and the ring
 * goes to whoever drains it.
 */
#include "libprof/sampler/sampler.h"

#include <stddef.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/record.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/thread.h"

uint64_t sampler_thread_owed(const struct sampler_thread *thread, uint64_t cpu_ns)
{
	uint64_t delivered = __atomic_load_n(&thread->delivered, __ATOMIC_RELAXED);
	uint64_t due;

	if (!thread->has_timer || sampler.is_elapsed || cpu_ns < thread->first_ns)
		return 0;
	due = 1 + (cpu_ns - thread->first_ns) / sampler.period_ns;
	return due > delivered ? due - delivered : 0;
}

/* Where a thread that was never sampled spent its time, as far as is known: below its start. */
static uint16_t start_frames(const struct sampler_thread *thread, uint64_t *frames)
{
	uintptr_t start = (uintptr_t)thread->start;
	struct unwind_module module;

	if (!start || thread->delivered || modules_find(start, &module))
		return 0;
	frames[0] = WIRE_FRAME_UNSAMPLED;
	frames[1] = WIRE_FRAME(module.number, start - module.bias);
	return 2;
}

static void write_credit(struct sampler_thread *thread, uint64_t weight)
{
	uint32_t room, bytes;
	uint16_t frames;
	struct wire_sample *sample = ring_begin(thread, record_bytes(2), &room);

	if (!sample) {
		__atomic_fetch_add(&sampler.slot->dropped, weight, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
		return;
	}
	frames = start_frames(thread, (uint64_t *)(sample + 1));
	bytes = record_bytes(frames);
	sample->frames = frames;
	sample->bytes = bytes;
	sample->thread = thread->number;
	sample->time_ns = clock_monotonic_ns();
	sample->weight = (uint32_t)weight;
	sample->kind = WIRE_KIND_CREDIT;
	sample->end = WIRE_END_ROOT;
	ring_commit(thread, bytes);
	__atomic_fetch_add(&sampler.slot->credited, weight, __ATOMIC_RELAXED);
}

/* Settle what @thread, disarmed, is owed after @cpu_ns. Nobody else writes its ring. */
static void credit(struct sampler_thread *thread, uint64_t cpu_ns)
{
	uint64_t owed = sampler_thread_owed(thread, cpu_ns);

	if (cpu_ns > thread->armed_ns)
		__atomic_fetch_add(&sampler.slot->ended_threads_ns, cpu_ns - thread->armed_ns,
			__ATOMIC_RELAXED);
	if (!owed)
		return;
	if (__atomic_load_n(&sampler.paused, __ATOMIC_RELAXED))
		__atomic_fetch_add(&sampler.slot->paused, owed, __ATOMIC_RELAXED);
	else
		write_credit(thread, owed);
}

/* What is in the ring of a thread that ended is still to be taken. */
static void retire_ring(struct sampler_thread *thread)
{
	thread->ring->exit_credit = 0;
	thread_mark_ring(thread_index(thread), 0);
	if (ring_is_empty(thread)) {
		sampler_thread_unclaim(thread);
		return;
	}
	__atomic_store_n(&thread->ring->owner, thread->image << 2 | WIRE_RING_RETIRED,
		__ATOMIC_RELEASE);
	thread_give_entry_back(thread);
}

void sampler_thread_retire(struct sampler_thread *thread)
{
	uint64_t mask = SAMPLER_SIGNAL_BIT;

	if (!__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) ||
		confined_by_unseen())
		return;
	/* In a program that samples itself the entry may be another's since a session ended. */
	if (!sampler_is_this_process() || thread->tid != (int32_t)arch_syscall0(SYS_gettid) ||
		!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE))
		return;
	/* For good: a pending signal must not find a ring given to another thread. */
	if (thread->has_timer)
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	thread_use(thread);
	if (sampler_thread_disarm(thread)) {
		credit(thread, clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID));
		sampler_read_name(thread->ring->comm);
		retire_ring(thread);
	}
	thread_let_go(thread);
}

void sampler_thread_bury(struct sampler_thread *thread, uint64_t cpu_ns)
{
	thread_use(thread);
	if (sampler_thread_disarm(thread)) {
		credit(thread, cpu_ns);
		retire_ring(thread);
	}
	thread_let_go(thread);
}

void sampler_settle_all(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = &sampler_threads[index];

		if (!thread->is_cut || __atomic_load_n(&thread->users, __ATOMIC_ACQUIRE))
			continue;
		thread->is_cut = 0;
		credit(thread, clock_cpu_ns(clock_of_thread(thread->tid)));
	}
}
