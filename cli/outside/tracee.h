/* SPDX-License-Identifier: MIT */
/*
 * The threads we are attached to, by thread id.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_TRACEE_H
#define CLI_OUTSIDE_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

struct tracee {
	struct tracee *next; /* in the same bucket */
	pid_t tid;
	struct target *target; /* borrowed */
	int clock;	       /* procfs_clock_open(), or -1 */
	uint64_t cpu_ns;       /* CPU time when it was last looked at */
	uint64_t waited_ns;    /* time it had waited for a CPU then, before it last got one */
	uint64_t asked_waited_ns; /* and when it was asked to stop */
	uint64_t asked_since_ns;  /* when we were woken to ask */
	uint64_t turns;		  /* times it had been given a CPU when it was last looked at */
	uint64_t asked_turns;	  /* and when it was asked to stop */
	uint64_t counted_ns;   /* CPU time (with --wall, time) when it was last counted */
	uint64_t owed_ns;      /* what did not make a whole sample then */
	uint64_t asked_ns;     /* when it was asked to stop, 0: it was not */
	long switches; /* times it had gone to sleep when its stack was taken; -1: no stack */
	bool has_stack;	       /* a sample with frames was sent */
	bool is_met;	       /* its records were sent */
};

#define TRACEES_BUCKETS 1024u

struct tracees {
	struct tracee *bucket[TRACEES_BUCKETS];
	unsigned count;
};

/* The thread @tid, or NULL. */
struct tracee *tracees_find(const struct tracees *tracees, pid_t tid);

/* Add @tid, a thread of @target. Returns it, or NULL without memory. */
struct tracee *tracees_add(struct tracees *tracees, pid_t tid, struct target *target);

/* Bring what @tracee says of its use of the CPU up to now. Returns its CPU time. */
uint64_t tracees_look(struct tracee *tracee);

/* Forget @tracee, which is freed. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);
void tracees_release(struct tracees *tracees);

/* The one after @tracee in an order that removing keeps; the first after NULL; NULL at the end. */
struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee);

#endif
