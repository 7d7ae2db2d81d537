/* SPDX-License-Identifier: MIT */
/*
 * libflameprof, for programs that link it: profile this process, or a part of its life, and get the
 * result as an object. flameprof_profile.h reads and writes that profile, flameprof_scope.h
 * profiles a block, flameprof_stub.h names generated code. The manual is libflameprof(3).
 *
 * A process has one profiler. If it runs under flamerun, flamerun samples it: flameprof_start()
 * then returns -EBUSY; pause, resume and marks work in both cases.
 *
 * Errors are negative errno values. Out-parameters are written only on success.
 *
 * Unless a function of a flameprof*.h documents NULL, a NULL argument makes it do nothing and
 * return -EINVAL, NULL if it returns a pointer, or 0 if it returns a count without errors. An array
 * of 0 elements may be NULL.
 *
 * Context, unless stated otherwise: any thread, not a signal handler, not between vfork() and exec.
 */
#ifndef FLAMEPROF_H
#define FLAMEPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLAMEPROF_API __attribute__((visibility("default")))

/* Initialises fields that are not named to zero, without compiler warnings in C++. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define FLAMEPROF_ZERO \
	{              \
	}
#else
#define FLAMEPROF_ZERO
#endif

/* Returns the library's version, "major.minor.patch". Context: signal-safe, any thread. */
FLAMEPROF_API const char *flameprof_version(void);

/* Returns 1 while this process is sampled, by itself or by flamerun, else 0. Signal-safe. */
FLAMEPROF_API int flameprof_active(void);

/* ---- control --------------------------------------------------------------------------------- */

enum flameprof_clock {
	FLAMEPROF_CLOCK_CPU = 0, /* CPU time of each thread */
	/*
	 * Elapsed time of every thread. Time on a CPU is sampled as with FLAMEPROF_CLOCK_CPU. The
	 * profiler's worker thread observes threads that are off CPU, 20 times a second at random
	 * moments, without waking them. The time between two observations of a thread counts for
	 * the state that the second one finds.
	 * The innermost frame of a waiting stack has no address. Its name says what the thread
	 * waits for: "[futex]", "[read: pipe]", "[nanosleep]"; "[no CPU]" if the thread is
	 * runnable; "[waiting]" if the state could not be read.
	 * Observations use at most 2 % of a CPU; if there are too many threads for that,
	 * observations become rarer.
	 */
	FLAMEPROF_CLOCK_ELAPSED = 1,
	/*
	 * No clock, timers or signals: the profile has only the stacks of
	 * flameprof_record_vm_stack(). The period is that of flameprof_interrupt_enable(), or
	 * 1/`rate` if ticks are not enabled when flameprof_start() is called.
	 */
	FLAMEPROF_CLOCK_VM = 2
};

/* Options of flameprof_start(). 0 in a field selects its default, given in brackets. */
struct flameprof_options {
	/* Samples per second of the clock, for each thread [197]; 1..10000. */
	unsigned rate FLAMEPROF_ZERO;
	/* [FLAMEPROF_CLOCK_CPU] */
	enum flameprof_clock clock FLAMEPROF_ZERO;
	/* Frames that are kept of a stack, from the innermost one on [4096]; 1..4096. */
	unsigned depth FLAMEPROF_ZERO;
	/* Stop sampling after this time, even without flameprof_stop() [0: never]. */
	unsigned max_span_ms FLAMEPROF_ZERO;
	/*
	 * Memory for samples of one thread that the worker has not read yet [90 KiB]; 4 KiB..90
	 * KiB. It also limits the depth of a stack, at 8 bytes per frame.
	 */
	size_t ring_bytes FLAMEPROF_ZERO;
	/*
	 * Memory of one profile [256 MiB]; 64 KiB..16 GiB. Samples that do not fit are counted as
	 * dropped.
	 */
	size_t profile_bytes FLAMEPROF_ZERO;
	/* Title of pictures; copied [NULL: the program's name]. */
	const char *title FLAMEPROF_ZERO;
	/* FLAMEPROF_START_* */
	unsigned flags FLAMEPROF_ZERO;
	/* zero */
	unsigned reserved[7] FLAMEPROF_ZERO;
};

/* Start paused: record nothing until flameprof_resume(). */
#define FLAMEPROF_START_PAUSED 1u

/*
 * Start sampling all existing and future threads of this process.
 *
 * @options  borrowed for the call; NULL: all defaults. Values out of range are clamped.
 *
 * Returns 0; -EBUSY while the profiler runs, after it ended by itself until flameprof_stop() is
 * called, and under flamerun; -EINVAL for an unknown clock or flag or a non-zero reserved field;
 * -ENOSYS on a C library before glibc 2.35; -EPERM if another profiler uses SIGVTALRM, or a seccomp
 * filter of this process forbids the system calls; -ENOMEM, -EAGAIN from the system.
 */
FLAMEPROF_API int flameprof_start(const struct flameprof_options *options);

struct flameprof_profile;

/*
 * Return the profile recorded so far and continue with an empty one. The returned profile holds
 * every sample that was recorded before the call, and none that is recorded after the return.
 * Concurrent callers are served in order. Dropped samples are missing in the profile;
 * flameprof_diagnostics() counts them.
 *
 * @profile     receives the profile, which the caller frees by flameprof_profile_free(). NULL:
 *              discard the profile
 * @timeout_ms  longest wait; -1: no limit
 *
 * Returns 0; -ESRCH if the profiler does not run; -ETIMEDOUT; -ECANCELED if flameprof_stop() or the
 * profiler's own end came first; -ENOMEM, which ends sampling (FLAMEPROF_NO_MEMORY); -EDEADLK on
 * the profiler's worker thread. After a failed call the samples are in the next profile.
 */
