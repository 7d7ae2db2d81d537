/* SPDX-License-Identifier: MIT */
/*
 * A hash table with chains.
 */
#include "cli/outside/tracee.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/outside/procfs.h"
#include "cli/outside/target.h"

static unsigned bucket_of(pid_t tid)
{
	return (unsigned)tid % TRACEES_BUCKETS;
}

struct tracee *tracees_find(const struct tracees *tracees, pid_t tid)
{
	struct tracee *tracee = tracees->bucket[bucket_of(tid)];

	while (tracee && tracee->tid != tid)
		tracee = tracee->next;
	return tracee;
}

struct tracee *tracees_add(struct tracees *tracees, pid_t tid, struct target *target)
{
	struct tracee **bucket = &tracees->bucket[bucket_of(tid)];
	struct tracee *tracee = calloc(1, sizeof(*tracee));

	if (!tracee)
		return NULL;
	*tracee = (struct tracee){.next = *bucket, .tid = tid, .target = target, .switches = -1};
	tracee->clock = procfs_clock_open(target->pid, tid);
	*bucket = tracee;
	tracees->count++;
	target->threads++;
	return tracee;
}

uint64_t tracees_look(struct tracee *tracee)
{
	struct procfs_clock clock;

	if (tracee->clock >= 0 && !procfs_clock_read(tracee->clock, &clock)) {
		tracee->cpu_ns = clock.cpu_ns;
		tracee->waited_ns = clock.waited_ns;
		tracee->turns = clock.turns;
	}
	return tracee->cpu_ns;
}

void tracees_remove(struct tracees *tracees, struct tracee *tracee)
{
	struct tracee **at = &tracees->bucket[bucket_of(tracee->tid)];

	while (*at != tracee)
		at = &(*at)->next;
	*at = tracee->next;
	tracees->count--;
	tracee->target->threads--;
	if (tracee->clock >= 0)
		close(tracee->clock);
	free(tracee);
}

void tracees_release(struct tracees *tracees)
{
	struct tracee *tracee;

	while ((tracee = tracees_next(tracees, NULL)))
		tracees_remove(tracees, tracee);
}

struct tracee *tracees_next(const struct tracees *tracees, const struct tracee *tracee)
{
	unsigned bucket = tracee ? bucket_of(tracee->tid) + 1 : 0;

	if (tracee && tracee->next)
		return tracee->next;
	while (bucket < TRACEES_BUCKETS && !tracees->bucket[bucket])
		bucket++;
	return bucket < TRACEES_BUCKETS ? tracees->bucket[bucket] : NULL;
}
