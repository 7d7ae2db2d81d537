/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: state that handlers, exit paths and the helper share. */
/*
 * The sampler of one process: which slot it holds, which threads it samples, how they are armed.
 * Private to the target; only struct wire_* lies in the arena.
 *
 * Who writes: `sampler` is filled before the first timer is armed and again in a fork child, which
 * has one thread then. A struct sampler_thread belongs to its thread, but for the fields marked
 * atomic.
 */
#ifndef LIBPROF_SAMPLER_SAMPLER_H
#define LIBPROF_SAMPLER_SAMPLER_H

#include <signal.h>
#include <stdint.h>

#include "libprof/wire.h"

#define SAMPLER_SIGNAL SIGPROF

struct sampler_thread {
	struct wire_ring *ring;
	char *data;       /* the ring's bytes */
	uint32_t active;  /* atomic: 1 while the timer may fire */
	uint32_t number;  /* within the image, from 1 */
	int32_t tid;
	int32_t timer;    /* kernel timer id */
	uint64_t first_ns; /* thread CPU time of the first expiry */
	uint64_t delivered; /* atomic: expirations that reached the handler */
	uint64_t calls;    /* of the handler */
	uintptr_t stack_lo; /* lowest address known to be mapped; = stack_hi when unknown */
	uintptr_t stack_hi; /* one past the highest */
	uint32_t held;     /* atomic: the program believes that it blocks SAMPLER_SIGNAL here */
	uint32_t exits;    /* TSD destructor rounds seen */
	void *(*start)(void *); /* what pthread_create was asked to run */
	void *argument;
};

struct sampler {
	void *arena; /* NULL: off */
	struct wire_slot *slot;
	uint32_t slot_index;
	uint32_t pid;
	uint32_t namespaced; /* pid means nothing where /proc was mounted */
	uint64_t image;
	uint64_t period_ns;
	uint64_t rings[WIRE_RINGS / 64]; /* atomic bitmap: rings this image holds */
	uint64_t samples; /* atomic: records committed, to decide when the helper is worth starting */
	uint32_t retired; /* atomic: rings retired and not yet drained */
	uint32_t flamerun_pid; /* as named in the environment */
	uint32_t pipe_descriptor;
	uint32_t quit; /* atomic: 1 once the process must not be noticed any more */
};

extern struct sampler sampler __attribute__((visibility("hidden")));
extern struct sampler_thread sampler_threads[WIRE_RINGS] __attribute__((visibility("hidden")));

/* Raise one of the arena's high-water marks to at least @value. Context: signal-safe. */
static inline void sampler_raise_high(uint32_t *high, uint32_t value)
{
	uint32_t seen = __atomic_load_n(high, __ATOMIC_RELAXED);

	while (seen < value && !__atomic_compare_exchange_n(high, &seen, value, 0, __ATOMIC_RELAXED,
				       __ATOMIC_RELAXED))
		;
}

/*
 * Claim a slot in the mapped arena for the calling process, whose handler is installed.
 * @parent_image  the image that forked this one, 0 after an exec.
 * @exe           the program's path, NULL: as the parent's.
 * Returns 0, or -ENOSPC (no slot; counted).
 * Context: one thread, not a handler.
 */
int sampler_start(void *arena, uint64_t parent_image, const char *exe);

/*
 * Ours to write for? False in a vfork child, where the parent's memory must not be touched, and
 * after sampler_quit(). Context: signal-safe.
 */
int sampler_is_this_process(void);

/*
 * Claim a ring for a thread that will be made. Returns NULL when there is none (counted) or the
 * sampler is off. Context: any thread, not a handler.
 */
struct sampler_thread *sampler_thread_claim(void);
void sampler_thread_unclaim(struct sampler_thread *thread);

/*
 * Begin sampling the calling thread with the claimed @thread, whose stack_lo, stack_hi and held the
 * caller has set.
 * Returns 0, or the negative errno of the timer: the thread is counted, its claim given back.
 * Context: the thread itself, not a handler.
 */
int sampler_thread_arm(struct sampler_thread *thread);

/* The calling thread's state, NULL when it is not sampled. Context: signal-safe. */
struct sampler_thread *sampler_thread_self(void);

/*
 * End sampling the calling thread: disarm, credit what was due and not delivered, retire the ring.
 * Context: the thread itself, not a handler.
 */
void sampler_thread_retire(struct sampler_thread *thread);

/*
 * Expirations due by @cpu_ns of @thread's CPU time that no handler has seen.
 * Context: signal-safe, any thread.
 */
uint64_t sampler_thread_owed(const struct sampler_thread *thread, uint64_t cpu_ns);

/*
 * The process is about to leave by exec or exit: note its CPU time and what each thread is owed.
 * @state  WIRE_SLOT_EXEC or WIRE_SLOT_EXIT. Samples may still come; they are settled against it.
 * Context: any thread, signal-safe.
 */
void sampler_leave(enum wire_slot_state state);

/* The exec failed: life goes on. */
void sampler_stay(void);

/*
 * Stop for good, silently: the process is about to forbid itself system calls, and a handler's
 * return is one. What it used is noted as at an exit. Context: any thread, not a handler.
 */
void sampler_quit(void);

/* Forget the parent's threads in a fork child; the slot stays the parent's until sampler_start. */
void sampler_reset_in_child(void);

/* The thread whose timer sent @info, NULL for a stranger's signal. Context: signal-safe. */
struct sampler_thread *sampler_thread_of(const siginfo_t *info);

/* The signal handler. */
void sampler_handler(int signal, siginfo_t *info, void *context);

#endif
