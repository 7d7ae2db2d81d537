/* SPDX-License-Identifier: MIT */
/*
 * Attach with PTRACE_SEIZE, because it does not stop the thread, and other processes see signals
 * and stops of the thread as before. PTRACE_O_EXITKILL is not set, so targets survive the tracer.
 */
#include "cli/outside/attach.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/outside/cpu_timer.h"
#include "cli/outside/refusal.h"
#include "cli/outside/sample.h"
#include "cli/outside/target_waits.h"
#include "libprof/procfs.h"

#define THREADS_FIRST 256

static int seize(const struct tracer *tracer, pid_t tid)
{
	unsigned long options =
		PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACESYSGOOD;

	if (tracer->config.follow)
		options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	return ptrace(PTRACE_SEIZE, tid, NULL, (void *)options) ? -errno : 0;
}

/* Begin to sample an image of @target. Set @is_young if the image has just begun. */
static void begin_image(struct tracer *tracer, struct target *target, uint64_t parent,
	uint64_t start_cpu_ns, bool is_young)
{
	target_announce(target, &tracer->shared, parent, start_cpu_ns);
	target_remap(target, &tracer->shared);
	if (tracer->waits)
		target_waits_add(
			tracer->waits, target, is_young ? target->start_ns : 0, start_cpu_ns);
}

struct target *attach_find(const struct tracer *tracer, pid_t pid)
{
	struct target *target = tracer->targets;

	while (target && target->pid != pid)
		target = target->next;
	return target;
}

void attach_remove_target(struct tracer *tracer, struct target *target)
{
	struct target **at = &tracer->targets;

	while (*at != target)
		at = &(*at)->next;
	*at = target->next;
	target_free(target);
}

/*
 * Add the attached thread @tid. If it @was_there before the attach, ignore its CPU time until now.
 */
static struct tracee *add_tracee(
	struct tracer *tracer, struct target *target, pid_t tid, bool was_there)
{
	struct tracee *tracee = tracees_add(&tracer->tracees, tid, target);

	if (!tracee)
		return NULL;
	tracees_update(tracee);
	if (was_there)
		tracee->counted_ns = tracee->used.cpu_ns;
	sample_begin(tracer, tracee);
	tracer->totals.counts.threads++;
	return tracee;
}

/* List the threads of @pid. Returns an owned list, or NULL if it has ended or without memory. */
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

/*
 * List @target's threads once, and attach to those that are not attached yet. Returns their number.
 * *@error gets the first error.
 */
