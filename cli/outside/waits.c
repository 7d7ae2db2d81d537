/* SPDX-License-Identifier: MIT */
/*
 * Rounds, and whom to look at in one. How one thread is looked at is wait_thread.c's.
 */
#include "cli/outside/waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/gather/pipe_record.h"
#include "cli/gather/procfs.h"
#include "cli/outside/refusal.h"
#include "cli/outside/wait_thread.h"
#include "render/array.h"

#define NS_PER_S 1000000000ULL

/* From round to round, half to one and a half times this: nobody can be in step with it. */
#define ROUND_NS 50000000ULL
#define TELL_NS	 NS_PER_S /* what is in the books is told so often */

/* Of one CPU, in thousandths, for all looks; and what may have been saved up. */
#define SHARE_PERMILLE 15
#define SAVED_NS       (50 * ROUND_NS * SHARE_PERMILLE / 1000)
#define LOOK_NS	       15000 /* the first guess of what a look takes */

/* A thread that has no number by then has no ring. */
#define UNNUMBERED_NS (2 * ROUND_NS)

#define FILES_MAX      512u
#define THREADS_MAX    65536u
#define LAST_LOOKS_MAX 4096u /* at the end, before anything is drawn */

struct process {
	struct process *next;
	struct target *target; /* borrowed */
	uint64_t begun_ns, begun_cpu_ns;
	uint64_t cpu_ns;  /* when it was last looked at */
	unsigned links;	  /* threads, as their folder has it */
	uint64_t ran_ns;  /* when it was last seen to have run: whom nobody looked at since may have
			   */
	uint64_t idle_ns; /* when it was last seen not to have */
	uint64_t listed_ns;	     /* when its threads were last listed */
	bool has_changed;	     /* a thread has gone */
	struct wait_thread *threads; /* by tid */
	unsigned count, room;
};

struct waits {
	struct waits_config config;
	struct wait_looker looker;
	struct process *processes;
	unsigned threads;
	uint64_t random;
	uint64_t next_ns, last_ns, told_ns;
	int64_t saved_ns; /* of CPU time, to be spent on looks */
	uint64_t look_ns; /* what one takes, on average */
	struct record_waits record;
	struct memory memory;
	uint64_t frames[WIRE_MAX_DEPTH + 1];
};

static uint64_t random_below(struct waits *waits, uint64_t limit)
{
	/* xorshift64 */
	waits->random ^= waits->random << 13;
	waits->random ^= waits->random >> 7;
	waits->random ^= waits->random << 17;
	return waits->random % limit;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

struct waits *waits_new(const struct waits_config *config)
{
	struct waits *waits = calloc(1, sizeof(*waits));
	struct rlimit limit;

	if (!waits)
		return NULL;
	waits->config = *config;
	waits->random = clock_now_ns() * 0x9e3779b97f4a7c15ULL | 1;
	waits->last_ns = waits->told_ns = clock_now_ns();
	waits->look_ns = LOOK_NS;
	waits->saved_ns = SAVED_NS;
	waits->looker = (struct wait_looker){
		.shared = config->shared,
		.period_ns = config->period_ns,
		.memory = &waits->memory,
		.frames = waits->frames,
		.files_max = FILES_MAX,
	};
	if (config->has_details)
		waits->looker.details = calloc(WAIT_DETAILS, sizeof(*waits->looker.details));
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 2 < FILES_MAX)
		waits->looker.files_max = (unsigned)limit.rlim_cur / 2;
	return waits;
}

void waits_free(struct waits *waits)
{
	if (!waits)
		return;
	while (waits->processes) {
		struct process *process = waits->processes;

		waits->processes = process->next;
		for (unsigned i = 0; i < process->count; i++)
			wait_thread_release(&waits->looker, &process->threads[i]);
		free(process->threads);
		free(process);
	}
	free(waits->looker.details);
	free(waits);
}

