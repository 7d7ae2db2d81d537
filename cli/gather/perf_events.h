/* SPDX-License-Identifier: MIT */
/*
 * Open a perf event on each sampled thread for rates above the kernel's tick, which limits CPU
 * timers. The event signals the thread, and the thread's handler takes the sample
 * (libprof/sampler/events.c). The descriptors belong to flamerun; the program has none.
 *
 * Context: the collector's thread, except for perf_events_probe(), _new() and _free().
 */
#ifndef CLI_GATHER_PERF_EVENTS_H
#define CLI_GATHER_PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/wire.h"

struct kernel_stack;
struct perf_events;

/*
 * Returns the kernel's tick rate in Hz, at which it checks CPU timers. Above this rate events are
 * needed.
 * Source: clock_getres(2), CLOCK_MONOTONIC_COARSE
 */
uint32_t perf_events_tick_hz(void);

/*
 * Check whether the kernel allows events at @rate_hz. Returns 0, or -errno: -EACCES and -EPERM by
 * kernel.perf_event_paranoid or a sandbox, -ENOSYS, -EINVAL by a kernel older than 5.13, -EMFILE by
 * the limit on open files.
 */
int perf_events_probe(uint32_t rate_hz);

/*
 * Measure what an event's signal costs the interrupted thread in ns, without the handler. Takes
 * some ms of the calling thread, with @signal. Returns 0 if the cost could not be measured.
 * Context: no other thread handles @signal.
 */
uint64_t perf_events_cost_ns(int signal);

/*
 * Set the period of events and the pause after a handler in @arena, for samples at @rate_hz where a
 * signal costs @cost_ns. Signals alone take less than half of a thread's time; signals and handlers
 * together take at most half.
 */
void perf_events_set_period(struct wire_arena *arena, uint32_t rate_hz, uint64_t cost_ns);

/*
 * Create the set of events. Call perf_events_set_period() before. @arena and its @descriptor are
 * borrowed; events send @signal. With @has_kernel each thread gets a second event that records its
 * stacks in the kernel (kernel_stacks.h). Returns an owned object, or NULL without memory.
 */
struct perf_events *perf_events_new(
	struct wire_arena *arena, int descriptor, int signal, bool has_kernel);
void perf_events_free(struct perf_events *events); /* NULL is fine; threads keep their timers */

/*
 * Open or close the event of ring @index according to the ring's present owner and its slot @slot.
 * @pid is the owner's pid as flamerun sees it; 0 if not known: then there is no event.
 */
void perf_events_update(
	struct perf_events *events, uint32_t index, pid_t pid, const struct wire_slot *slot);

/*
 * Read the next recorded kernel stack of the thread of ring @index if the ring still has @owner.
 * Returns as kernel_stacks_next().
 */
int perf_events_next_stack(
	const struct perf_events *events, uint32_t index, uint64_t owner, struct kernel_stack *out);

/* Returns the number of threads whose second event could not be opened. Context: any thread. */
uint64_t perf_events_unseen(const struct perf_events *events);

#endif
