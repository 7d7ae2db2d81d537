/* SPDX-License-Identifier: MIT */
/*
 * Find programs of the run that the library is not in: static programs, those of other C libraries,
 * and those whose LD_PRELOAD was removed. The tracer searches for them among the descendants of
 * flamerun. It attaches to a process that has used 50 ms of CPU time without appearing in the
 * arena, or 10 ms if its file shows that no library can be loaded. It detaches when the process
 * appears in the arena after all, or execs.
 *
 * The CPU time that such a program used before the tracer attached is recorded under [unsampled];
 * if the program was too short or must not be traced, all its CPU time is. No CPU time is counted
 * twice: an image in the arena begins at the CPU time in its slot, and counting from outside ends
 * there.
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
 * Has the library appeared in @target? If so, record the target's end and set target->is_waiting,
 * so that nothing of it is counted any more. The caller detaches it at its next stop.
 */
bool uninjected_has_library(struct tracer *tracer, struct target *target);

/* Note that @pid has exec'd and was detached. Before, it had used @cpu_ns of CPU time. */
void uninjected_exec(struct uninjected *s, pid_t pid, uint64_t cpu_ns);

/* Note that @pid is not traced any more. */
void uninjected_ended(struct uninjected *s, pid_t pid);

/* Record the CPU time of processes that were not traced, and the reasons, when sampling is over. */
void uninjected_finish(struct tracer *tracer);

#endif
