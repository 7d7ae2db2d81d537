/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: handlers ask it what a signal weighs. */
/*
 * What signals of perf events stand for. flamerun opens an event on each thread, for time in user
 * mode alone (cli/gather/perf_events.c says why), so each stands for a period of that. The event's
 * own period is never a sample's: were they equal, an event could fall on the kernel's tick each
 * time, and the tick always on the delivery of a signal. What is left of it the next one has.
 *
 * Time in the kernel stays with the thread's timer. At each tick the kernel notes whether that
 * found the thread in the kernel, and the thread's usage tells. If so, the sample is of the stack
 * that called the kernel, or faulted, and stands for all that is due by the thread's clock and that
 * no event stood for. What the kernel does to deliver our own signals is none of the program's: a
 * tick in there is followed by its signal at the very place of the event's.
 *
 * Signals of an event cannot be counted while one is pending, other than those of timers. That
 * matters in handlers of the program's in which ours are blocked alone, and there the clock tells
 * what was due.
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

/* What the kernel's clocks say of the calling thread. */
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
 * Did the tick between the two find the thread in the kernel? What is told as time there is the
 * thread's time times the share of ticks that did, so that it moves at other ticks, too.
 * Source: Linux kernel/sched/cputime.c, cputime_adjust().
 */
static int was_in_kernel(const struct sampler_usage *before, const struct sampler_usage *now)
{
	double ticks = (double)before->cpu_ns / (double)sampler.tick_ns + 1;
	double tick_ns = (double)now->cpu_ns / ticks;
	double outside_ns = (double)before->kernel_ns / (double)sampler.tick_ns * tick_ns;

	return (double)now->kernel_ns - outside_ns > tick_ns / 2;
}

/* Equal where the thread has made no step. */
static uint64_t registers_hash(const void *ucontext)
{
	struct arch_registers registers;
	uint64_t hash = FNV_BEGIN;

	arch_registers_from_ucontext(&registers, ucontext);
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		hash = (hash ^ registers.r[reg]) * FNV_PRIME;
	return hash;
}

/* What no sample stands for, but for what was put off to the next one. */
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
	thread->event_rest_ns += sampler.event_period_ns;
	weight = thread->event_rest_ns / sampler.period_ns;
	thread->event_rest_ns %= sampler.period_ns;
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
	/* Before it is looked whether there are any: flamerun does both the other way round. */
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
