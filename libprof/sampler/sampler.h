/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: state that handlers and exit paths share. */
/*
 * The sampler of one process: its slot, its threads and their timers. This is private memory of the
 * process; only struct wire_* is in the arena.
 *
 * Under flamerun the arena is flamerun's, and sampling lasts as long as the process image (one exec
 * or fork). A process that profiles itself is called hosted. It has an arena of its own, which
 * stays mapped. The time from a start of its profiler to the stop is called a session. Each session
 * has a slot and an image number.
 *
 * `sampler` is written before the first timer is made, in a fork child while it has only one
 * thread, and at the start of each session, when no handler runs. A struct sampler_thread is
 * written by its thread only, except the fields marked atomic.
 */
#ifndef LIBPROF_SAMPLER_SAMPLER_H
#define LIBPROF_SAMPLER_SAMPLER_H

#include <signal.h>
#include <stdint.h>

#include "libprof/runtime/runtime.h"
#include "libprof/wire_drain.h"

/*
 * The value that a timer's signals carry: the address of its struct sampler_thread in the lower
 * bits; above them the generation, which changes with each claim of the entry.
 */
#define SAMPLER_COOKIE_BITS 48

/* CPU time of a thread, and the part of it in the kernel. */
struct sampler_usage {
	uint64_t cpu_ns, kernel_ns;
};

/*
 * A system call that waits with a signal mask of its own, such as sigsuspend(). That mask unblocks
 * the sampling signal, which the program otherwise blocks.
 */
struct sampler_wait {
	uint32_t is_begun; /* 0: not in such a call */
	long call;	   /* number of the system call */
	uint64_t first;	   /* its first argument */
	uint64_t mask;
};

struct sampler_thread {
	/*
	 * This is an entry of sampler_threads[]. It is claimed for one thread after another. The
	 * fields up to is_claimed keep their values from one claim to the next, because a signal of
	 * an earlier claim may still be pending.
	 */
	/* Atomic: number of the claim; compared with the number in a signal. */
	uint32_t generation;
	/* Atomic: number of handlers and other functions that are using this entry. */
	uint32_t users;
	/* Atomic: 1 if the entry is in use, whatever the arena says about its ring. */
	uint32_t is_claimed;
	struct wire_ring *ring;
	uint64_t image; /* image of the session of the claim */
	/* Atomic: 1 while the timer exists. The thread that clears it must delete the timer. */
	uint32_t active;
	/*
	 * Set if sampler_disarm_all() has deleted the timer but the weight of due samples is not
	 * recorded yet.
	 */
	uint32_t is_disarmed;
	uint32_t number;      /* within the image, from 1 */
	int32_t tid;
	int32_t timer; /* kernel timer id */
	uint32_t has_timer;
	/* CPU time of the thread when its timer was set. */
	uint64_t armed_ns;
	/* CPU time of the thread at the timer's first expiry. */
	uint64_t first_ns;
	/* Atomic: number of expirations that reached the handler. */
	uint64_t delivered;
	uint64_t calls;	    /* of the handler */
	/* Duration of the last handler call that was measured, in ns. */
	uint64_t call_ns;
	/*
	 * 1: the last handler call took longer than a handler does, so another thread had the CPU.
	 */
	uint32_t was_long;
	/* CLOCK_MONOTONIC: take no sample before this time. */
	uint64_t rests_until_ns;
	/*
	 * Atomic, stack_hi written last: the lowest address of the stack that is known to be
	 * mapped, and one past the highest; 0: unknown.
	 */
	uintptr_t stack_lo;
	uintptr_t stack_hi;
	/*
	 * Atomic, seen_sp written last: the stack pointer that the handler saw in a thread with an
	 * unknown stack.
	 */
	uintptr_t seen_sp;
	uintptr_t seen_self;	  /* pthread_self() */
	/* 1: vm_remaining_ns was initialised with a random time, the phase of the samples. */
	uint32_t has_vm_phase;
	/* Elapsed time that a virtual machine reported and that is in no record yet. */
	uint64_t vm_remaining_ns;
	/*
	 * Atomic: 1 if the program has blocked the sampling signal in this thread. The kernel does
	 * not block the signal, but the program sees it in its mask.
	 */
	uint32_t held;
	/* Atomic: pid of a vfork child that has a signal mask of its own; ignore `held` in it. */
	uint32_t unheld_pid;
	struct sampler_wait wait;
	/*
	 * The fields below are for handlers of the program during which the sampling signal is
	 * blocked, see host.c.
	 */
	/* Number of samples that became due in such handlers and are not recorded yet. */
	uint64_t handler_weight;
	/* Stack pointer to which the last such handler returned; 0: none. */
	uintptr_t handled_sp;
	uintptr_t handled_pc; /* pc to which it returned */
	/* Weight that was deferred to the next sample. */
	uint32_t carried;
	/* Number of samples in a row that were deferred. */
	uint32_t carries;
	/* The fields below are for perf events, see events.c. */
	/* pthread_self(); 0: another thread made this thread's timer. */
	uintptr_t self;
	/* The thread pointer register, by which a fork child finds the forking thread's entry. */
	uintptr_t thread_pointer;
	/* 1: a signal of a perf event has arrived, so the timer samples only time in the kernel. */
	uint32_t has_events;
	/* CPU time that the events so far stand for and that is in no sample yet. */
	uint64_t event_remaining_ns;
	struct sampler_usage usage; /* at the timer's last expiry */
	/* Hash of the registers that the last event interrupted. */
	uint64_t event_registers;
	/* Address of the language runtime's structure for the thread; 0: unknown. */
	uintptr_t runtime_state;
	struct runtime_again runtime_again; /* data read from that structure */
	/* Rounds of thread-specific destructors that have run. */
	uint32_t exits;
	void *(*start)(void *);		    /* the program's start routine */
	void *argument;			    /* its argument */
	/* Atomic: 1 if the thread does not report its own end, so that tasks.c has to detect it. */
	uint32_t is_foreign;
	/* The fields below are written by the thread that scans the list of threads. */
	/* Number of the last scan that found this thread. */
	uint32_t round;
	/* The thread's CPU time at the last scan. */
	uint64_t seen_cpu_ns;
};

