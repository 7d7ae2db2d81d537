/* SPDX-License-Identifier: MIT */
/*
 * PTRACE_SEIZE: it stops nobody and changes nothing about how signals and stops look to others.
 * PTRACE_O_EXITKILL is not set: when we end, they live.
 */
#include "cli/outside/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "cli/gather/procfs.h"
#include "cli/outside/refusal.h"
#include "cli/outside/sample.h"

#define THREADS_FIRST 256

static int seize(const struct tracer *tracer, pid_t tid)
{
	unsigned long options = PTRACE_O_TRACEEXEC;

	if (tracer->config.follow)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) ? -errno : 0;
}

struct target *attach_find(const struct tracer *tracer, pid_t pid)
{
	struct target *target = tracer->targets;

	while (target && target->pid != pid)
		target = target->next;
	return target;
}

void attach_forget(struct tracer *tracer, struct target *target)
{
	struct target **at = &tracer->targets;

	while (*at != target)
		at = &(*at)->next;
	*at = target->next;
	target_free(target);
}

/* Attached: keep books on it. Those born later owe us all that they used. */
static struct tracee *enroll(
	struct tracer *tracer, struct target *target, pid_t tid, bool was_there)
{
	struct tracee *tracee = tracees_add(&tracer->tracees, tid, target);

	if (!tracee)
		return NULL;
	if (was_there)
		tracee->counted_ns = tracees_look(tracee);
	sample_begin(tracer, tracee);
	tracer->totals.threads++;
	return tracee;
}

/* The threads of @pid, their number in *@count; owned. NULL when it has gone or without memory. */
static pid_t *list_threads(pid_t pid, long *count)
{
	size_t room = THREADS_FIRST;

	for (;;) {
		pid_t *tids = malloc(room * sizeof(*tids));

		*count = tids ? procfs_threads(pid, tids, room) : -ENOMEM;
		if (tids && *count > 0 && (size_t)*count <= room)
			return tids;
		free(tids);
		if (*count <= 0)
			return NULL;
		room = (size_t)*count * 2;
	}
}

/* One look through the list. Returns how many were new; *@error of the first that refused. */
static long seize_listed(struct tracer *tracer, struct target *target, bool were_there, int *error)
{
	long count, added = 0;
	pid_t *tids = list_threads(target->pid, &count);

	for (long i = 0; tids && i < count; i++) {
		int failed;

		if (tracees_find(&tracer->tracees, tids[i]))
			continue;
		failed = seize(tracer, tids[i]);
		if (!failed && !enroll(tracer, target, tids[i], were_there))
			failed = -ENOMEM;
		/* One that has gone meanwhile, or is about to, is no failure. */
		if (failed && !*error && procfs_state(target->pid, tids[i], NULL) &&
			procfs_state(target->pid, tids[i], NULL) != 'Z')
			*error = failed;
		added += !failed;
	}
	free(tids);
	return added;
}

int attach_process(struct tracer *tracer, pid_t pid, enum attach_since since, uint64_t start_cpu_ns,
	struct diag_message *message)
{
	bool is_waiting = since == ATTACH_EXEC;
	struct target *target;
	int error = refusal_foresee(pid, message);

	if (error)
		return error;
	target = target_new(pid);
	if (!target)
		return diag_fail(message, -ENOMEM, "out of memory");
	target->is_waiting = is_waiting;
	target->next = tracer->targets;
	tracer->targets = target;
	/* Threads make threads while we look: until a look finds none. */
	while (seize_listed(tracer, target, since != ATTACH_BIRTH, &error) > 0)
		;
	if (!target->threads) {
		attach_forget(tracer, target);
		return refusal_explain(pid, error ? error : -ESRCH, message);
	}
	if (!is_waiting) {
		target_announce(target, &tracer->shared, 0, start_cpu_ns);
		target_remap(target, &tracer->shared);
	}
	return 0;
}

void attach_new_threads(struct tracer *tracer, struct target *target)
{
	int error = 0;

	seize_listed(tracer, target, false, &error);
}

static struct target *adopt(struct tracer *tracer, pid_t pid)
{
	const struct target *parent = attach_find(tracer, (pid_t)procfs_number(pid, "PPid"));
	struct target *target = target_new(pid);

	if (!target)
		return NULL;
	target->next = tracer->targets;
	tracer->targets = target;
	target_announce(target, &tracer->shared, parent ? parent->image : 0, 0);
	target_remap(target, &tracer->shared);
	return target;
}

struct tracee *attach_born(struct tracer *tracer, pid_t tid)
{
	pid_t pid = (pid_t)procfs_number(tid, "Tgid");
	struct target *target = pid > 0 ? attach_find(tracer, pid) : NULL;
	struct tracee *tracee = NULL;

	if (!target && pid == tid && tracer->config.follow)
		target = adopt(tracer, pid);
	if (target)
		tracee = enroll(tracer, target, tid, false);
	if (!tracee)
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return tracee;
}

void attach_settle(struct tracer *tracer, struct target *target)
{
	sample_settle(tracer, target);
	target_end(target, &tracer->shared, true, true);
}

void attach_let_go(struct tracer *tracer, struct tracee *tracee, int signal)
{
	sample_unask(tracer, tracee);
	ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracees_remove(&tracer->tracees, tracee);
}

/* All threads of @target but @tid have ended, some of them without a word. */
static void forget_others(struct tracer *tracer, const struct target *target, pid_t tid)
{
	struct tracee *tracee = tracees_next(&tracer->tracees, NULL);

	while (tracee) {
		struct tracee *next = tracees_next(&tracer->tracees, tracee);

		if (tracee->target == target && tracee->tid != tid) {
			sample_unask(tracer, tracee);
			tracees_remove(&tracer->tracees, tracee);
		}
		tracee = next;
	}
}

void attach_exec(struct tracer *tracer, struct target *target, pid_t tid)
{
	forget_others(tracer, target, tid);
	target->cpu_ns = procfs_cpu_ns((uint32_t)target->pid);
	if (!target->is_waiting)
		attach_settle(tracer, target);
}

void attach_next_image(struct tracer *tracer, struct target *target, pid_t tid)
{
	struct tracee *tracee;

	target->is_waiting = false;
	maps_release(&target->maps);
	target->range_count = 0;
	target_announce(target, &tracer->shared, 0, target->cpu_ns);
	target_remap(target, &tracer->shared);
	tracee = tracees_find(&tracer->tracees, tid);
	if (!tracee)
		tracee = enroll(tracer, target, tid, true);
	if (!tracee)
		return;
	tracee->counted_ns = tracees_look(tracee);
	tracee->is_met = tracee->has_stack = false;
	sample_unask(tracer, tracee);
	sample_begin(tracer, tracee);
}
