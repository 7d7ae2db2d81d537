/* SPDX-License-Identifier: MIT */
/*
 * Each check finds the threads that used CPU time since the last check but had no sample in that
 * time. Their time is added to the cause that /proc shows now, for example that the thread blocks
 * the signal. The library itself reports two further causes when its process ends: a replaced
 * handler, and threads that were too short.
 */
#include "cli/gather/unsampled.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/clock.h"
#include "libprof/procfs.h"
#include "render/array.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S  1000000000ULL

/*
 * Check threads only if the CPU time without samples has grown by MISSING_NS and is more than
 * 1/MISSING_SHARE of all CPU time, because the number of samples varies by chance.
 */
#define MISSING_NS    (20 * NS_PER_MS)
#define MISSING_SHARE 16
/*
 * Skip a thread with a ring that used less than CHANCE_PERIODS periods of CPU time, because it may
 * have no sample by chance. Skip a thread without a ring until it has used USED_NS.
 */
#define CHANCE_PERIODS 4
#define USED_NS	       NS_PER_MS
/* Checks use at most 1/READ_SHARE of a CPU. */
#define READ_SHARE  200
#define THREADS_MAX 4096u

struct unsampled_thread {
	pid_t tid;
	/* Values of the last check: */
	uint64_t cpu_ns;
	uint64_t turns; /* number of times that it got a CPU */
	/* Number of times the thread went to sleep. 0 if the thread has no ring. */
	uint64_t sleeps;
	uint64_t written; /* bytes written to its ring */
};

/* The image that is checked. */
struct subject {
	struct wire_arena *arena;
	const struct wire_slot *slot;
	pid_t pid;
	uint64_t image;
	/* CPU time of the process now */
	uint64_t cpu_ns;
	/* Sampling period. 0 if the arena's rate is 0. */
	uint64_t period_ns;
	/* CPU time that a thread may use without a sample by chance. */
	uint64_t chance_ns;
};

static const struct wire_ring *find_ring(const struct subject *subject, pid_t tid)
{
	for (uint32_t i = 0; i < wire_rings_high(subject->arena); i++) {
		const struct wire_ring *ring = wire_ring(subject->arena, i);

		if (__atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE) >> 2 ==
				(subject->image & ~0ULL >> 2) &&
			__atomic_load_n(&ring->tid, __ATOMIC_RELAXED) == (uint32_t)tid)
			return ring;
	}
	return NULL;
}

static int read_clock(pid_t pid, pid_t tid, struct procfs_clock *clock)
{
	int file = procfs_open(pid, tid, "schedstat");
	int error = file < 0 ? file : procfs_clock_read(file, clock);

	if (file >= 0)
		procfs_close(file);
	return error;
}

/* Find or add the entry of thread @tid. Returns NULL without memory or with THREADS_MAX entries. */
static struct unsampled_thread *find_thread(struct unsampled *unsampled, pid_t tid)
{
	for (unsigned i = 0; i < unsampled->count; i++)
		if (unsampled->threads[i].tid == tid)
			return &unsampled->threads[i];
	if (unsampled->count == THREADS_MAX ||
		ARRAY_GROW(unsampled->threads, unsampled->count, unsampled->room, 16))
		return NULL;
	unsampled->threads[unsampled->count] = (struct unsampled_thread){.tid = tid};
	return &unsampled->threads[unsampled->count++];
}

static enum wire_unsampled cause_without_ring(const struct subject *subject, pid_t tid)
{
	const struct wire_slot *slot = subject->slot;

	if (procfs_flags(subject->pid, tid) & PROCFS_IO_WORKER)
		return WIRE_UNSAMPLED_IO_WORKER;
	/* The cause is unknown if some threads got no ring or timer: this may be one of them. */
	if (slot->ringless_threads || slot->timerless_threads || slot->confined_threads)
		return WIRE_UNSAMPLED_NONE;
	return WIRE_UNSAMPLED_UNANNOUNCED;
}

static uint64_t read_sleeps(pid_t pid, pid_t tid)
{
	struct procfs_switches switches = {.sleeps = 0};
	int file = procfs_open(pid, tid, "status");

	if (file < 0)
		return 0;
	procfs_switches_read(file, &switches);
	procfs_close(file);
	return switches.sleeps > 0 ? (uint64_t)switches.sleeps : 0;
}

/*
 * Was the thread asleep at most kernel ticks? At a tick the kernel checks only the timers of the
 * thread that runs, so a thread that always sleeps at the tick is never sampled. This is not the
 * reason if the thread mostly stopped running because other threads got its CPU.
 */
static bool dodged_ticks(
	const struct unsampled_thread *thread, const struct unsampled_thread *before)
{
	uint64_t turns = thread->turns - before->turns, ns = thread->cpu_ns - before->cpu_ns;

	return turns && ns / turns < clock_tick_ns() / 2 &&
	       4 * (thread->sleeps - before->sleeps) > turns;
}