struct sampler {
	/* The mapped arena, which stays mapped. NULL: the process was never sampled. */
	void *arena;
	/* Number of blocks in the arena's pool, checked. */
	uint32_t blocks;
	struct wire_slot *slot; /* atomic outside handlers */
	uint32_t slot_index;
	/* Number of the ring whose entry is sampler_threads[0]. */
	uint32_t first_ring;
	uint32_t pid;
	/* Atomic: 1 while sampling is on, so that entries may be claimed and timers started. */
	uint32_t on;
	/* Atomic: 1 if the process profiles itself; never changes back. */
	uint32_t hosted;
	/* Atomic: 1 if samples are counted and not recorded. */
	uint32_t paused;
	/* Atomic: number of calls that are writing marks and other records now. */
	uint32_t markers;
	/* The signal that timers and events send; set before the handler is installed. */
	uint32_t signal;
	/* Atomic: 1 if the library's handler is installed. */
	uint32_t owns_signal;
	uint32_t namespaced; /* flamerun cannot use its pid */
	/* 1: perf events of flamerun may signal threads. */
	uint32_t has_events;
	/* 1: samples of time in the kernel are marked; only with has_events. */
	uint32_t has_kernel;
	/* CPU time in user mode that one event stands for. */
	uint64_t event_period_ns;
	uint32_t event_rests;	  /* as in struct wire_arena */
	/* Length of the kernel's tick; set if has_events. */
	uint64_t tick_ns;
	uint64_t image;
	/*
	 * The fields period_ns, is_untimed and is_elapsed are set before sampler_start() and stay
	 * the same in fork children.
	 */
	uint64_t period_ns;
	/* 1: no timers; only stacks that threads report themselves are recorded. */
	uint32_t is_untimed;
	/* 1: timers use CLOCK_MONOTONIC instead of CPU time. */
	uint32_t is_elapsed;
	uint32_t max_depth;  /* limit of frames in a stack */
	/* Limit of unread bytes in a ring. No limit if this is 0 at sampler_start(). */
	uint32_t ring_bytes;
	/* Atomic bitmap: rings of this image's sampled threads. */
	uint64_t rings[WIRE_RINGS / 64];
	/* Atomic bitmap: entries that were ever claimed. */
	uint64_t claimed_ever[WIRE_RINGS / 64];
	/* Atomic: number of entries that are claimed now. */
	uint32_t claimed;
	/*
	 * Atomic; these only grow within an image. slot->dropped counts the same samples by weight.
	 */
	uint64_t dropped_samples;
	uint64_t dropped_bytes; /* of stacks, as far as walked */
	uint64_t dropped_marks;
	/* Atomic: enum wire_quit; not 0 once the process is no longer sampled. */
	uint32_t quit;
	/* Atomic: parts of sampling that filters forbid (enum confined_part); only grows. */
	uint32_t forbidden;
	/* Atomic: number of known seccomp filters. */
	uint32_t filters;
	/* Number of these filters that flamerun has, too, and that the program has inherited. */
	uint32_t filters_at_start;
};

