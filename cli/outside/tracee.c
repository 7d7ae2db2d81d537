/* SPDX-License-Identifier: MIT */
/*
 * A hash table with chains.
 */
#include "cli/outside/tracee.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/gather/procfs.h"
#include "cli/outside/target.h"

#define KEPT_MAX 768 /* highest descriptor: limits of 1024 are common */

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
	*tracee = (struct tracee){.next = *bucket,
		.tid = tid,
		.target = target,
		.stat = -1,
		.status = -1,
		.seen.pushes = -1,
		.cpu = -1,
		.switches = -1};
	tracee->clock = procfs_open(target->pid, tid, "schedstat");
	*bucket = tracee;
	tracees->count++;
	target->threads++;
	return tracee;
}

uint64_t tracees_look(struct tracee *tracee)
{
	if (tracee->clock >= 0)
		procfs_clock_read(tracee->clock, &tracee->used);
	return tracee->used.cpu_ns;
}

/* Opened at the first need, and kept while there are few. */
static int borrow(const struct tracee *tracee, int *file, const char *name)
{
	if (*file < 0)
		*file = procfs_open(tracee->target->pid, tracee->tid, name);
	return *file;
}

static void give_back(int *file)
{
	if (*file < KEPT_MAX)
		return;
	close(*file);
	*file = -1;
}

char tracees_count(struct tracee *tracee)
{
	struct procfs_switches seen = {.pushes = -1};

	if (borrow(tracee, &tracee->status, "status") >= 0)
		procfs_switches_read(tracee->status, &seen);
	give_back(&tracee->status);
	tracee->has_slept = tracee->seen.sleeps != seen.sleeps;
	tracee->seen = seen;
	return seen.state;
}

char tracees_locate(struct tracee *tracee)
{
	char state = 0;

	if (borrow(tracee, &tracee->stat, "stat") >= 0)
		state = procfs_state_read(tracee->stat, &tracee->cpu);
	give_back(&tracee->stat);
	return state;
}

void tracees_remove(struct tracees *tracees, struct tracee *tracee)
{
	struct tracee **at = &tracees->bucket[bucket_of(tracee->tid)];
	const int files[] = {tracee->clock, tracee->stat, tracee->status};

	while (*at != tracee)
		at = &(*at)->next;
	*at = tracee->next;
	tracees->count--;
	tracee->target->threads--;
	for (unsigned i = 0; i < 3; i++)
		if (files[i] >= 0)
			close(files[i]);
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