/* The first reason is told. It is found out at once: later it may be another. */
static void note_refusal(struct waits *waits, const struct process *process, int error)
{
	struct diag_message message = {0};

	if (waits->record.refusal[0])
		return;
	refusal_of_looking(process->target->pid, error, &message);
	snprintf(waits->record.refusal, sizeof(waits->record.refusal), "%.190s", message.text);
}

/* ---- threads --------------------------------------------------------------------------------- */

/* It began at @begun_ns with nothing on its clocks; it has not been looked at yet. */
static void set_birth(struct wait_thread *thread, uint64_t begun_ns)
{
	thread->begun_ns = begun_ns;
	thread->begun = (struct procfs_clock){0};
	thread->ready_ns = thread->seen.waited_ns;
	thread->carried_ns = (int64_t)(thread->seen_ns - begun_ns) -
			     (int64_t)(thread->seen.cpu_ns + thread->seen.waited_ns);
}

/* What a thread is called in records; where nobody gave it a number, by one that nobody gives. */
static void number_thread(struct waits *waits, const struct process *process,
	struct wait_thread *thread, bool is_last_try)
{
	uint64_t begun_ns = 0;

	if (thread->number)
		return;
	if (!waits->config.find_thread) {
		thread->number = (uint32_t)thread->tid;
		return;
	}
	thread->number = waits->config.find_thread(
		waits->config.context, process->target->image, thread->tid, &begun_ns);
	if (!thread->number && is_last_try)
		thread->number = 1u << 31 | (uint32_t)thread->tid;
	if (begun_ns > process->begun_ns && begun_ns < thread->begun_ns &&
		thread->tid != process->target->pid)
		set_birth(thread, begun_ns);
}

static void tell_thread(
	struct waits *waits, const struct process *process, struct wait_thread *thread)
{
	number_thread(waits, process, thread, true);
	wait_thread_tell(&waits->looker, thread, process->target);
}

static void end_thread(struct waits *waits, const struct process *process,
	struct wait_thread *thread, uint64_t end_ns)
{
	number_thread(waits, process, thread, true);
	wait_thread_end(&waits->looker, thread, process->target, end_ns);
	waits->threads--;
}

/*
 * Begin with @tid. One that came since the list was last read began some time since then; the main
 * thread of a process whose beginning is known, then; others that are there, now.
 */
static int begin_thread(
	struct waits *waits, struct process *process, pid_t tid, struct wait_thread *thread)
{
	uint64_t now_ns = clock_now_ns();
	bool is_main = tid == process->target->pid, is_born = process->listed_ns != 0;
	int error;