extern struct sampler sampler __attribute__((visibility("hidden")));
extern struct sampler_thread sampler_threads[WIRE_RINGS] __attribute__((visibility("hidden")));

/* Return the signal that timers and events send, and its bit in the kernel's masks. */
static inline int sampler_signal(void)
{
	return (int)sampler.signal;
}

static inline uint64_t sampler_signal_bit(void)
{
	return 1ULL << (sampler.signal - 1);
}

/*
 * Returns the entry of ring @index. The first ring of a process has the first entry, whatever its
 * number, because that entry lies on a page that is written anyway. Context: signal-safe.
 */
static inline struct sampler_thread *sampler_thread_at(unsigned index)
{
	return &sampler_threads[(index - sampler.first_ring) % WIRE_RINGS];
}

/*
 * Returns 1 if the process profiles itself; then sampler.pid and sampler.blocks are set. Context:
 * signal-safe.
 */
static inline int sampler_is_hosted(void)
{
	return __atomic_load_n(&sampler.hosted, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Raise one of the arena's high-water marks to at least @value. Each failed try means that another
 * thread has raised the mark, so the number of tries is limited: a process that writes false values
 * must not keep this loop running. Context: signal-safe.
 */
static inline void sampler_raise_high(uint32_t *high, uint32_t value)
{
	uint32_t seen = __atomic_load_n(high, __ATOMIC_RELAXED);

	for (uint32_t tries = 0; seen < value && tries < WIRE_BLOCKS_MAX; tries++)
		if (__atomic_compare_exchange_n(
			    high, &seen, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return;
}

/*
 * Returns the kernel's part of a mask, signals 1 to 64. Use this instead of libc's functions,
 * because each of them would cost every image a symbol lookup.
 */
static inline uint64_t *sampler_mask(const sigset_t *set)
{
	return (uint64_t *)(uintptr_t)set;
}

/* Iterate over the bits that are set in a bitmap. */
#define SAMPLER_FOR_EACH(bitmap, index)                                                      \
	for (uint32_t word_ = 0, index; word_ < WIRE_RINGS / 64; word_++)                    \
		for (uint64_t bits_ = __atomic_load_n(&(bitmap)[word_], __ATOMIC_ACQUIRE);   \
			bits_ && (index = word_ * 64 + (uint32_t)__builtin_ctzll(bits_), 1); \
			bits_ &= bits_ - 1)
#define SAMPLER_FOR_EACH_RING(index) SAMPLER_FOR_EACH(sampler.rings, index)

/* Wake the reader of the rings. Context: signal-safe, not a vfork child. */
void sampler_wake_reader(struct wire_arena *arena);

/*
 * Claim a slot in the mapped arena for the calling process and allow threads to be claimed. The
 * caller has installed the handler and set the clock's fields. max_depth and ring_bytes get their
 * defaults if they are 0.
 *
 * @parent_image  the image that forked this one, 0 after an exec
 * @exe           the program's path; NULL: the same as the parent's
 *
 * Returns 0, or -ENOSPC if no slot is free, which is counted in lost_processes. Context: one
 * thread, not a handler.
 */
int sampler_start(void *arena, uint64_t parent_image, const char *exe);

/*
 * Returns 1 if the caller may write the sampler's state: not in a vfork child, which shares its
 * parent's memory, and not after sampler_quit(). Context: signal-safe.
 */
int sampler_is_this_process(void);

/*
 * Returns 1 if the library's handler is installed in this process and sampling has not ended.
 * Context: signal-safe.
 */
int sampler_owns_signal(void);

/*
 * Returns 1 if the program has blocked the sampling signal in @thread, but the kernel has not. In a
 * vfork child, @thread is the parent's thread. Context: signal-safe, a vfork child.
 */
int sampler_is_held(const struct sampler_thread *thread);

/*
 * Claim an entry and a ring for a thread that will be created. Returns NULL if sampling is off, or
 * if no ring is free or a filter forbids timers; the latter two are counted. Context: any thread,
 * not a handler.
 */
struct sampler_thread *sampler_thread_claim(void);
/* Variant that does not count a failure, and the function that undoes a claim. */
struct sampler_thread *sampler_thread_try_claim(void);
void sampler_thread_release(struct sampler_thread *thread);

/* Set the bounds of @thread's stack. Context: any thread, not a handler. */
void sampler_thread_set_stack(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi);
/* Set the bounds of the main thread's stack. */
void sampler_thread_set_main_stack(struct sampler_thread *thread);

/*
 * Make and start the timer of the calling thread. @thread is its claimed entry, in which stack_lo,
 * stack_hi and held are set. Returns 0; or -errno after releasing the entry. A thread without a
 * timer is counted in slot->timerless_threads. Context: the thread itself, not a handler.
 */
int sampler_thread_arm(struct sampler_thread *thread);

/*
 * Return the entry of thread @tid, or of the calling thread; NULL if the thread is not sampled.
 * Context: signal-safe.
 */
struct sampler_thread *sampler_thread_find(int32_t tid);
struct sampler_thread *sampler_thread_self(void);

/*
 * Returns the entry of the parent's thread that forked the calling child, or NULL. Makes no call to
 * libc or the kernel, because each fork child would pay for it. Context: before
 * sampler_reset_in_child().
 */
struct sampler_thread *sampler_thread_that_forked(void);

/*
 * Do what sampler_thread_arm() does, for thread @tid of the process. The thread's signal mask is
 * not changed. Context: any thread, not a handler.
 */
int sampler_thread_arm_other(struct sampler_thread *thread, int32_t tid);

/*
 * End the sampling of the calling thread: delete its timer, record the weight of due samples that
 * were not delivered (WIRE_KIND_CREDIT), end its ring. Context: the thread itself, not a handler.
 */
void sampler_thread_end(struct sampler_thread *thread);

/*
 * Do what sampler_thread_end() does, for a thread that has already ended, with at least @cpu_ns of
 * CPU time. Context: one thread at a time, not a handler.
 */
void sampler_thread_reap(struct sampler_thread *thread, uint64_t cpu_ns);

/*
 * Returns the number of expiries that are due when @thread's CPU time is @cpu_ns and that have not
 * reached the handler. Context: signal-safe, any thread.
 */
uint64_t sampler_thread_due(const struct sampler_thread *thread, uint64_t cpu_ns);

/*
 * How a process leaves its slot, by enum wire_slot_state. The calls differ in what runs afterwards:
 *
 *   LIVE ─ sampler_leave() ─▶ EXEC or EXIT    the program runs on for a moment and is sampled
 *   EXEC ─ sampler_undo_leave() ─▶ LIVE       its exec failed
 *   LIVE ─ sampler_quit() ─▶ EXIT             the program runs on and is sampled no more
 *   EXIT ─ sampler_leave_slot() ─▶ GONE       after a quit, when no handler is left
 *   LIVE ─ sampler_end() ─▶ FREE              hosted: one session ends, another may begin
 *
 * sampler_leave_unaccounted() and sampler_quit_unseen() are for a process in which a seccomp filter
 * was installed unseen: a system call may end the process, so they make none and record no CPU
 * time. Under flamerun the collector frees the slot. sampler_thread_end() ends one thread's ring
 * and does not change the slot.
 */

/*
 * Record the CPU time of the process, which is about to exec or exit, and the due samples of each
 * thread. Samples that still come are subtracted from these.
 * @state  WIRE_SLOT_EXEC or WIRE_SLOT_EXIT
 * Context: any thread, signal-safe.
 */
void sampler_leave(enum wire_slot_state state);

/*
 * Set the slot's state as sampler_leave() does, without system calls and without recording CPU
 * time.
 */
void sampler_leave_unaccounted(enum wire_slot_state state);

/* Undo sampler_leave(), because the exec failed. */
void sampler_undo_leave(void);

/*
 * End sampling of this process for @cause, for example because the process is about to forbid
 * itself system calls that sampling needs. Its CPU time is recorded as at an exit. Afterwards
 * flamerun's tracer may sample the process. Context: any thread, not a handler.
 */
void sampler_quit(enum wire_quit cause);

/*
 * Do what sampler_quit() does after a seccomp filter was installed unseen: make no further system
 * call and record no CPU time. Context: signal-safe, not a vfork child.
 */
void sampler_quit_unseen(void);

/*
 * After a quit, mark the slot as left when no handler runs any more, so that flamerun's tracer may
 * sample the process. The caller must use no entry any more. Context: signal-safe.
 */
void sampler_leave_slot(void);

/* Read the calling thread's name into @comm unless a filter forbids it. Context: signal-safe. */
void sampler_read_name(char comm[WIRE_COMM_BYTES]);

/*
 * Delete all timers and refuse new threads. Rings stay claimed with their contents. Handlers may
 * still be running until sampler_is_quiet() returns 1. Context: any thread, not a handler.
 */
void sampler_disarm_all(void);

/* Returns 1 if no handler or other code uses an entry any more. Context: any thread. */
int sampler_is_quiet(void);

/*
 * Record the weight of the threads' due samples (WIRE_KIND_CREDIT). Call this after
 * sampler_disarm_all(), once sampler_is_quiet() returns 1. Context: any thread.
 */
void sampler_credit_disarmed(void);

/*
 * End a session: free rings and slot. Call this after the rings were drained by @drain. A ring that
 * is still in use stays claimed for ever. Context: one thread, not a handler.
 */
void sampler_end(struct wire_drain *drain);

/*
 * Forget the parent's threads in a fork child. `sampler` names the parent's slot until
 * sampler_start().
 */
void sampler_reset_in_child(void);

/*
 * Returns the entry whose timer or event sent @info, or NULL if the signal has another source. The
 * timer may belong to an earlier claim of the entry. Context: signal-safe.
 */
struct sampler_thread *sampler_thread_of(const siginfo_t *info);

/*
 * Returns a random time in (0, @period_ns] for the first expiry, so that threads shorter than a
 * period are sampled in proportion. @tid and @now_ns make the time different for each thread.
 * Context: signal-safe.
 */
uint64_t sampler_random_phase_ns(uint64_t period_ns, uint32_t tid, uint64_t now_ns);

/*
 * Delete @thread's timer. Returns 1, or 0 if the timer was deleted already. Context: signal-safe.
 */
int sampler_thread_disarm(struct sampler_thread *thread);

/* The signal handler. */
void sampler_handler(int signal, siginfo_t *info, void *context);

/* ---- a thread's entry and its ring ----------------------------------------------------------- */
/* Used by the handler and by thread.c. */

/* Mark the entry as in use: its ring is not released until thread_unref(). */
static inline void thread_ref(struct sampler_thread *thread)
{
	__atomic_fetch_add(&thread->users, 1, __ATOMIC_SEQ_CST);
}

static inline void thread_unref(struct sampler_thread *thread)
{
	__atomic_fetch_sub(&thread->users, 1, __ATOMIC_RELEASE);
}

/* Returns the number of the entry's ring. */
static inline unsigned thread_index(const struct sampler_thread *thread)
{
	return ((unsigned)(thread - sampler_threads) + sampler.first_ring) % WIRE_RINGS;
}

/* Record in sampler.rings whether this image holds ring @index. */
static inline void thread_mark_ring(unsigned index, int held)
{
	uint64_t bit = 1ULL << index % 64;

	if (held)
		__atomic_fetch_or(&sampler.rings[index / 64], bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&sampler.rings[index / 64], ~bit, __ATOMIC_RELEASE);
}

/*
 * Claim the entry for a thread of this process. Do this before claiming its ring: another process
 * may write to the arena that a ring is free although this process uses it, but cannot change the
 * entry. Returns 1, or 0 if another thread has the entry.
 */
static inline int thread_claim_entry(struct sampler_thread *thread)
{
	unsigned index = thread_index(thread);

	if (__atomic_exchange_n(&thread->is_claimed, 1, __ATOMIC_ACQUIRE))
		return 0;
	__atomic_fetch_add(&sampler.claimed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&sampler.claimed_ever[index / 64], 1ULL << index % 64, __ATOMIC_RELEASE);
	return 1;
}

static inline void thread_release_entry(struct sampler_thread *thread)
{
	__atomic_fetch_sub(&sampler.claimed, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->is_claimed, 0, __ATOMIC_RELEASE);
}

#endif