/* Find out why a thread with a ring had no sample since the check that stored @before. */
static enum wire_unsampled cause_with_ring(const struct subject *subject,
	const struct unsampled_thread *thread, const struct unsampled_thread *before)
{
	uint32_t number = __atomic_load_n(&subject->slot->signal, __ATOMIC_RELAXED);
	struct procfs_status status;
	uint64_t bit;

	if (!number || number > 64 || procfs_status(subject->pid, thread->tid, &status))
		return WIRE_UNSAMPLED_NONE;
	bit = 1ULL << (number - 1);
	if (status.ignored & bit)
		return WIRE_UNSAMPLED_IGNORED;
	if (status.blocked & bit)
		return WIRE_UNSAMPLED_BLOCKED;
	return dodged_ticks(thread, before) ? WIRE_UNSAMPLED_TURNS : WIRE_UNSAMPLED_NONE;
}

static void read_thread(struct unsampled *unsampled, const struct subject *subject, pid_t tid)
{
	const struct wire_ring *ring = find_ring(subject, tid);
	unsigned known = unsampled->count;
	struct unsampled_thread *thread = find_thread(unsampled, tid), before;
	struct procfs_clock clock;
	uint64_t written;

	if (!thread || read_clock(subject->pid, tid, &clock))
		return;
	/* If the clock went back, another thread has the thread id now. */
	if (clock.cpu_ns < thread->cpu_ns)
		*thread = (struct unsampled_thread){.tid = tid};
	/* Skip CPU time that the main thread used before its timer was started. */
	if (known < unsampled->count && tid == subject->pid)
		thread->cpu_ns = subject->slot->start_cpu_ns;
	written = ring ? __atomic_load_n(&ring->written, __ATOMIC_RELAXED) : 0;
	if (written == thread->written &&
		clock.cpu_ns < thread->cpu_ns + (ring ? subject->chance_ns : USED_NS))
		return;
	before = *thread;
	thread->cpu_ns = clock.cpu_ns;
	thread->turns = clock.turns;
	if (ring) {
		thread->sleeps = read_sleeps(subject->pid, tid);
		thread->written = written;
	}
	if (thread->written != before.written)
		return;
	unsampled->ns[ring ? cause_with_ring(subject, thread, &before)
			   : cause_without_ring(subject, tid)] += clock.cpu_ns - before.cpu_ns;
}

static void read_threads(struct unsampled *unsampled, const struct subject *subject)
{
	pid_t *tids = malloc(THREADS_MAX * sizeof(*tids));
	long count = tids ? procfs_threads(subject->pid, tids, THREADS_MAX) : 0;

	for (long i = 0; i < count && i < THREADS_MAX; i++)
		read_thread(unsampled, subject, tids[i]);
	free(tids);
}

/* Returns the CPU time in ns that has no samples; 0 if so little may have none by chance. */
static uint64_t missing_ns(const struct subject *subject)
{
	const struct wire_slot *slot = subject->slot;
	uint64_t start_ns = __atomic_load_n(&slot->start_cpu_ns, __ATOMIC_RELAXED);
	uint64_t delivered = __atomic_load_n(&slot->delivered, __ATOMIC_RELAXED);
	uint64_t used_ns = subject->cpu_ns > start_ns ? subject->cpu_ns - start_ns : 0;
	uint64_t sampled_ns = subject->period_ns ? delivered * subject->period_ns : used_ns;

	return used_ns > sampled_ns && (used_ns - sampled_ns) * MISSING_SHARE > used_ns
		       ? used_ns - sampled_ns
		       : 0;
}

void unsampled_check(struct unsampled *unsampled, struct wire_arena *arena,
	const struct wire_slot *slot, uint64_t cpu_ns)
{
	/* A sampled program may have set the rate to 0. Then no samples are missing. */
	uint32_t rate_hz = __atomic_load_n(&arena->rate_hz, __ATOMIC_RELAXED);
	uint64_t period_ns = rate_hz ? NS_PER_S / rate_hz : 0;
	const struct subject subject = {arena, slot, unsampled->pid, unsampled->image, cpu_ns,
		period_ns, CHANCE_PERIODS * period_ns};
	uint64_t missing = missing_ns(&subject), now_ns = clock_now_ns(), begun_ns;

	/* missing_ns can fall, because deferred samples have arrived since the last check. */
	if (missing < unsampled->missing_ns)
		unsampled->missing_ns = missing;
	if (missing < unsampled->missing_ns + MISSING_NS || now_ns < unsampled->next_ns ||
		arena->clock_hz)
		return;
	unsampled->missing_ns = missing;
	begun_ns = clock_cpu_ns();
	read_threads(unsampled, &subject);
	unsampled->next_ns = now_ns + (clock_cpu_ns() - begun_ns) * READ_SHARE;
}

void unsampled_end(
	struct unsampled *unsampled, const struct wire_slot *slot, struct record_image_end *record)
{
	memcpy(record->unsampled_ns, unsampled->ns, sizeof(record->unsampled_ns));
	record->unsampled_ns[WIRE_UNSAMPLED_SHORT] = slot->short_ns;
	record->short_threads = slot->short_threads;
	record->signal = slot->signal;
	record->is_displaced = slot->is_displaced != 0;
	unsampled_release(unsampled);
}

void unsampled_release(struct unsampled *unsampled)
{
	free(unsampled->threads);
	*unsampled = (struct unsampled){0};
}
