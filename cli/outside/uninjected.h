/* SPDX-License-Identifier: MIT */
/*
 * Find programs of the run that the library is not in: static programs, those of other C libraries,
 * and those whose LD_PRELOAD was removed. The tracer searches for them among the descendants of
 * flamerun. It attaches to a process that has used 50 ms of CPU time without appearing in the
 * arena, or 10 ms if its file shows that no library can be loaded. It detaches when the process
 * appears in the arena after all, or execs.
 *
 * The CPU time that such a program used before the tracer attached is recorded under [unsampled];
 * if the program ended too soon or must not be traced, all its CPU time is recorded so. No CPU time
 * is counted twice: the library counts from the CPU time in the image's slot on, and the tracer
 * counts up to this time.
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

/* Returns an owned object, or NULL without memory. @arena and @arena_descriptor are borrowed. */
struct uninjected *uninjected_new(struct wire_arena *arena, int arena_descriptor);
void uninjected_free(struct uninjected *uninjected); /* NULL is fine */

/* Find new processes and check the known ones. Returns the CLOCK_MONOTONIC ns of the next call. */
uint64_t uninjected_scan(struct tracer *tracer, uint64_t now_ns);

/*
 * Has the library appeared in @target? If so, record the image's end and set target->is_waiting, so
 * that nothing more is recorded. The caller detaches each thread at its next stop.
 */
bool uninjected_has_library(struct tracer *tracer, struct target *target);

/* Note that @pid has exec'd and was detached. @cpu_ns is the CPU time that it had used by then. */
void uninjected_exec(struct uninjected *s, pid_t pid, uint64_t cpu_ns);

/* Note that @pid is not traced any more. */
void uninjected_ended(struct uninjected *s, pid_t pid);

/* When sampling ends, record the CPU time of processes that were not traced, and the reasons. */
void uninjected_finish(struct tracer *tracer);

#endif
