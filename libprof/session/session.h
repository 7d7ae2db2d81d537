/* SPDX-License-Identifier: MIT */
/*
 * A session of the profiler in a process that profiles itself: from flameprof_start() to the end of
 * flameprof_stop(). Used only inside libprof/session/.
 *
 *   IDLE ──start──▶ STARTING ──▶ LIVE ──stop──▶ STOPPING ──▶ IDLE
 *
 * In LIVE the worker thread may end sampling by itself (max_span_ms, no memory, signal lost); then
 * the profile waits for flameprof_stop().
 *
 *   handlers ──▶ rings ──▶ worker ──▶ profile ──barrier──▶ flush
 *
 * Locks, in the order in which they may be nested; no thread waits for another one while it holds a
 * lock:
 *   lock         protects `phase`, `has_stopper`, `users`
 *   end_lock     held while all threads are disarmed, by the worker or flameprof_stop()
 *   counts_lock  protects `counts`, `seen` and `is_counting`
 *   (queue.lock  in the queue)
 */
#ifndef LIBPROF_SESSION_SESSION_H
#define LIBPROF_SESSION_SESSION_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/aggregator/queue.h"
#include "libprof/aggregator/store.h"
#include "libprof/flameprof.h"
#include "libprof/flameprof_profile.h"

enum session_phase {
	SESSION_IDLE = 0,
	/*
	 * One thread is starting the session. flameprof_start() of another thread returns -EBUSY;
	 * all other functions act as in SESSION_IDLE.
	 */
	SESSION_STARTING = 1,
	SESSION_LIVE = 2,
	SESSION_STOPPING = 3,
};

#define SESSION_TITLE_BYTES 256

/* Values of the sampler's counters at the last read. The counters only grow. */
struct session_seen {
	uint64_t paused, dropped, dropped_samples, dropped_bytes, dropped_marks;
	uint64_t ringless_threads, timerless_threads;
	uint64_t vm_paused, vm_dropped;
	uint64_t handler_ns, worker_ns;
};

struct session {
	/*
	 * 1: madvise(MADV_WIPEONFORK) failed, so a fork child must empty its copy of the arena
	 * itself.
	 */
	int is_arena_copied;
	uint32_t status; /* atomic: enum flameprof_status */

	pthread_mutex_t lock;
	enum session_phase phase;
	int has_stopper; /* a flameprof_stop() is running */
	/* Atomic and a futex: number of calls that use the queue. Incremented only under `lock`. */
	uint32_t users;

	pthread_mutex_t end_lock;

	pthread_mutex_t counts_lock;
	int has_counts; /* there was a session in this process */
	/* 1: the counters of the sampler belong to this session. */
	int is_counting;
	struct flameprof_counters counts; /* since the last read */
	struct session_seen seen;

	/* The fields below are written before the worker starts, and not changed after that. */
	struct queue queue;
	struct profile_config config;
	char title[SESSION_TITLE_BYTES];
	/* CLOCK_MONOTONIC when max_span_ms is over; 0: never. */
	uint64_t end_ns;
	/* 1: interposers report new threads, so only the periodic check searches for threads. */
	int sees_births;
	pthread_t worker;
	int32_t worker_tid; /* atomic: 0: no worker */

	uint32_t ending; /* atomic; 1: the worker must end */
	/* Atomic and a futex. 1: the worker has ended, and the profile is complete. */
	uint32_t done;

	/*
	 * The fields below belong to the worker while it runs, then to the thread that stops the
	 * session.
	 */
	struct store_catalogue *catalogue;
	struct flameprof_profile *profile;
	uint64_t tick_ns; /* CLOCK_MONOTONIC of the next check */
	/*
	 * Value of the arena's doorbell, a futex that writers increment, when the rings were
	 * drained last.
	 */
	uint32_t bell;
};

extern struct session session __attribute__((visibility("hidden")));

/* ---- functions of a running session ---------------------------------------------------------- */

/*
 * session_is_this_process() returns 1 if the session belongs to this process: not in a child made
 * by a raw clone(2), which has no worker. session_is_worker() returns 1 if the caller is the
 * worker. Context: signal-safe.
 */
int session_is_this_process(void);
int session_is_worker(void);

/* End sampling and make the worker finish. flameprof_status() then returns @reason. */
void session_end_by_itself(enum flameprof_status reason);

/* Disarm all threads. After the return no thread is armed any more. */
void session_disarm(void);

/*
 * Disarm all threads, wait for running handlers, and record the weight of samples that are due.
 * Context: one thread at a time.
 */
void session_quiesce(void);

/*
 * Sleep until *@word is not @seen, or until CLOCK_MONOTONIC is @deadline_ns (UINT64_MAX: never).
 * May return early. Returns 0 or -ETIMEDOUT.
 */
int session_wait(const uint32_t *word, uint32_t seen, uint64_t deadline_ns);
void session_wake(const uint32_t *word);

/* Returns the CLOCK_MONOTONIC time @timeout_ms from now; UINT64_MAX if @timeout_ms is negative. */
uint64_t session_deadline(int timeout_ms);

/*
 * Points to the function that ends a scope whose block was left by longjmp(), because such a scope
 * would keep the profiler busy. Atomic; NULL until the first scope.
 * @frame  __builtin_frame_address(0) of the function that the program called
 */
extern void (*session_end_left_scope)(const void *frame) __attribute__((visibility("hidden")));

static inline void session_check_left_scope(const void *frame)
{
	void (*end_left)(const void *) = __atomic_load_n(&session_end_left_scope, __ATOMIC_ACQUIRE);

	if (end_left)
		end_left(frame);
}

/* ---- the worker ------------------------------------------------------------------------------ */

void *worker_main(void *argument);

/* ---- counters -------------------------------------------------------------------------------- */

void diagnostics_begin(void);
/* Add the result of one pass over the rings to session.counts. Context: the worker. */
void diagnostics_add(const struct store_result *result);
/* Add the worker's CPU time, which cannot be read later. Context: the worker, at its end. */
void diagnostics_worker_ends(void);
/* Read the counters of sampler and worker for the last time, before they are freed. */
void diagnostics_end(void);

/* ---- forks ----------------------------------------------------------------------------------- */

/*
 * Register a fork handler, so that fork children start without a running profiler. Context: any
 * thread.
 */
void session_watch_forks(void);

/* ---- options --------------------------------------------------------------------------------- */
/* struct settings holds a struct flameprof_options with defaults filled in and values clamped. */

#define SETTINGS_RATE_MAX_HZ 10000u

struct settings {
	unsigned rate_hz;
	enum flameprof_clock clock;
	unsigned depth;
	unsigned max_span_ms;
	size_t ring_bytes;
	size_t profile_bytes;
	const char *title; /* borrowed; NULL: the program's name */
	uint32_t is_paused;
};

/*
 * Fill in @settings from @options (NULL: all defaults). Returns 0, or -EINVAL for unknown values.
 */
int settings_from_options(struct settings *settings, const struct flameprof_options *options);

#endif
