/* SPDX-License-Identifier: MIT */
/*
 * What threads wait for: looks at all threads of processes, at random moments, 20 times a second.
 * Nobody is stopped, woken up or signalled, and nothing in a process changes. What is read are
 * files of /proc and, for stacks, memory. flamerun looks at the processes of its run, and the
 * worker of a process that profiles itself at that.
 *
 * A process that did nothing since the last round has threads that all sleep on: it costs two
 * system calls. Of one that ran every thread is looked at; where that would take more than its
 * share of a CPU, threads are left to a later round by chance, and what they waited is carried
 * there (wait_thread.c).
 *
 * Context: one thread.
 */
#ifndef LIBPROF_WAITS_WAITS_H
#define LIBPROF_WAITS_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/waits/wait_thread.h"

struct waits;

struct waits_config {
	const struct waits_calls *calls; /* borrowed */
	void *context;
	uint64_t period_ns; /* one unit of weight */
	unsigned files_max; /* descriptors, at most; fewer where the process may have but few */
	bool has_details;   /* names of files, addresses of locks */
	bool is_told_ends;  /* threads that have a number: waits_end_thread() */
};

/* A thread's end, told by itself. */
struct waits_end {
	pid_t tid;	 /* 0: not known, it has a number */
	uint32_t number; /* in samples */
	uint64_t start_ns, end_ns;
	uint64_t cpu_ns; /* by its own clock, which began with it */
	char comm[WIRE_COMM_BYTES]; /* "": not known */
};

/* What looking was like. */
struct waits_counts {
	uint64_t wanted, looked; /* looks at threads; the rest was left to chance */
	uint64_t looks, changed; /* at stacks; that the thread did not sleep through */
	uint64_t untracked;	 /* threads that there was no room for */
};

/* Returns an owned object, or NULL without memory. */
struct waits *waits_new(const struct waits_config *config);
void waits_free(struct waits *waits); /* NULL is fine */

/*
 * Look at @process (copied; until waits_remove()) from now on. @begun_ns: since then its books are
 * kept, and its main thread had used @begun_cpu_ns of CPU time; 0: since now.
 * Returns 0 or -ENOMEM.
 */
int waits_add(struct waits *waits, const struct wait_process *process, uint64_t begun_ns,
	uint64_t begun_cpu_ns);

/* A thread of that of @target has ended. Had nobody looked at it, its span alone is known. */
void waits_end_thread(struct waits *waits, const void *target, const struct waits_end *end);

/* That of @target is over since @end_ns (0: it is not, or nobody knows): its books are closed. */
void waits_remove(struct waits *waits, const void *target, uint64_t end_ns);

/* Do what is due. Returns when there will be more (CLOCK_MONOTONIC). */
uint64_t waits_round(struct waits *waits);

/*
 * Tell what is known by now; what is not, looks to come will tell. Threads are announced anew with
 * that.
 */
void waits_tell(struct waits *waits);

/* Close the books of all that still run, and say what looking was like. */
void waits_finish(struct waits *waits, struct waits_counts *counts);

#endif
