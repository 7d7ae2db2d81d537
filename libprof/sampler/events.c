/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: called by handlers. */
/*
 * Weights of perf events' signals. flamerun opens an event for time in user mode on each thread
 * (cli/gather/perf_events.c says why), so each signal stands for one event period of such time. The
 * event's period differs from the sampling period. If they were equal, every event could coincide
 * with a tick of the kernel, and every tick would find the thread in the delivery of a signal.
 * Remainders are carried to the next event.
 *
 * Time in the kernel is still sampled by the thread's timer. At each tick the kernel records
 * whether the thread was in the kernel, which shows in the thread's resource usage. If it was, the
 * sample has the stack that entered the kernel, and its weight is all CPU time that is due and not
 * covered by events. Time that the kernel takes to deliver the sampling signals does not count: the
 * timer's signal then finds the same registers as the event's signal before it.
 *
 * Unlike a timer, an event does not count its expiries while its signal is pending. This matters in
 * handlers of the program during which the signal is blocked; there the CPU clock shows how much
 * was due.
 */
#include "libprof/sampler/events.h"

#include <sys/resource.h>
#include <time.h>

#include "arch/registers.h"
#include "arch/syscall.h"
#include "libprof/fnv.h"
#include "libprof/sampler/clock.h"

#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD 1
#endif

#define END_TRIES    100
#define END_PAUSE_NS 1000000

/* Read the CPU times of the calling thread. */
static struct sampler_usage usage_now(void)
{
	struct rusage usage;

	if (arch_syscall2(SYS_getrusage, RUSAGE_THREAD, &usage))
		return (struct sampler_usage){0, 0};
	return (struct sampler_usage){
		.cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID),
		.kernel_ns = (uint64_t)usage.ru_stime.tv_sec * CLOCK_NS_PER_S +
			     (uint64_t)usage.ru_stime.tv_usec * 1000,
	};
}

/*
 * Returns 1 if the thread was in the kernel at the tick between the two readings. The kernel
 * reports as time in the kernel the thread's CPU time, multiplied by the share of ticks in the
 * kernel. This product also changes at a tick outside the kernel, so that change is subtracted
 * first. Source: Linux kernel/sched/cputime.c, cputime_adjust().
 */
static int was_in_kernel(const struct sampler_usage *before, const struct sampler_usage *now)
{
	double ticks = (double)before->cpu_ns / (double)sampler.tick_ns + 1;
	double tick_ns = (double)now->cpu_ns / ticks;
	double outside_ns = (double)before->kernel_ns / (double)sampler.tick_ns * tick_ns;

	return (double)now->kernel_ns - outside_ns > tick_ns / 2;
}

/*
 * Returns a hash of the registers. Two equal hashes mean that the thread has executed no
 * instruction in between.
 */
static uint64_t registers_hash(const void *ucontext)
{
	struct arch_registers registers;
	uint64_t hash = FNV_BEGIN;

	arch_registers_from_ucontext(&registers, ucontext);
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		hash = (hash ^ registers.r[reg]) * FNV_PRIME;
	return hash;
}

/*
 * Returns the number of samples that are due at @cpu_ns, without those that were deferred to the
 * next sample.
 */
static uint32_t due_by(const struct sampler_thread *thread, uint64_t cpu_ns)
{
	uint64_t due = sampler_thread_due(thread, cpu_ns);

	due = due > thread->carried ? due - thread->carried : 0;
	return due < UINT32_MAX ? (uint32_t)due : UINT32_MAX;
}

uint32_t events_weight(struct sampler_thread *thread, const void *ucontext)
{
	uint64_t weight;

	thread->event_registers = registers_hash(ucontext);
	if (!thread->has_events) {
		thread->has_events = 1;
		thread->usage = usage_now();
		return due_by(thread, thread->usage.cpu_ns);
	}
	if (thread->handler_weight)
		return thread->handler_weight < UINT32_MAX ? (uint32_t)thread->handler_weight
							   : UINT32_MAX;
	thread->event_remaining_ns += sampler.event_period_ns;
	weight = thread->event_remaining_ns / sampler.period_ns;
	thread->event_remaining_ns %= sampler.period_ns;
	return (uint32_t)weight;
}

int events_come(struct sampler_thread *thread)
{
	if (thread->has_events && !__atomic_load_n(&thread->ring->has_event, __ATOMIC_RELAXED))
		thread->has_events = 0;
	return thread->has_events != 0;
}

uint32_t events_timer_weight(struct sampler_thread *thread, const void *ucontext)
{
	struct sampler_usage before = thread->usage;

	thread->usage = usage_now();
	if (!was_in_kernel(&before, &thread->usage))
		return 0;
	return registers_hash(ucontext) == thread->event_registers
		       ? 0
		       : due_by(thread, thread->usage.cpu_ns);
}

static int has_any(void)
{
	SAMPLER_FOR_EACH_RING(index)
	if (__atomic_load_n(&wire_ring(sampler.arena, index)->has_event, __ATOMIC_SEQ_CST))
		return 1;
	return 0;
}

void events_end(void)
{
	const struct timespec pause = {0, END_PAUSE_NS};

	if (!sampler.has_events || !sampler_is_this_process())
		return;
	/*
	 * Set no_events, then read has_event. flamerun sets has_event, then reads no_events. So at
	 * least one side sees the other's change.
	 */
	__atomic_store_n(&sampler.slot->no_events, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < END_TRIES && has_any(); i++) {
		sampler_wake_reader(sampler.arena);
		arch_syscall2(SYS_nanosleep, &pause, NULL);
	}
}

void events_undo_end(void)
{
	if (sampler.has_events && sampler_is_this_process())
		__atomic_store_n(&sampler.slot->no_events, 0, __ATOMIC_SEQ_CST);
}