FLAMEPROF_API int flameprof_flush(struct flameprof_profile **profile, int timeout_ms);

/*
 * Stop sampling and return the profile since the last flameprof_flush(). Other threads that wait in
 * flameprof_flush() get -ECANCELED at once.
 *
 * @profile     as for flameprof_flush()
 * @timeout_ms  as for flameprof_flush()
 *
 * Returns 0; -ESRCH if the profiler does not run; -ETIMEDOUT: sampling has stopped, but the profile
 * is not ready, and another call fetches it; -EBUSY while another thread is stopping; -EDEADLK on
 * the profiler's worker thread.
 */
FLAMEPROF_API int flameprof_stop(struct flameprof_profile **profile, int timeout_ms);

/*
 * Discard the samples recorded so far. Waits like flameprof_flush(). Returns as flameprof_flush().
 */
FLAMEPROF_API int flameprof_reset(int timeout_ms);

enum flameprof_status {
	FLAMEPROF_STOPPED = 0, /* not started, or stopped */
	FLAMEPROF_RUNNING = 1,
	FLAMEPROF_STOPPING = 2, /* flameprof_stop() has begun */
	/* max_span_ms has passed. flameprof_stop() returns the profile. */
	FLAMEPROF_TIMEOUT = 3,
	/*
	 * There was no memory for another profile, so sampling ended. flameprof_stop() returns the
	 * profile.
	 */
	FLAMEPROF_NO_MEMORY = 4,
	FLAMEPROF_UNDER_FLAMERUN = 5, /* flamerun samples this process */
	/*
	 * The program installed its own SIGVTALRM handler, so sampling ended. flameprof_stop()
	 * returns the profile.
	 */
	FLAMEPROF_SIGNAL_LOST = 6
};

/* Returns the profiler's state. Context: signal-safe, any thread. */
FLAMEPROF_API enum flameprof_status flameprof_status(void);

/*
 * Record nothing until flameprof_resume(), also under flamerun. Calls do not nest: one resume ends
 * all pauses. flameprof_diagnostics() counts the weight that is left out. Waiting threads are
 * observed 20 times a second: the time between two observations is left out if the profiler was
 * paused at the first one, else recorded.
 * Returns 0, or -ESRCH if this process is not sampled. Context: signal-safe, any thread.
 */
FLAMEPROF_API int flameprof_pause(void);
FLAMEPROF_API int flameprof_resume(void);

/*
 * Record a mark: a name with the current time and thread.
 *
 * @name  borrowed for the call; cut after FLAMEPROF_MARK_BYTES
 *
 * Returns 0; -ESRCH if this process is not sampled; -ENOSPC if too many marks wait to be read: the
 * mark is dropped and counted. Marks that do not fit into the profile are counted as dropped, too.
 * Context: signal-safe, any thread.
 */
#define FLAMEPROF_MARK_BYTES 255
FLAMEPROF_API int flameprof_mark(const char *name);

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* Why samples were dropped. */
enum flameprof_drop {
	/* More than ring_bytes of one thread's samples were unread. */
	FLAMEPROF_DROP_RING = 0,
	FLAMEPROF_DROP_PROFILE = 1, /* profile_bytes were in use */
	FLAMEPROF_DROP_DAMAGED = 2, /* a record was overwritten */
	FLAMEPROF_DROPS
};

/* How the unwinding of a stack ended. */
enum flameprof_end {
	FLAMEPROF_END_ROOT = 0,	  /* complete, at the thread's start */
	FLAMEPROF_END_DEPTH = 1,  /* cut at `depth` frames */
	FLAMEPROF_END_LOST = 2,	  /* no unwind rule for an address */
	FLAMEPROF_END_MEMORY = 3, /* the stack could not be read */
	FLAMEPROF_ENDS
};

/*
 * Counters since the last flameprof_diagnostics() or flameprof_start(). A weight is a number of
 * periods.
 */
struct flameprof_counters {
	uint64_t recorded_samples;
	uint64_t recorded_weight;
	/* Weight of samples that were due while the profiler was paused. */
	uint64_t paused_weight;
	struct {
		uint64_t samples, weight, bytes;
	} dropped[FLAMEPROF_DROPS];
	/* Time in the signal handler, extrapolated from every 16th call. */
	uint64_t handler_ns;
	/* CPU time of the profiler's own threads. */
	uint64_t worker_ns;
	uint64_t ends[FLAMEPROF_ENDS]; /* weight by end of unwinding */
	uint64_t threads;	   /* being sampled now */
	uint64_t late_threads;	   /* threads that could not be sampled */
	uint64_t dropped_marks;
	/* The part of recorded_* that flameprof_record_vm_stack() recorded. */
	uint64_t vm_samples, vm_weight;
	/* The part of recorded_weight that is off CPU (FLAMEPROF_CLOCK_ELAPSED). */
	uint64_t wait_weight;
	/* The part of wait_weight whose state could not be read; its leaf is "[waiting]". */
	uint64_t unseen_weight;
	uint64_t reserved[4];
};

/*
 * Read the counters and reset them. The counters stay readable after flameprof_stop();
 * flameprof_start() clears them.
 * Returns 0, or -ESRCH if the profiler never ran in this process.
 */
FLAMEPROF_API int flameprof_diagnostics(struct flameprof_counters *out);

#ifdef __cplusplus
}
#endif

#endif
