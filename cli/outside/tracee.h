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

#include "cli/gather/procfs.h"

struct target;

struct tracee {
	struct tracee *next; /* in the same bucket */
	pid_t tid;
	struct target *target;	     /* borrowed */
	int clock, stat, status;     /* descriptors of files of /proc, -1: not open */
	struct procfs_clock used;    /* when it was last looked at */
	struct procfs_switches seen; /* and looked at closely; .pushes -1: it was not */
	bool has_slept;		     /* between the last two close looks */
	int cpu;		     /* where it was then, -1: not known */
	uint32_t round;		     /* of looks that it was in last */
	struct procfs_clock asked;   /* when it was asked to stop */
	uint64_t asked_ns;	     /* when that was, 0: it was not */
	uint64_t asked_since_ns;     /* and when we were woken, or got the CPU, for it */
	bool is_pushed;		     /* it seemed to be on our CPU then */
	unsigned rests;		     /* looks since it was last found to have run */
	unsigned tries;		     /* times it was asked though it was not */
	uint64_t counted_ns;	     /* CPU time (with --wall, time) when it was last counted */
	uint64_t owed_ns;	     /* what did not make a whole sample then */
	long switches;		     /* sleeps when its stack was taken; -1: no stack */
	struct procfs_place place;   /* with --wall: of that stack */
	bool is_settled;	     /* it was seen asleep there since, with that many sleeps */
	bool has_stack;		     /* a sample with frames was sent */
	bool is_met;		     /* its records were sent */
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

/*
 * Its state now: 'R', 'S', ...; 0 when it has gone. tracees_count() brings tracee->seen up to now,
 * tracees_locate() tracee->cpu.
 */
char tracees_count(struct tracee *tracee);
char tracees_locate(struct tracee *tracee);

/* Forget @tracee, which is freed. */
void tracees_remove(struct tracees *tracees, struct tracee *tracee);
void tracees_release(struct tracees *tracees);

/* The one after @tracee in an order that removing keeps; the first after NULL; NULL at the end. */
struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee);

#endif
