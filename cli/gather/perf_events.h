/* SPDX-License-Identifier: MIT */
/*
 * A perf event of flamerun's on each sampled thread, for rates that the kernel's tick does not
 * reach: it signals the thread, whose handler takes the sample (libprof/sampler/events.c). The
 * descriptors are flamerun's; the program has none.
 *
 * Context: the collector's thread, but for perf_events_probe(), _new() and _free().
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
 * How often the kernel looks at CPU timers, in Hz: what events are for lies above.
 * Source: clock_getres(2), CLOCK_MONOTONIC_COARSE.
 */
uint32_t perf_events_tick_hz(void);

/*
 * Would events at @rate_hz be allowed? Returns 0, or -errno: -EACCES and -EPERM by
 * kernel.perf_event_paranoid or a sandbox, -ENOSYS, -EINVAL by an older kernel than 5.13, -EMFILE
 * by the limit on open files.
 */
int perf_events_probe(uint32_t rate_hz);

/*
 * What an event's signal costs the thread that it interrupts, the handler not counted, as measured
 * on the calling thread in some milliseconds, with @signal; 0: not known. Context: no other thread
 * handles that signal.
 */
uint64_t perf_events_cost_ns(int signal);

/*
 * Tell the arena's programs what an event stands for, at @rate_hz where a signal costs @cost_ns:
 * signals alone take less than half of a thread's time, and with its handlers half at most.
 */
void perf_events_set_period(struct wire_arena *arena, uint32_t rate_hz, uint64_t cost_ns);

/*
 * @arena, after that, and its @descriptor are borrowed. Events send @signal. With @has_kernel each
 * thread has a second event, which sees what the kernel does for it. Returns an owned object, or
 * NULL without memory.
 */
struct perf_events *perf_events_new(
	struct wire_arena *arena, int descriptor, int signal, bool has_kernel);
void perf_events_free(struct perf_events *events); /* NULL is fine; threads go on by their timers */

/*
 * Give ring @index, of a thread of @pid, its event, or take it away, as its owner and its slot
 * (@slot) have it now. @pid is 0 where it is not known: no event.
 */
void perf_events_update(
	struct perf_events *events, uint32_t index, pid_t pid, const struct wire_slot *slot);

/*
 * What the kernel was seen to do for the thread of ring @index, whose owner is @owner, as
 * kernel_stacks_next().
 */
int perf_events_look(
	const struct perf_events *events, uint32_t index, uint64_t owner, struct kernel_stack *out);

/* How many threads had no second event where they were to have one. Context: any thread. */
uint64_t perf_events_unseen(const struct perf_events *events);

#endif
