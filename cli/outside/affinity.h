/* SPDX-License-Identifier: MIT */
/*
 * On which CPU the tracing thread waits for its next look: on that of a thread whose sample is due.
 * Waking up there pushes that thread off in the middle of what it does, as a timer's interrupt
 * would, and nothing of it runs until it has been asked to stop. From another CPU a stop takes some
 * ten microseconds to arrive, in which a server has finished its request and sleeps: the beginning
 * of every burst of work would be seen too rarely.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_AFFINITY_H
#define CLI_OUTSIDE_AFFINITY_H

#include <sched.h>
#include <stdbool.h>

struct affinity {
	cpu_set_t allowed; /* where we may be: what we were started with */
	int cpu;	   /* the one we are on, -1: anywhere */
	int next;	   /* the one to wait on, -1: nobody is to be pushed off */
	unsigned wanted;   /* CPUs at which somebody is due: the more, the more often we look */
	cpu_set_t wanting;
};

/* Before that: anywhere, like anybody. */
void affinity_any(struct affinity *affinity);

/* Ahead of others where that is allowed: who waits for us is held. */
void affinity_init(struct affinity *affinity);

/* A new round: nobody is known to be due. */
void affinity_begin(struct affinity *affinity);

/*
 * Somebody is due on @cpu (-1: unknown). @draw is a random number: all CPUs asked for in a round
 * have equal chances.
 */
void affinity_request(struct affinity *affinity, int cpu, unsigned draw);

/* Go to where the next look is to be. If that is forbidden, we are anywhere: place->cpu is -1. */
void affinity_move(struct affinity *affinity);

/* May we wait on @cpu at all? */
bool affinity_allows(const struct affinity *affinity, int cpu);

/* Off the CPU where we are in somebody's way, when there is another one: before long work. */
void affinity_avoid(struct affinity *affinity);

#endif
