/* SPDX-License-Identifier: MIT */
/*
 * Finds programs of the run that the library is not in: static ones, those of other C libraries,
 * those whose LD_PRELOAD was removed. The tracer looks for them among the descendants of flamerun.
 * It attaches to a process that has used 50 ms of CPU time without appearing in the arena, or 10 ms
 * if its file shows that no library can be loaded. It detaches when the process appears in the
 * arena after all, or execs.
 *
 * CPU time that such a program used before the tracer attached is credited to [unsampled], and all
 * its CPU time if it was too short or may not be traced. No CPU time is counted twice: an image in
 * the arena begins at the CPU time that its slot says, and counting from outside ends there.
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

/* @arena, @arena_descriptor  borrowed. Returns an owned object, or NULL without memory. */
struct uninjected *uninjected_new(struct wire_arena *arena, int arena_descriptor);
void uninjected_free(struct uninjected *uninjected); /* NULL is fine */

/* Find new processes and check the known ones. Returns when to call again (CLOCK_MONOTONIC). */
uint64_t uninjected_scan(struct tracer *tracer, uint64_t now_ns);

/*
 * Has the library appeared in @target? Then its end is recorded, nothing of it is counted any more
 * (target->is_waiting), and the caller detaches it at its next stop.
 */
bool uninjected_has_library(struct tracer *tracer, struct target *target);

/* @pid, which had used @cpu_ns of CPU time, has exec'd and was detached. */
void uninjected_exec(struct uninjected *s, pid_t pid, uint64_t cpu_ns);

/* @pid is not traced any more. */
void uninjected_ended(struct uninjected *s, pid_t pid);

/*
 * Sampling is over: record the CPU time of processes that were not traced, and why they were not.
 */
void uninjected_finish(struct tracer *tracer);

#endif
