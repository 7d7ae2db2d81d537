/* SPDX-License-Identifier: MIT */
/*
 * Find out what threads wait for: observe all threads of processes at random times, 20 times a
 * second. No thread is stopped, woken or signalled, and nothing in a process changes: files of
 * /proc are read and, for stacks, memory. flamerun observes the processes that it profiles; the
 * worker of a process that profiles itself observes that process.
 *
 * A process that did not run since the last round costs two system calls, because all its threads
 * still sleep. In a process that ran, every thread is observed. If that would take more than the
 * budget of CPU time, some threads are skipped at random, and their waiting time is carried over to
 * a later round (wait_thread.c).
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
	uint64_t period_ns; /* one unit of weight, in ns */
	/* Limit of open descriptors; RLIMIT_NOFILE may lower it. */
	unsigned files_max;
	/* Record names of files and addresses of locks. */
	bool has_details;
	/* Set if the caller calls waits_end_thread() for threads that have a number. */
	bool has_thread_ends;
};

/* A thread's end, as the thread reported it. */
struct waits_end {
	pid_t tid;	 /* 0: unknown, use the number */
	uint32_t number; /* in samples */
	uint64_t start_ns, end_ns;
	uint64_t cpu_ns;	    /* CPU time of the thread */
	char comm[WIRE_COMM_BYTES]; /* "": not known */
};

/* Totals of all observations. */
struct waits_counts {
	/*
	 * Number of threads that were due for an observation, and of those that were not skipped.
	 */
	uint64_t wanted, observed;
	/* Number of stack walks, and of those that were useless because the thread ran. */
	uint64_t walks, changed;
	/* Number of threads that were not observed, because there were too many. */
	uint64_t untracked;
};

/* Returns an owned object, or NULL without memory. */
struct waits *waits_new(const struct waits_config *config);
void waits_free(struct waits *waits); /* NULL is allowed */

/*
 * Observe @process (copied) until waits_remove(). The account of its time begins at @begun_ns, when
 * its main thread had used @begun_cpu_ns of CPU time; 0: now. Returns 0 or -ENOMEM.
 */
int waits_add(struct waits *waits, const struct wait_process *process, uint64_t begun_ns,
	uint64_t begun_cpu_ns);

/*
 * Record the end of a thread of @target's process. A thread that was never observed is recorded as
 * waiting for an unknown reason.
 */
void waits_end_thread(struct waits *waits, const void *target, const struct waits_end *end);

/*
 * End the account of @target's process, which ended at @end_ns (0: not known, or it has not ended).
 */
void waits_remove(struct waits *waits, const void *target, uint64_t end_ns);

/* Run the rounds that are due. Returns the time of the next call (CLOCK_MONOTONIC). */
uint64_t waits_round(struct waits *waits);

/* Record all waiting times assigned to a stack by now. Then put_thread() is called again. */
void waits_record(struct waits *waits);

/* End the account of all processes and fill in @counts. */
void waits_finish(struct waits *waits, struct waits_counts *counts);

#endif
