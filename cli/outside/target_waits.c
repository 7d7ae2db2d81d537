/* SPDX-License-Identifier: MIT */
/*
 * Implement the callbacks of waits.h (struct waits_calls). They read another process's memory
 * without ptrace(2).
 */
#include "cli/outside/target_waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/gather/pipe_record.h"
#include "cli/outside/refusal.h"
#include "cli/outside/stackwalk.h"
#include "cli/outside/target_language.h"
#include "cli/outside/wait_lock.h"
#include "libprof/procfs.h"
#include "libprof/waits/waits.h"

#define FILES_MAX 512u
/*
 * CPU time in ns that one round may use to find its threads in language runtimes. If a thread is
 * not found in this time, its stack gets no language frames.
 */
#define SEARCH_NS 2000000u

struct target_waits {
	struct target_waits_config config;
	struct waits *waits;
	uint64_t unreachable;
	char refusal[sizeof(((struct record_waits *)NULL)->refusal)];
	struct memory memory;
	/* Number of walks whose language frames were left out because they were inconsistent. */
	uint64_t kept_native;
	bool is_kept_native; /* kept_native includes the last walk */
};

static int put(struct target_waits *waits, enum record_type type, void *head, size_t head_bytes,
	const void *tail, size_t tail_bytes)
{
	return pipe_writer_put(
		waits->config.shared->pipe_writer, type, head, head_bytes, tail, tail_bytes);
}

/* Returns the CPU time of @process in ns. If it has not changed, none of its threads has run. */
static uint64_t activity(void *context, const struct wait_process *process)
{
	(void)context;
	return procfs_cpu_ns((uint32_t)process->pid);
}

static unsigned thread_count(void *context, const struct wait_process *process)
{
	(void)context;
	return procfs_thread_count(process->pid);
}

static long threads(void *context, const struct wait_process *process, pid_t *tids, size_t room)
{
	(void)context;
	return procfs_threads(process->pid, tids, room);
}

static uint32_t find_thread(
	void *context, const struct wait_process *process, pid_t tid, uint64_t *begun_ns)
{
	const struct target_waits_config *config = &((struct target_waits *)context)->config;

	return config->find_thread
		       ? config->find_thread(config->context, process->image, tid, begun_ns)
		       : (uint32_t)tid;
}

static bool has_left(void *context, const struct wait_process *process)
{
	const struct target_waits_config *config = &((struct target_waits *)context)->config;

	return config->has_left && config->has_left(config->context, process->target);
}

static bool is_paused(void *context, const struct wait_process *process, uint64_t *since_ns)
{
	const struct target_waits_config *config = &((struct target_waits *)context)->config;

	return config->is_paused && config->is_paused(config->context, process->target, since_ns);
}

static struct unwind_result walk(void *context, const struct wait_process *process,
	struct wait_thread *thread, uintptr_t pc, uintptr_t sp, uint64_t *frames)
{
	struct target_waits *waits = context;
	struct target *target = process->target;
	struct stackwalk walk = {
		.target = target, .shared = waits->config.shared, .memory = &waits->memory};
	struct unwind_result result;

	if (!target->has_other_tids)
		walk.runs.thread.tid = (uint32_t)thread->tid;
	walk.runs.known = thread->walk_state;
	memory_begin(&waits->memory, process->pid);
	result = stackwalk_asleep(&walk, pc, sp, frames);
	thread->walk_state = walk.runs.known;
	waits->is_kept_native = !walk.runs.is_whole;
	waits->kept_native += waits->is_kept_native;
	return result;
}

static void forget(void *context, const struct wait_process *process)
{
	struct target_waits *waits = context;

	target_language_withdraw(process->target);
	waits->kept_native -= waits->is_kept_native;
	waits->is_kept_native = false;
}

static pid_t lock_owner(
	void *context, const struct wait_process *process, const struct wait_lock *lock)
{
	(void)context;
	return wait_lock_read(lock, process->pid);
}

/* Keep only the reason of the first failed read. Find the reason now, because it may change. */
static void refused(void *context, const struct wait_process *process, int error)
{
	struct target_waits *waits = context;
	struct diag_message message = {0};

	if (waits->refusal[0])
		return;
	refusal_of_waits(process->pid, error, &message);
	snprintf(waits->refusal, sizeof(waits->refusal), "%.190s", message.text);
}

/* Returns thread @tid's id in its process's own PID namespace; 0 if unknown (e.g. it has ended). */
static uint32_t inner_tid(const struct wait_process *process, pid_t tid)
{
	const struct target *target = process->target;
	pid_t inner = target->has_other_tids ? procfs_inner_pid(tid) : 0;

	if (!target->has_other_tids)
		return (uint32_t)tid;
	return inner == tid ? 0 : (uint32_t)inner;
}

