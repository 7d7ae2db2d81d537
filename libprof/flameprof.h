/* SPDX-License-Identifier: MIT */
/*
 * libflameprof, for programs that link it: profile this process, or a part of its life, and hold
 * the result in the hand. What a profile contains is in flameprof_profile.h, scopes in
 * flameprof_scope.h, names for generated code in flameprof_stub.h. libflameprof(3) is the manual.
 *
 * There is one profiler in a process. A process that runs under flamerun is sampled by flamerun:
 * flameprof_start() answers -EBUSY there, while pause, resume and marks work in both.
 *
 * Errors are negative errno values. Out-parameters are written only on success.
 *
 * Unless a function of any flameprof*.h documents what NULL means, it refuses NULL and changes
 * nothing: it returns -EINVAL, or NULL if it returns a pointer, or 0 if it returns a count without
 * errors. A function without a result does nothing. An array of 0 elements may be NULL.
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

/* In C++, fields that are not named are zero, and no compiler asks for them. */
#if defined(__cplusplus) && __cplusplus >= 201402L
#define FLAMEPROF_ZERO \
	{              \
	}
#else
#define FLAMEPROF_ZERO
#endif

/* The library's version, "major.minor.patch". Context: signal-safe, any thread. */
FLAMEPROF_API const char *flameprof_version(void);

/* 1 while this process is being sampled, by itself or by flamerun, else 0. Context: signal-safe. */
FLAMEPROF_API int flameprof_active(void);

/* ---- control --------------------------------------------------------------------------------- */

enum flameprof_clock {
	FLAMEPROF_CLOCK_CPU = 0, /* time each thread spends on a CPU */
	/*
	 * Elapsed time, every second of every thread: on a CPU as above; off it by looking from the
	 * profiler's worker thread, 20 times a second at random moments. Who sleeps is not
	 * interrupted, and what passes between two looks counts where the later one finds the
	 * thread. The innermost frame of a stack that waits has no address and is named for what
	 * is waited for: "[futex]", "[read: pipe]", "[nanosleep]"; "[no CPU]" is ready to run, and
	 * "[waiting]" could not be seen. All looking takes two hundredths of a CPU at most; beyond
	 * that it is done more rarely.
	 */
	FLAMEPROF_CLOCK_ELAPSED = 1,
	/*
	 * None: no timers and no signals, only what flameprof_record_vm_stack() brings. A period is
	 * one of flameprof_interrupt_enable(); `rate` counts only when that comes later.
	 */
	FLAMEPROF_CLOCK_VM = 2
};

/* All zero is a good choice: each 0 stands for the default. */
struct flameprof_options {
	/* samples per second of clock, for each thread [197]; 1..10000 */
	unsigned rate FLAMEPROF_ZERO;
	/* [FLAMEPROF_CLOCK_CPU] */
	enum flameprof_clock clock FLAMEPROF_ZERO;
	/* innermost frames kept of a stack [4096]; 1..4096 */
	unsigned depth FLAMEPROF_ZERO;
	/* end a profiler that nobody stopped after this time [0: never] */
	unsigned max_span_ms FLAMEPROF_ZERO;
	/* what one thread may be ahead of the worker [90 KiB]; 4 KiB..90 KiB. No stack has more
	 * frames than fit, at 8 bytes each */
	size_t ring_bytes FLAMEPROF_ZERO;
	/* what may wait for the worker besides [16 MiB]; 1..1 GiB. A batch is at most an eighth of
	 * it */
	size_t queue_bytes FLAMEPROF_ZERO;
	/* memory of one profile [256 MiB]; 64 KiB..16 GiB. Stacks that no longer fit are counted as
	 * dropped */
	size_t profile_bytes FLAMEPROF_ZERO;
	/* of the pictures; copied [NULL: the program's name] */
	const char *title FLAMEPROF_ZERO;
	/* FLAMEPROF_START_* */
	unsigned flags FLAMEPROF_ZERO;
	/* zero */
	unsigned reserved[7] FLAMEPROF_ZERO;
};

/* Record nothing until flameprof_resume(). */
#define FLAMEPROF_START_PAUSED 1u

/*
 * Begin sampling all threads of this process, those that exist and those to come.
 *
 * @options  borrowed for the call; NULL: all defaults. Values out of range are clamped.
 *
 * Returns 0; -EBUSY while the profiler runs or an ended one waits for flameprof_stop(), and under
 * flamerun; -EINVAL for an unknown clock, flag or a reserved field; -ENOSYS on a C library before
 * glibc 2.35; -EPERM when another profiler holds SIGVTALRM, or this process has forbidden itself
 * system calls (seccomp(2)); -ENOMEM, -EAGAIN from the system.
 */
FLAMEPROF_API int flameprof_start(const struct flameprof_options *options);

struct flameprof_profile;

/*
 * Hand out what was recorded so far and go on with an empty profile. The profile holds every sample
 * committed before the call and none that is committed after its return; several callers are served
 * in order. A sample that had to be dropped is missing here and counted in the diagnostics.
 *
 * @profile     owned by the caller: flameprof_profile_free(). NULL: it is thrown away
 * @timeout_ms  how long to wait; -1: without limit
 *
 * Returns 0; -ESRCH when the profiler does not run; -ETIMEDOUT; -ECANCELED when flameprof_stop() or
 * the profiler's own end came first; -ENOMEM, which ends sampling (FLAMEPROF_NO_MEMORY); -EDEADLK
 * on the profiler's worker thread. A failed call has taken nothing: its samples are in the next
 * profile.
 */
