/* SPDX-License-Identifier: MIT */
/*
 * The one profiler of a process that samples itself, inside libprof/session/: from
 * flameprof_start() to the end of flameprof_stop(). Nobody outside this folder includes this.
 *
 *   IDLE ──start──▶ STARTING ──▶ LIVE ──stop──▶ STOPPING ──▶ IDLE
 *
 * In LIVE the worker may end sampling by itself (max_span_ms, no memory, signal lost); the profile
 * then waits for flameprof_stop().
 *
 *   handlers ──▶ rings ──▶ queue ──▶ worker ──▶ profile ──barrier──▶ flush
 *
 * Locks, none held across a wait, taken in this order when nested:
 *   lock         `phase`, `has_stopper`, `users`
 *   end_lock     makes disarming all threads one step: the worker and a stop may both come to it
 *   counts_lock  `counts` and what they were when last read; whether the sampler's are still there
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
	SESSION_STARTING = 1, /* one thread prepares; to others it is still idle */
	SESSION_LIVE = 2,
	SESSION_STOPPING = 3,
};

#define SESSION_TITLE_BYTES 256

/* The sampler's counters, which only grow, as last read. */
struct session_seen {
	uint64_t paused, dropped, dropped_samples, dropped_bytes, dropped_marks;
	uint64_t ringless_threads, timerless_threads;
	uint64_t vm_paused, vm_dropped;
	uint64_t handler_ns, worker_ns;
};

struct session {
	int is_arena_copied; /* the kernel does not empty a fork child's arena: we do */
	uint32_t status; /* atomic: enum flameprof_status; what flameprof_status() answers */

	pthread_mutex_t lock;
	enum session_phase phase;
	int has_stopper; /* a flameprof_stop() is under way */
	uint32_t
		users; /* atomic, futex: calls that use the queue; counted up under the lock only */

	pthread_mutex_t end_lock;

	pthread_mutex_t counts_lock;
	int has_counts;	 /* there was a session */
	int is_counting; /* the sampler's and the queue's counters are this session's */
	struct flameprof_counters counts; /* since they were read */
	struct session_seen seen;

	/* Written before the worker begins, read by all. */
	struct queue queue;
	struct profile_config config;
	char title[SESSION_TITLE_BYTES];
	uint64_t end_ns; /* CLOCK_MONOTONIC: max_span_ms is over; 0: never */
	int sees_births; /* interposers announce new threads, so the worker need not look often */
	pthread_t worker;
	int32_t worker_tid; /* atomic: 0 when there is none */

	uint32_t ending; /* atomic: the worker shall end */
	uint32_t done;	 /* atomic, futex: it has, everything is in the profile */

	/* The worker's while it runs, then the stopper's. */
	struct store_catalogue *catalogue;
	struct flameprof_profile *profile;
	uint64_t tick_ns; /* when the next look around is due */
	uint32_t bell;	  /* what the doorbell was at the last turn that emptied the rings */
};

extern struct session session __attribute__((visibility("hidden")));

/* ---- using it -------------------------------------------------------------------------------- */

/*
 * Is the session this process's? A child of a raw clone has the parent's, and no worker. Is the
 * caller the worker? Context: signal-safe.
 */
int session_is_this_process(void);
int session_is_worker(void);

/* End sampling and have the worker finish, for a reason that flameprof_status() tells. */
void session_end_by_itself(enum flameprof_status reason);

/* Disarm everything; when it returns no thread will be armed any more. */
void session_disarm(void);

/* The same, until nothing is committed any more, and credit what is due. Context: one thread. */
void session_quiesce(void);

/*
 * Sleep until the word is no longer @seen or CLOCK_MONOTONIC reaches @deadline_ns (UINT64_MAX:
 * never). May return early. Returns 0 or -ETIMEDOUT.
 */
int session_wait(const uint32_t *word, uint32_t seen, uint64_t deadline_ns);
void session_wake(const uint32_t *word);

/* @timeout_ms from now as a deadline. */
uint64_t session_deadline(int timeout_ms);

/*
 * Ends the scope that longjmp() left behind: it still holds the profiler, and is ended before
 * anybody else is told that it is busy. Set with the first scope; atomic, NULL until then.
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

/* The worker thread's function. */
void *worker_main(void *argument);

/* ---- counters -------------------------------------------------------------------------------- */

void diagnostics_begin(void);
/* Add what became of one batch. Context: the worker. */
void diagnostics_add(const struct store_result *result);
/* Note the worker's time, which nobody can read after it. Context: the worker, at its end. */
void diagnostics_worker_ends(void);
/* Take over the counters of sampler, queue and worker for good, before those go. */
void diagnostics_end(void);

/* ---- forks ----------------------------------------------------------------------------------- */

/* From now on a fork child has a profiler that was never started. Context: any thread. */
void session_watch_forks(void);

/* ---- options --------------------------------------------------------------------------------- */
/*
 * struct flameprof_options with defaults put in and values brought into their ranges.
 */

#define SETTINGS_RATE_MAX_HZ 10000u

struct settings {
	unsigned rate_hz;
	enum flameprof_clock clock;
	unsigned depth;
	unsigned max_span_ms;
	size_t ring_bytes;
	size_t queue_bytes;
	size_t profile_bytes;
	const char *title; /* borrowed from the options; NULL: the program's name */
	uint32_t is_paused;
};

/* @options NULL: all defaults. Returns 0, or -EINVAL for what no clamping can mend. */
int settings_from_options(struct settings *settings, const struct flameprof_options *options);

#endif
