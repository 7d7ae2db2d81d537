/* SPDX-License-Identifier: MIT */
/*
 * What threads wait for: looks at all threads of processes, at random moments, 20 times a second.
 * Nobody is stopped, woken up or signalled, and nothing in a process changes. What is read are
 * files of /proc and, for stacks, memory.
 *
 * A process that used no CPU time since the last round has threads that all sleep on: it costs two
 * system calls. Of one that ran every thread is looked at; where that would take more than its
 * share of a CPU, threads are left to a later round by chance, and what they waited is carried
 * there (wait_thread.c).
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_WAITS_H
#define CLI_OUTSIDE_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/outside/target.h"

struct waits;

struct waits_config {
	struct target_shared *shared; /* borrowed, as its pipe_writer */
	uint64_t period_ns;	      /* one unit of weight */
	bool has_details;	      /* names of files, addresses of locks */
	/*
	 * The number of thread @tid of @image in records, and when it began (0: not known); NULL:
	 * its tid. Returns 0: not known, yet.
	 */
	uint32_t (*find_thread)(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns);
	void *context;
};

/* Returns an owned object, or NULL without memory. */
struct waits *waits_new(const struct waits_config *config);
void waits_free(struct waits *waits); /* NULL is fine */

/*
 * Look at @target (borrowed until waits_remove()) from now on. @begun_ns: since then its books are
 * kept, and its main thread had used @begun_cpu_ns of CPU time; 0: since now.
 * Returns 0 or -ENOMEM.
 */
int waits_add(struct waits *waits, struct target *target, uint64_t begun_ns, uint64_t begun_cpu_ns);

/* There is a process that cannot be looked at, because nobody knows its pid here. */
void waits_pass_over(struct waits *waits);

/* @target is over since @end_ns (0: it is not, or nobody knows): its books are closed. */
void waits_remove(struct waits *waits, const struct target *target, uint64_t end_ns);

/* Do what is due. Returns when there will be more (CLOCK_MONOTONIC). */
uint64_t waits_round(struct waits *waits);

/* Close the books of all that still run, and tell what looking was like (RECORD_WAITS). */
void waits_finish(struct waits *waits);

#endif
