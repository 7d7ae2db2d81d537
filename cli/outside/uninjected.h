/* SPDX-License-Identifier: MIT */
/*
 * Programs of a run that no library of ours is in: static ones, those of other C libraries, those
 * whose preload was taken away. The tracing process finds them among the descendants of flamerun,
 * attaches to each that has used 50 ms of CPU time without appearing in the arena, or 10 ms if its
 * file says that no library can come, and lets go of it when it appears there after all, or execs.
 *
 * CPU time that an uninjected program used before, or for all its life because it was short or
 * nobody may look into it, is credit. No CPU time is counted by both samplers: an image in the
 * arena begins at the CPU time that its slot says, and what is counted here ends there.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_UNINJECTED_H
#define CLI_OUTSIDE_UNINJECTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct uninjected;
struct target;
struct tracer;
struct wire_arena;

/* @arena: borrowed, as its descriptor. Returns an owned object, or NULL without memory. */
struct uninjected *uninjected_new(struct wire_arena *arena, int arena_descriptor);
void uninjected_free(struct uninjected *uninjected); /* NULL is fine */

/* Look for new ones and at the known ones. Returns when to look again (CLOCK_MONOTONIC). */
uint64_t uninjected_scan(struct tracer *tracer, uint64_t now_ns);

/*
 * Has a library of ours appeared in @target? Then its books are closed, nothing of it is counted
 * any more (target->is_waiting), and it is to be let go at its next stop.
 */
bool uninjected_has_library(struct tracer *tracer, struct target *target);

/* @pid has exec'd and was let go; it had used @cpu_ns by then. */
void uninjected_exec(struct uninjected *s, pid_t pid, uint64_t cpu_ns);

/* @pid is not traced any more. */
void uninjected_ended(struct uninjected *s, pid_t pid);

/* Sampling is over: say what those used that were not traced, and why they were not. */
void uninjected_finish(struct tracer *tracer);

#endif
