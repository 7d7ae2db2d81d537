/* SPDX-License-Identifier: MIT */
/*
 * The functions of a running session (from flameprof_start() to flameprof_stop()): counting calls
 * that use its queue, ending it, counters, flushes, and fork children. start_stop.c starts and
 * stops the session; worker.c is its thread.
 */
#include "libprof/session/session.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"

#define NS_PER_MS 1000000ULL
/*
 * Longest wait for handlers that are still running when their timers are deleted. Handlers take
 * microseconds. If a debugger stops a thread in a handler, the program must not wait for it; the
 * thread's ring stays claimed.
 */
#define QUIET_MS 1000

struct session session = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.end_lock = PTHREAD_MUTEX_INITIALIZER,
	.counts_lock = PTHREAD_MUTEX_INITIALIZER,
};

void (*session_end_left_scope)(const void *frame);

int session_is_worker(void)
{
	return (int32_t)arch_syscall0(SYS_gettid) ==
	       __atomic_load_n(&session.worker_tid, __ATOMIC_ACQUIRE);
}

int session_is_this_process(void)
{
	return sampler_is_hosted() && (uint32_t)arch_syscall0(SYS_getpid) == sampler.pid;
}

/*
 * Count the caller as a user of the queue until session_leave(). Returns 0; -ESRCH if the profiler
 * does not run; -EDEADLK on the worker.
 */
static int session_enter(void)
{
	int error = -ESRCH;

	if (session_is_worker())
		return -EDEADLK;
	if (!session_is_this_process())
		return -ESRCH;
	pthread_mutex_lock(&session.lock);
	if (session.phase == SESSION_LIVE &&
		__atomic_load_n(&session.status, __ATOMIC_ACQUIRE) == FLAMEPROF_RUNNING) {
		__atomic_fetch_add(&session.users, 1, __ATOMIC_ACQ_REL);
		error = 0;
	}
	pthread_mutex_unlock(&session.lock);
	return error;
}

static void session_leave(void)
{
	__atomic_fetch_sub(&session.users, 1, __ATOMIC_ACQ_REL);
	session_wake(&session.users);
}

void session_disarm(void)
{
	pthread_mutex_lock(&session.end_lock);
	sampler_disarm_all();
	pthread_mutex_unlock(&session.end_lock);
}

void session_quiesce(void)
{
	uint64_t until_ns = clock_monotonic_ns() + QUIET_MS * NS_PER_MS;
	struct timespec moment = {0, 100000};

	session_disarm();
	while (!sampler_is_quiet() && clock_monotonic_ns() < until_ns)
		arch_syscall2(SYS_nanosleep, &moment, NULL);
	sampler_credit_disarmed();
}

void session_end_by_itself(enum flameprof_status reason)
{
	uint32_t running = FLAMEPROF_RUNNING;

	if (!__atomic_compare_exchange_n(
		    &session.status, &running, reason, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&session.ending, 1, __ATOMIC_RELEASE);
	sampler_wake_reader(sampler.arena);
}

int session_wait(const uint32_t *word, uint32_t seen, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t remaining_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec rest = {
		(time_t)(remaining_ns / CLOCK_NS_PER_S), (long)(remaining_ns % CLOCK_NS_PER_S)};

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != seen)
		return 0;
	if (!remaining_ns)
		return -ETIMEDOUT;
	arch_syscall4(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen,
		deadline_ns == UINT64_MAX ? NULL : &rest);
	return 0;
}