static long seize_listed(struct tracer *tracer, struct target *target, bool were_there, int *error)
{
	long count, added = 0;
	pid_t *tids = list_threads(target->pid, &count);

	for (long i = 0; tids && i < count; i++) {
		int failed;

		if (tracees_find(&tracer->tracees, tids[i]))
			continue;
		failed = seize(tracer, tids[i]);
		if (!failed && !add_tracee(tracer, target, tids[i], were_there))
			failed = -ENOMEM;
		/* Ignore the error if the thread has ended meanwhile. */
		if (failed && !*error && procfs_state(target->pid, tids[i]) &&
			procfs_state(target->pid, tids[i]) != 'Z')
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
	int error = refusal_predict(pid, message);

	if (error)
		return error;
	cpu_timers_prepare(tracer);
	target = target_new(pid);
	if (!target)
		return diag_fail(message, -ENOMEM, "out of memory");
	target->is_waiting = is_waiting;
	target->next = tracer->targets;
	tracer->targets = target;
	/* Repeat until no new thread is found, because threads may create threads meanwhile. */
	while (seize_listed(tracer, target, since != ATTACH_BIRTH, &error) > 0)
		;
	if (!target->threads) {
		attach_remove_target(tracer, target);
		return refusal_explain(pid, error ? error : -ESRCH, message);
	}
	if (!is_waiting) {
		begin_image(tracer, target, 0, start_cpu_ns, since == ATTACH_BIRTH);
	}
	return 0;
}

void attach_new_threads(struct tracer *tracer, struct target *target)
{
	int error = 0;

	seize_listed(tracer, target, false, &error);
}

static struct target *add_child_target(struct tracer *tracer, pid_t pid)
{
	const struct target *parent = attach_find(tracer, (pid_t)procfs_number(pid, "PPid"));
	struct target *target = target_new(pid);

	if (!target)
		return NULL;
	target->next = tracer->targets;
	tracer->targets = target;
	begin_image(tracer, target, parent ? parent->image : 0, 0, true);
	return target;
}

bool attach_shares_memory(pid_t pid, pid_t other)
{
	return !syscall(SYS_kcmp, pid, other, KCMP_VM, 0, 0);
}

/* Is @pid a vfork child? If so, make no timers: it will soon exec, and an exec deletes timers. */
static bool is_about_to_exec(pid_t pid)
{
	return attach_shares_memory(pid, (pid_t)procfs_number(pid, "PPid"));
}

struct tracee *attach_born(struct tracer *tracer, pid_t tid)
{
	pid_t pid = (pid_t)procfs_number(tid, "Tgid");
	struct target *target = pid > 0 ? attach_find(tracer, pid) : NULL;
	struct tracee *tracee = NULL;

	if (!target && pid == tid && tracer->config.follow)
		target = add_child_target(tracer, pid);
	if (target)
		tracee = add_tracee(tracer, target, tid, false);
	if (tracee)
		tracee->is_born = pid != tid || !is_about_to_exec(pid);
	else
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
	return tracee;
}

void attach_end_image(struct tracer *tracer, struct target *target, bool has_ended,
	bool left_by_exec)
{
	if (tracer->waits)
		target_waits_remove(tracer->waits, target, 0);
	target_end(target, &tracer->shared, has_ended, left_by_exec);
}

void attach_end_target(struct tracer *tracer, struct target *target)
{
	sample_credit_target(tracer, target);
	attach_end_image(tracer, target, true, true);
}

void attach_detach_thread(struct tracer *tracer, struct tracee *tracee, int signal)
{
	cpu_timer_forget(tracer, tracee);
	ptrace(PTRACE_DETACH, tracee->tid, NULL, (void *)(intptr_t)signal);
	tracees_remove(&tracer->tracees, tracee);
}

/* Remove all threads of @target but @tid. An exec ended them, and some report no wait status. */
static void remove_other_threads(struct tracer *tracer, const struct target *target, pid_t tid)
{
	struct tracee *tracee = tracees_next(&tracer->tracees, NULL);

	while (tracee) {
		struct tracee *next = tracees_next(&tracer->tracees, tracee);

		if (tracee->target == target && tracee->tid != tid) {
			cpu_timer_forget(tracer, tracee);
			tracees_remove(&tracer->tracees, tracee);
		}
		tracee = next;
	}
}

void attach_exec(struct tracer *tracer, struct target *target, pid_t tid)
{
	struct tracee *tracee = tracees_find(&tracer->tracees, tid);

	remove_other_threads(tracer, target, tid);
	/* An exec deletes the timer. */
	if (tracee)
		cpu_timer_forget(tracer, tracee);
	target->cpu_ns = procfs_cpu_ns((uint32_t)target->pid);
	if (!target->is_waiting)
		attach_end_target(tracer, target);
}

void attach_next_image(struct tracer *tracer, struct target *target, pid_t tid)
{
	struct tracee *tracee;

	target->is_waiting = false;
	maps_release(&target->maps);
	target->range_count = 0;
	begin_image(tracer, target, 0, target->cpu_ns, true);
	tracee = tracees_find(&tracer->tracees, tid);
	if (!tracee)
		tracee = add_tracee(tracer, target, tid, true);
	if (!tracee)
		return;
	tracee->counted_ns = tracees_update(tracee);
	tracee->is_announced = tracee->is_asked = false;
	sample_begin(tracer, tracee);
}