FLAMEPROF_API int flameprof_flush(struct flameprof_profile **profile, int timeout_ms);

/*
 * End sampling. Flushes that wait are woken with -ECANCELED at once.
 *
 * @profile     as in flameprof_flush(): all that no flush has taken
 * @timeout_ms  likewise
 *
 * Returns 0; -ESRCH when there is nothing to stop; -ETIMEDOUT: sampling has ended, the profile is
 * not ready yet and a further call fetches it; -EBUSY while another thread is stopping; -EDEADLK on
 * the profiler's worker thread.
 */
FLAMEPROF_API int flameprof_stop(struct flameprof_profile **profile, int timeout_ms);

/* Throw away what was recorded so far. Returns and waits as flameprof_flush(). */
FLAMEPROF_API int flameprof_reset(int timeout_ms);

enum flameprof_status {
	FLAMEPROF_STOPPED = 0, /* not started, or stopped */
	FLAMEPROF_RUNNING = 1,
	FLAMEPROF_STOPPING = 2, /* flameprof_stop() has begun */
	FLAMEPROF_TIMEOUT = 3,	/* max_span_ms is over: the profile waits for flameprof_stop() */
	FLAMEPROF_NO_MEMORY = 4, /* no memory for another profile: as above */
	FLAMEPROF_UNDER_FLAMERUN = 5, /* flamerun samples this process */
	FLAMEPROF_SIGNAL_LOST = 6 /* the program took SIGVTALRM for itself: as TIMEOUT */
};

/* Context: signal-safe, any thread. */
FLAMEPROF_API enum flameprof_status flameprof_status(void);

/*
 * Leave out what happens until flameprof_resume(); under flamerun, too. They do not nest. What was
 * left out is counted in the diagnostics. Looks at waits come 20 times a second: what passed
 * between two is left out or not as it was at the first.
 * Returns 0, or -ESRCH when nobody samples this process. Context: signal-safe, any thread.
 */
FLAMEPROF_API int flameprof_pause(void);
FLAMEPROF_API int flameprof_resume(void);

/*
 * Note that something happened now, on this thread.
 *
 * @name  borrowed for the call; at most FLAMEPROF_MARK_BYTES, cut there
 *
 * Returns 0; -ESRCH when nobody samples this process; -ENOSPC when too many marks wait to be taken:
 * counted. Marks that do not fit into the profile any more are counted, too.
 * Context: signal-safe, any thread.
 */
#define FLAMEPROF_MARK_BYTES 255
FLAMEPROF_API int flameprof_mark(const char *name);

/* ---- diagnostics ----------------------------------------------------------------------------- */

/* Why samples were dropped. */
enum flameprof_drop {
	FLAMEPROF_DROP_RING = 0,    /* a thread was further ahead than ring_bytes */
	FLAMEPROF_DROP_QUEUE = 1,   /* a batch found the queue at its ceiling */
	FLAMEPROF_DROP_PROFILE = 2, /* the profile was at its ceiling */
	FLAMEPROF_DROP_DAMAGED = 3, /* a record that something overwrote */
	FLAMEPROF_DROPS
};

/* How stacks ended. */
enum flameprof_end {
	FLAMEPROF_END_ROOT = 0,	  /* at the thread's start: complete */
	FLAMEPROF_END_DEPTH = 1,  /* more frames than asked for */
	FLAMEPROF_END_LOST = 2,	  /* no rule led on */
	FLAMEPROF_END_MEMORY = 3, /* the stack could not be read */
	FLAMEPROF_ENDS
};

/* Since the last call, or since flameprof_start(). Weights are in periods of the clock. */
struct flameprof_counters {
	uint64_t recorded_samples;
	uint64_t recorded_weight;
	uint64_t paused_weight; /* left out between pause and resume */
	struct {
		uint64_t batches, samples, weight, bytes;
	} dropped[FLAMEPROF_DROPS];
	uint64_t high_water_bytes; /* most that ever waited for the worker, a refused batch
				    * included; begins anew with what waits now */
	uint64_t handler_ns; /* spent in the signal handler, extrapolated from every 16th call */
	uint64_t worker_ns;	   /* CPU time of the profiler's own threads */
	uint64_t ends[FLAMEPROF_ENDS]; /* weight */
	uint64_t threads;	   /* sampled now */
	uint64_t late_threads;	   /* that could not be sampled */
	uint64_t dropped_marks;
	uint64_t vm_samples,
		vm_weight; /* of those recorded, what flameprof_record_vm_stack() brought */
	uint64_t wait_weight; /* of what was recorded, time off the CPU (FLAMEPROF_CLOCK_ELAPSED) */
	uint64_t unseen_weight; /* of that, what is "[waiting]": nobody might look, or the thread
				 * had gone on meanwhile */
	uint64_t reserved[4];
};

/*
 * Read and reset. Values survive flameprof_stop() and are cleared by flameprof_start().
 * Returns 0, or -ESRCH when the profiler never ran in this process.
 */
FLAMEPROF_API int flameprof_diagnostics(struct flameprof_counters *out);

#ifdef __cplusplus
}
#endif

#endif