void session_wake(const uint32_t *word)
{
	arch_syscall3(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

uint64_t session_deadline(int timeout_ms)
{
	if (timeout_ms < 0)
		return UINT64_MAX;
	return clock_monotonic_ns() + (uint64_t)timeout_ms * NS_PER_MS;
}

/* ---- counters -------------------------------------------------------------------------------- */
/*
 * flameprof_diagnostics(): read and reset the counters of handlers and worker. The handlers'
 * counters only grow, so their values at the last read are stored and subtracted.
 */

/* Returns by how much *@counter has grown since it was *@seen, and updates *@seen. */
static uint64_t growth_since(const uint64_t *counter, uint64_t *seen)
{
	uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
	uint64_t grown = now - *seen;

	*seen = now;
	return grown;
}

/*
 * Add the worker's CPU time. If the clock cannot be read, the worker has ended and has added its
 * time itself. Context: counts_lock is held.
 */
static void collect_worker(clockid_t clock)
{
	uint64_t worker_ns = clock_cpu_ns(clock);

	if (worker_ns > session.seen.worker_ns)
		session.counts.worker_ns += growth_since(&worker_ns, &session.seen.worker_ns);
}

/* Add the growth of the sampler's counters to session.counts. Context: counts_lock is held. */
static void collect_sampler(void)
{
	struct flameprof_counters *counts = &session.counts;
	struct session_seen *seen = &session.seen;
	const struct wire_slot *slot = sampler.slot;
	int32_t worker = __atomic_load_n(&session.worker_tid, __ATOMIC_RELAXED);

	counts->paused_weight += growth_since(&slot->paused, &seen->paused);
	counts->paused_weight += growth_since(&slot->vm_paused, &seen->vm_paused);
	counts->dropped[FLAMEPROF_DROP_RING].weight += growth_since(&slot->dropped, &seen->dropped);
	counts->dropped[FLAMEPROF_DROP_RING].weight +=
		growth_since(&slot->vm_dropped, &seen->vm_dropped);
	counts->dropped[FLAMEPROF_DROP_RING].samples +=
		growth_since(&sampler.dropped_samples, &seen->dropped_samples);
	counts->dropped[FLAMEPROF_DROP_RING].bytes +=
		growth_since(&sampler.dropped_bytes, &seen->dropped_bytes);
	counts->dropped_marks += growth_since(&sampler.dropped_marks, &seen->dropped_marks);
	counts->late_threads += growth_since(&slot->ringless_threads, &seen->ringless_threads);
	counts->late_threads += growth_since(&slot->timerless_threads, &seen->timerless_threads);
	counts->handler_ns += growth_since(&slot->handler_ns, &seen->handler_ns);
	if (worker)
		collect_worker(clock_of_thread(worker));
}

static uint64_t count_threads(void)
{
	uint64_t threads = 0;

	SAMPLER_FOR_EACH_RING(index)
	threads += !!__atomic_load_n(&sampler_thread_at(index)->active, __ATOMIC_RELAXED);
	return threads;
}

void diagnostics_begin(void)
{
	pthread_mutex_lock(&session.counts_lock);
	memset(&session.counts, 0, sizeof(session.counts));
	memset(&session.seen, 0, sizeof(session.seen));
	session.has_counts = 1;
	session.is_counting = 1;
	pthread_mutex_unlock(&session.counts_lock);
}

void diagnostics_add(const struct store_result *result)
{
	struct flameprof_counters *counts = &session.counts;

	pthread_mutex_lock(&session.counts_lock);
	counts->recorded_samples += result->samples;
	counts->recorded_weight += result->weight;
	counts->vm_samples += result->vm_samples;
	counts->vm_weight += result->vm_weight;
	counts->wait_weight += result->wait_weight;
	counts->unseen_weight += result->unseen_weight;
	counts->dropped[FLAMEPROF_DROP_PROFILE].samples += result->full_samples;
	counts->dropped[FLAMEPROF_DROP_PROFILE].weight += result->full_weight;
	counts->dropped[FLAMEPROF_DROP_PROFILE].bytes += result->full_bytes;
	counts->dropped[FLAMEPROF_DROP_DAMAGED].samples += result->damaged_samples;
	counts->dropped[FLAMEPROF_DROP_DAMAGED].bytes += result->damaged_bytes;
	for (unsigned end = 0; end < FLAMEPROF_ENDS; end++)
		counts->ends[end] += result->ends[end];
	pthread_mutex_unlock(&session.counts_lock);
}

void diagnostics_worker_ends(void)
{
	pthread_mutex_lock(&session.counts_lock);
	collect_worker(CLOCK_THREAD_CPUTIME_ID);
	__atomic_store_n(&session.worker_tid, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&session.counts_lock);
}

void diagnostics_end(void)
{
	pthread_mutex_lock(&session.counts_lock);
	collect_sampler();
	session.is_counting = 0;
	pthread_mutex_unlock(&session.counts_lock);
}

int flameprof_diagnostics(struct flameprof_counters *out)
{
	int error = 0;

	if (!out)
		return -EINVAL;
	pthread_mutex_lock(&session.counts_lock);
	if (session.is_counting) {
		collect_sampler();
		session.counts.threads = count_threads();
	}
	if (session.has_counts) {
		*out = session.counts;
		memset(&session.counts, 0, sizeof(session.counts));
	} else {
		error = -ESRCH;
	}
	pthread_mutex_unlock(&session.counts_lock);
	return error;
}

/* ---- flush and reset ------------------------------------------------------------------------- */
/*
 * flameprof_flush() and flameprof_reset(): add a barrier to the queue behind all committed samples,
 * and wait until the worker reaches the barrier.
 */

/*
 * Store the profile up to now in *@out, owned by the caller. The worker continues with an empty
 * profile.
 */
static int replace_profile(struct flameprof_profile **out, int timeout_ms)
{
	struct barrier barrier = {.state = BARRIER_WAITING};
	int error;

	session_check_left_scope(__builtin_frame_address(0));
	error = session_enter();
	if (error)
		return error;
	barrier.next = profile_new(&session.config);
	if (!barrier.next) {
		/*
		 * Without memory for another profile, end sampling and keep the current profile for
		 * flameprof_stop().
		 */
		session_end_by_itself(FLAMEPROF_NO_MEMORY);
		error = -ENOMEM;
		goto out;
	}
	error = queue_add_barrier(&session.queue, &barrier);
	if (!error)
		error = queue_wait(&barrier, timeout_ms);
	if (error)
		flameprof_profile_free(barrier.next);
	else
		*out = barrier.result;
out:
	session_leave();
	return error;
}

int flameprof_flush(struct flameprof_profile **profile, int timeout_ms)
{
	return profile ? replace_profile(profile, timeout_ms) : flameprof_reset(timeout_ms);
}

int flameprof_reset(int timeout_ms)
{
	struct flameprof_profile *profile = NULL;
	int error = replace_profile(&profile, timeout_ms);

	flameprof_profile_free(profile);
	return error;
}

/* ---- forks ----------------------------------------------------------------------------------- */
/*
 * A fork child is not sampled and has no worker; its profiler appears never started. No lock is
 * taken before the fork, because the program would have to wait for it; the child, which has one
 * thread, initialises all locks instead. Memory that the parent's worker was using stays allocated
 * in the child, shared copy-on-write.
 */

static void reset_in_child(void)
{
	int is_arena_copied = session.is_arena_copied;

	if (!sampler_is_hosted())
		return;
	if (is_arena_copied)
		madvise(sampler.arena, wire_arena_bytes(sampler.blocks), MADV_DONTNEED);
	sampler_reset_in_child();
	tasks_reset_in_child();
	/* The child inherits the signal handler, which compares this pid. */
	sampler.pid = (uint32_t)arch_syscall0(SYS_getpid);
	memset(&session, 0, sizeof(session));
	session.is_arena_copied = is_arena_copied;
	session.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	session.end_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	session.counts_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void register_handlers(void)
{
	pthread_atfork(NULL, NULL, reset_in_child);
}

void session_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
}