	*thread = (struct wait_thread){.tid = tid};
	error = wait_thread_begin(&waits->looker, thread, process->target);
	if (error == -ENOSYS && is_main)
		note_refusal(waits, process, error);
	if (error)
		return error;
	waits->threads++;
	thread->seen_ns = thread->begun_ns = thread->told_ns = now_ns;
	thread->begun = thread->seen;
	thread->rest_ns = random_below(waits, waits->config.period_ns);
	if (is_born) {
		set_birth(thread, now_ns - (now_ns - process->listed_ns) / 2);
	} else if (is_main && process->begun_ns && process->begun_ns < now_ns) {
		thread->begun_ns = process->begun_ns;
		thread->begun.cpu_ns = process->begun_cpu_ns;
		thread->carried_ns = (int64_t)(now_ns - thread->begun_ns) -
				     (int64_t)(thread->seen.cpu_ns - thread->begun.cpu_ns);
	}
	number_thread(waits, process, thread, false);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

/* The threads of @pid by tid, their number in *@count; owned. NULL: gone, or no memory. */
static pid_t *list_threads(pid_t pid, unsigned *count)
{
	size_t room = procfs_thread_count(pid) + 64u;
	pid_t *tids = malloc(room * sizeof(*tids));
	long all = tids ? procfs_threads(pid, tids, room) : -ENOMEM;

	if (all <= 0) {
		free(tids);
		return NULL;
	}
	/* Those beyond, which came meanwhile, come with the next list. */
	*count = (size_t)all < room ? (unsigned)all : (unsigned)room;
	qsort(tids, *count, sizeof(*tids), by_number);
	return tids;
}

/* Make the table of threads that of those that are there: some ended, some are new. */
static void list_process(struct waits *waits, struct process *process)
{
	unsigned count = 0, old = 0, kept = 0;
	pid_t *tids = list_threads(process->target->pid, &count);
	uint64_t now_ns = clock_now_ns();
	struct wait_thread *threads = tids ? malloc(count * sizeof(*threads)) : NULL;

	for (unsigned i = 0; threads && i < count; i++) {
		while (old < process->count && process->threads[old].tid < tids[i])
			end_thread(waits, process, &process->threads[old++],
				now_ns - (now_ns - process->listed_ns) / 2);
		if (old < process->count && process->threads[old].tid == tids[i])
			threads[kept++] = process->threads[old++];
		else if (waits->threads >= THREADS_MAX)
			waits->record.untracked++;
		else if (!begin_thread(waits, process, tids[i], &threads[kept]))
			kept++;
	}
	free(tids);
	if (!threads)
		return;
	while (old < process->count)
		end_thread(waits, process, &process->threads[old++],
			now_ns - (now_ns - process->listed_ns) / 2);
	free(process->threads);
	process->threads = threads;
	process->count = process->room = kept;
	process->listed_ns = now_ns;
	process->has_changed = kept < count;
}

/* ---- processes ------------------------------------------------------------------------------- */

int waits_add(struct waits *waits, struct target *target, uint64_t begun_ns, uint64_t begun_cpu_ns)
{
	struct process *process = calloc(1, sizeof(*process));

	if (!process)
		return -ENOMEM;
	process->target = target;
	process->begun_ns = begun_ns;
	process->begun_cpu_ns = begun_cpu_ns;
	process->next = waits->processes;
	waits->processes = process;
	return 0;
}

void waits_pass_over(struct waits *waits)
{
	waits->record.unreachable++;
}

void waits_remove(struct waits *waits, const struct target *target, uint64_t end_ns)
{
	struct process **at = &waits->processes, *process;

	while (*at && (*at)->target != target)
		at = &(*at)->next;
	process = *at;
	if (!process)
		return;
	*at = process->next;
	for (unsigned i = 0; i < process->count; i++) {
		struct wait_thread *thread = &process->threads[i];

		wait_thread_close(&waits->looker, thread, target, end_ns);
		end_thread(waits, process, thread, 0);
	}
	free(process->threads);
	free(process);
}

static bool is_unknown(const struct process *process, const struct wait_thread *thread)
{
	return !thread->is_asleep || thread->seen_ns < process->ran_ns;
}

/* Those that slept did so for as long as nobody ran. */
static void rest_threads(const struct process *process)
{
	for (unsigned i = 0; i < process->count; i++)
		if (!is_unknown(process, &process->threads[i]))
			wait_thread_rested(&process->threads[i], process->idle_ns);
}

/* Has it run since the last round? */
static void check_process(struct waits *waits, struct process *process)
{
	pid_t pid = process->target->pid;
	uint64_t cpu_ns = procfs_cpu_ns((uint32_t)pid);
	unsigned links = procfs_thread_count(pid);
	uint64_t now_ns = clock_now_ns();

	if (cpu_ns && !links)
		note_refusal(waits, process, -EACCES);
	if (!cpu_ns || !links)
		return;
	if (cpu_ns == process->cpu_ns && links == process->links) {
		process->idle_ns = now_ns;
		return;
	}
	rest_threads(process);
	if (!process->listed_ns || links != process->links || process->has_changed)
		list_process(waits, process);
	process->cpu_ns = cpu_ns;
	process->links = links;
	process->ran_ns = clock_now_ns();
}

static unsigned count_unknown(const struct process *process)
{
	unsigned count = 0;

	for (unsigned i = 0; i < process->count; i++)
		count += is_unknown(process, &process->threads[i]);
	return count;
}

static void tell_process(struct waits *waits, const struct process *process)
{
	rest_threads(process);
	for (unsigned i = 0; i < process->count; i++)
		if (process->threads[i].seen_ns - process->threads[i].told_ns >= TELL_NS)
			tell_thread(waits, process, &process->threads[i]);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Look at each thread of @process of which something is not known, @chance in 2^32. */
static unsigned look_at_process(struct waits *waits, struct process *process, uint64_t chance)
{
	unsigned looked = 0;
	int error;

	for (unsigned i = 0; i < process->count; i++) {
		struct wait_thread *thread = &process->threads[i];

		if (!is_unknown(process, thread) || random_below(waits, 1ULL << 32) >= chance)
			continue;
		number_thread(
			waits, process, thread, clock_now_ns() - thread->begun_ns > UNNUMBERED_NS);
		if (!thread->number)
			continue;
		looked++;
		error = wait_thread_look(&waits->looker, thread, process->target);
		if (error == -ESRCH)
			process->has_changed = true;
		else if (error)
			note_refusal(waits, process, error);
	}
	return looked;
}

static void look_around(struct waits *waits)
{
	uint64_t began_ns = own_cpu_ns(), spent_ns;
	unsigned wanted = 0, looked = 0, affordable;

	for (struct process *process = waits->processes; process; process = process->next) {
		check_process(waits, process);
		wanted += count_unknown(process);
	}
	spent_ns = own_cpu_ns() - began_ns;
	waits->saved_ns -= (int64_t)spent_ns;
	affordable =
		waits->saved_ns > 0 ? (unsigned)((uint64_t)waits->saved_ns / waits->look_ns) : 0;
	waits->record.wanted += wanted;
	if (!wanted || !affordable)
		return;
	for (struct process *process = waits->processes; process; process = process->next)
		looked += look_at_process(waits, process,
			affordable < wanted ? ((uint64_t)affordable << 32) / wanted : 1ULL << 32);
	waits->record.looked += looked;
	spent_ns = own_cpu_ns() - began_ns - spent_ns;
	waits->saved_ns -= (int64_t)spent_ns;
	if (looked)
		waits->look_ns += (spent_ns / looked + 1) / 8 - waits->look_ns / 8;
}

uint64_t waits_round(struct waits *waits)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < waits->next_ns)
		return waits->next_ns;
	waits->saved_ns += (int64_t)((now_ns - waits->last_ns) * SHARE_PERMILLE / 1000);
	if (waits->saved_ns > (int64_t)SAVED_NS)
		waits->saved_ns = SAVED_NS;
	waits->last_ns = now_ns;
	waits->next_ns = now_ns + ROUND_NS / 2 + random_below(waits, ROUND_NS);
	if (waits->saved_ns > 0)
		look_around(waits);
	if (now_ns - waits->told_ns >= TELL_NS) {
		waits->told_ns = now_ns;
		for (struct process *process = waits->processes; process; process = process->next)
			tell_process(waits, process);
	}
	return waits->next_ns;
}

void waits_finish(struct waits *waits)
{
	struct record_waits *record = &waits->record;

	while (waits->processes) {
		struct process *process = waits->processes;

		check_process(waits, process);
		if (waits->threads <= LAST_LOOKS_MAX)
			look_at_process(waits, process, 1ULL << 32);
		waits_remove(waits, process->target, 0);
	}
	record->looks = waits->looker.looks;
	record->changed = waits->looker.changed;
	pipe_writer_put(
		waits->config.shared->pipe_writer, RECORD_WAITS, record, sizeof(*record), NULL, 0);
}