static int put_thread(void *context, const struct wait_process *process, uint32_t number, pid_t tid,
	const char comm[WIRE_COMM_BYTES])
{
	struct record_thread record = {
		.image = process->image, .number = number, .tid = inner_tid(process, tid)};

	memcpy(record.comm, comm, sizeof(record.comm));
	return put(context, RECORD_THREAD, &record, sizeof(record), NULL, 0);
}

static void put_sample(void *context, const struct wait_process *process,
	const struct wire_sample *sample, const uint64_t *frames)
{
	const struct target_waits *waits = context;

	pipe_writer_put_sample(waits->config.shared->pipe_writer, process->image, sample, frames);
}

static void put_text(
	void *context, const struct wait_process *process, uint64_t address, const char *text)
{
	struct record_code record = {.image = process->image, .space = address, .bytes = 1};

	put(context, RECORD_CODE, &record, sizeof(record), text, strlen(text) + 1);
}

static void put_life(
	void *context, const struct wait_process *process, const struct wait_life *life)
{
	struct record_life record = {
		.image = process->image,
		.thread = life->number,
		.tid = inner_tid(process, life->tid),
		.span_ns = life->span_ns,
		.cpu_ns = life->cpu_ns,
		.paused_ns = life->paused_ns,
	};

	memcpy(record.comm, life->comm, sizeof(record.comm));
	put(context, RECORD_LIFE, &record, sizeof(record), NULL, 0);
}

static const struct waits_calls calls = {
	.now_ns = clock_now_ns,
	.activity = activity,
	.thread_count = thread_count,
	.threads = threads,
	.find_thread = find_thread,
	.walk = walk,
	.forget = forget,
	.lock_of = wait_lock_of,
	.lock_owner = lock_owner,
	.is_paused = is_paused,
	.has_left = has_left,
	.refused = refused,
	.put_thread = put_thread,
	.put_sample = put_sample,
	.put_text = put_text,
	.put_life = put_life,
};

struct target_waits *target_waits_new(const struct target_waits_config *config)
{
	struct target_waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return NULL;
	waits->config = *config;
	waits->waits = waits_new(&(struct waits_config){
		.calls = &calls,
		.context = waits,
		.period_ns = config->period_ns,
		.files_max = FILES_MAX,
		.has_details = config->has_details,
		.has_thread_ends = config->has_left != NULL,
	});
	if (waits->waits)
		return waits;
	free(waits);
	return NULL;
}

void target_waits_free(struct target_waits *waits)
{
	if (waits)
		waits_free(waits->waits);
	free(waits);
}

int target_waits_add(
	struct target_waits *waits, struct target *target, uint64_t begun_ns, uint64_t begun_cpu_ns)
{
	const struct wait_process process = {
		.pid = target->pid, .image = target->image, .target = target};

	return waits_add(waits->waits, &process, begun_ns, begun_cpu_ns);
}

void target_waits_pass_over(struct target_waits *waits)
{
	waits->unreachable++;
}

void target_waits_end_thread(
	struct target_waits *waits, const struct target *target, const struct waits_end *end)
{
	waits_end_thread(waits->waits, target, end);
}

void target_waits_remove(struct target_waits *waits, const struct target *target, uint64_t end_ns)
{
	waits_remove(waits->waits, target, end_ns);
}

uint64_t target_waits_round(struct target_waits *waits)
{
	struct target_shared *shared = waits->config.shared;
	uint64_t next_ns;

	shared->search_ns = 0;
	shared->search_max_ns = SEARCH_NS;
	next_ns = waits_round(waits->waits);
	shared->search_max_ns = 0;
	return next_ns;
}

void target_waits_finish(struct target_waits *waits)
{
	struct record_totals totals = {.unknown_runtimes = 0};
	struct record_waits record;
	struct diag_message message = {0};
	struct waits_counts counts;

	waits_finish(waits->waits, &counts);
	totals.counts.wait_reads_due = counts.wanted;
	totals.counts.wait_reads_done = counts.observed;
	totals.counts.stacks_read = counts.walks;
	totals.counts.stacks_changed = counts.changed;
	totals.counts.untracked = counts.untracked;
	totals.counts.unreachable = waits->unreachable;
	totals.counts.kept_native = waits->kept_native;
	put(waits, RECORD_TOTALS, &totals, sizeof(totals), NULL, 0);
	if (counts.walks && !waits->refusal[0] && refusal_of_memory(&message))
		snprintf(waits->refusal, sizeof(waits->refusal), "%.190s", message.text);
	memcpy(record.refusal, waits->refusal, sizeof(record.refusal));
	put(waits, RECORD_WAITS, &record, sizeof(record), NULL, 0);
}
