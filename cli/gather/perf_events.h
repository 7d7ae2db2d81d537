/* SPDX-License-Identifier: MIT */
/*
 * Open a perf event on each sampled thread if the rate is above the kernel's tick rate, which
 * limits CPU timers. The event signals the thread, and the thread's handler takes the sample
 * (libprof/sampler/events.c). The descriptors belong to flamerun, not to the program.
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
 * Returns the kernel's tick rate in Hz. CPU timers are checked at ticks, so higher rates need
 * events.
 * Source: clock_getres(2), CLOCK_MONOTONIC_COARSE
 */
uint32_t perf_events_tick_hz(void);

/*
 * Check whether the kernel allows events at @rate_hz. Returns 0 or -errno: -EACCES or -EPERM if
 * kernel.perf_event_paranoid or a sandbox forbids them, -ENOSYS, -EINVAL if the kernel is older
 * than 5.13, -EMFILE if the limit on open files is too low.
 */
int perf_events_probe(uint32_t rate_hz);

/*
 * Measure the time in ns that an event's signal takes from the interrupted thread, without the
 * handler. Runs some ms in the calling thread, with a temporary handler for @signal. Returns 0 if
 * the measurement failed.
 * Context: no other thread handles @signal.
 */
uint64_t perf_events_cost_ns(int signal);

/*
 * Store in @arena the period of events and the pause after a handler call, for samples at @rate_hz
 * if a signal costs @cost_ns. They are chosen so that signals without their handlers take less than
 * half of a thread's time, and signals with handlers at most half.
 */
void perf_events_set_period(struct wire_arena *arena, uint32_t rate_hz, uint64_t cost_ns);

/*
 * Create an object that opens events on threads. The events send @signal, with the period that
 * perf_events_set_period() has stored in @arena. @arena and its @descriptor are borrowed. With
 * @has_kernel each thread gets a second event that records its kernel stacks (kernel_stacks.h).
 * Returns an owned object, or NULL without memory.
 */
struct perf_events *perf_events_new(
	struct wire_arena *arena, int descriptor, int signal, bool has_kernel);
/* Close all events and free @events, which may be NULL. Threads continue with their timers. */
void perf_events_free(struct perf_events *events);

/*
 * Open or close the events of ring @index, depending on the ring's owner and its @slot. @pid is the
 * owner's pid in flamerun's pid namespace, or 0 if unknown: then no event is opened.
 */
void perf_events_update(
	struct perf_events *events, uint32_t index, pid_t pid, const struct wire_slot *slot);

/*
 * Read the next kernel stack that was recorded for the thread of ring @index, if its events were
 * opened for the image of @owner. Returns 1 with the stack in @out, or 0 if there is none.
 */
int perf_events_next_stack(
	const struct perf_events *events, uint32_t index, uint64_t owner, struct kernel_stack *out);

/* Returns the number of threads for whose kernel stacks no event opened. Context: any thread. */
uint64_t perf_events_unseen(const struct perf_events *events);

#endif
