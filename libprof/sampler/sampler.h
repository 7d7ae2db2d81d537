/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: state that handlers and exit paths share. */
/*
 * The sampler of one process: which slot it holds, which threads it samples, how they are armed.
 * Private to the target; only struct wire_* lies in the arena.
 *
 * Two hosts: under flamerun the arena is flamerun's and sampling lasts as long as the image; a
 * process that samples itself ("hosted") has an arena of its own, which stays mapped for good, and
 * sessions that begin and end, each with a slot and an image number of its own.
 *
 * Who writes: `sampler` is filled before the first timer is armed, again in a fork child, which has
 * one thread then, and at the start of each session, when no handler runs. A struct sampler_thread
 * belongs to its thread, but for the fields marked atomic.
 */
#ifndef LIBPROF_SAMPLER_SAMPLER_H
#define LIBPROF_SAMPLER_SAMPLER_H

#include <signal.h>
#include <stdint.h>

#include "libprof/runtime/runtime.h"
#include "libprof/wire_drain.h"

/*
 * A timer's cookie: the address of its struct sampler_thread below, the claim's generation above.
 */
#define SAMPLER_COOKIE_BITS 48

/* CPU time of a thread, and that in the kernel. */
struct sampler_usage {
	uint64_t cpu_ns, kernel_ns;
};

/*
 * A call that waits with a signal mask of its own, such as sigsuspend(). That mask lets in our
 * signal, which the program otherwise blocks.
 */
struct sampler_wait {
	uint32_t is_begun; /* 0: the thread is in no such call */
	long call;	   /* number of the system call */
	uint64_t first;	   /* its first argument */
	uint64_t mask;
};

struct sampler_thread {
	/* These outlive a claim: a signal of an earlier one may still be on its way. */
	uint32_t
		generation; /* atomic: of the claim; a timer's signal tells which it was made for */
	uint32_t users;      /* atomic: handlers and others that rely on this entry right now */
	uint32_t is_claimed; /* atomic: whatever the arena says of the ring, the entry is in use */
	struct wire_ring *ring;
	uint64_t image;   /* of the session it was claimed in */
	uint32_t
		active; /* atomic: 1 while the timer may fire; who sets it to 0 deletes the timer */
	uint32_t is_disarmed; /* sampler_disarm_all() did, and what is due is not yet credited */
	uint32_t number;  /* within the image, from 1 */
	int32_t tid;
	int32_t timer;    /* kernel timer id */
	uint32_t has_timer;
	uint64_t armed_ns; /* thread CPU time when it was armed */
	uint64_t first_ns; /* and of the first expiry */
	uint64_t delivered; /* atomic: expirations that reached the handler */
	uint64_t calls;    /* of the handler */
	uint64_t call_ns;  /* what one took when that was last measured */
	uint32_t was_long; /* that, or another had the CPU meanwhile */
	uint64_t rests_until_ns; /* CLOCK_MONOTONIC: no sample before that */
	/* Atomic, high end written last: lowest address known to be mapped, one past the highest;
	 * 0 while unknown. */
	uintptr_t stack_lo;
	uintptr_t stack_hi;
	/* Atomic, first one written last: what the handler saw of an unknown stack. */
	uintptr_t seen_sp;
	uintptr_t seen_self; /* pthread_self() */
	uint32_t has_vm_phase; /* its own thread's, as is the next */
	uint64_t vm_rest_ns;   /* elapsed time told by a virtual machine and not yet recorded */
	/* Atomic: the program asked for our signal to be blocked in this thread. It is not, for
	 * the thread is to be sampled, but the program reads it in its mask. */
	uint32_t held;
	uint32_t unheld_pid; /* atomic: a vfork child that shares `held` and set its own mask */
	struct sampler_wait wait; /* the thread's own */
	/* The thread's own, of handlers of the program's with our signal blocked: host.c. */
	uint64_t handler_weight; /* samples that became due in them and were not recorded yet */
	uintptr_t handled_sp;	 /* stack pointer that the last of them returned to; 0: none did */
	uintptr_t handled_pc;	 /* the pc it returned to; a sample at both comes right behind it */
	uint32_t carried;	 /* weight put off from such a place to the next sample's */
	uint32_t carries;	 /* how many samples in a row were put off */
	/* The thread's own, where perf events signal it: events.c. */
	uintptr_t self;		   /* pthread_self(), 0: another thread armed it */
	uintptr_t thread_pointer;  /* the CPU's; by it a fork child knows whose copy it is */
	uint32_t has_events;	   /* one came: its timer stands for time in the kernel alone */
	uint64_t event_rest_ns;	   /* what they stood for and no sample does yet */
	struct sampler_usage usage; /* when its timer last said so */
	uint64_t event_registers;  /* a hash of those that the last one interrupted */
	uintptr_t runtime_state; /* its language runtime's structure for it, if it had one lately */
	struct runtime_again runtime_again; /* what was read of it */
	uint32_t exits;    /* TSD destructor rounds seen */
	void *(*start)(void *); /* what pthread_create was asked to run */
	void *argument;
	/* Atomic: nobody sees this thread's end from inside it, so the rescan has to (tasks.c). */
	uint32_t is_foreign;
	/* Whoever rescans writes the next two, one at a time. */
	uint32_t round;	      /* number of the last rescan that found the thread in the list */
	uint64_t seen_cpu_ns; /* the thread's CPU time when it was last looked at */
};

struct sampler {
	void *arena; /* NULL: never sampled; stays mapped */
	uint32_t blocks; /* in its pool, checked when it was mapped */
	struct wire_slot *slot; /* atomic outside handlers */
	uint32_t slot_index;
	uint32_t first_ring; /* whose entry is the first; below WIRE_RINGS */
	uint32_t pid;
	uint32_t on;     /* atomic: threads may be claimed and armed */
	uint32_t hosted; /* atomic: the process samples itself; never changes back */
	uint32_t paused; /* atomic: what expires is counted and not recorded */
	uint32_t markers; /* atomic: calls that write records, of marks and others, under way */
	uint32_t signal; /* that timers and events send; set before the handler goes in */
	uint32_t owns_signal; /* atomic: the kernel's handler is ours, the program's in host.c */
	uint32_t namespaced; /* pid means nothing where /proc was mounted */
	uint32_t has_events; /* perf events of flamerun's may signal threads */
	uint32_t has_kernel; /* what is sampled in the kernel is to say so; with events alone */
	uint64_t event_period_ns; /* what each stands for */
	uint32_t event_rests;	  /* as struct wire_arena */
	uint64_t tick_ns;	  /* the kernel's; known where events may come */
	uint64_t image;
	/* How time is told: set before sampler_start(), the same in fork children. */
	uint64_t period_ns;
	uint32_t is_untimed; /* no timers: only what threads tell is recorded */
	uint32_t is_elapsed; /* timers of CLOCK_MONOTONIC, whatever CPU time passes */
	uint32_t max_depth;  /* frames kept of a stack */
	uint32_t
		ring_bytes; /* what a thread may be ahead of the reader; 0 becomes: without limit */
	uint64_t rings[WIRE_RINGS / 64]; /* atomic bitmap: rings of threads this image samples */
	uint64_t claimed_ever[WIRE_RINGS / 64]; /* the same: entries that were ever claimed */
	uint32_t claimed; /* atomic: how many entries are claimed now */
	/* Atomic, only ever grow within an image: what slot->dropped counts by weight. */
	uint64_t dropped_samples;
	uint64_t dropped_bytes; /* as far as the stacks were walked */
	uint64_t dropped_marks;
	uint32_t quit;	    /* atomic: enum wire_quit; set once the process is no longer sampled */
	uint32_t forbidden; /* atomic: enum confined_part, or-ed; only grows */
	uint32_t filters;   /* atomic: seccomp filters that are known */
	uint32_t filters_at_start; /* of them, those that flamerun is under, too */
};

extern struct sampler sampler __attribute__((visibility("hidden")));
extern struct sampler_thread sampler_threads[WIRE_RINGS] __attribute__((visibility("hidden")));

/* The signal that timers and events send, and its bit in the kernel's masks. */
static inline int sampler_signal(void)
{
	return (int)sampler.signal;
}

static inline uint64_t sampler_signal_bit(void)
{
	return 1ULL << (sampler.signal - 1);
}

/*
 * The entry of ring @index. Under flamerun a process's first rings have the first entries, whatever
 * their numbers: those lie beside what is written anyway. Context: signal-safe.
 */
static inline struct sampler_thread *sampler_thread_at(unsigned index)
{
	return &sampler_threads[(index - sampler.first_ring) % WIRE_RINGS];
}

/*
 * Does the process sample itself? Its pid and its pool's size are there when it does.
 * Context: signal-safe.
 */
static inline int sampler_is_hosted(void)
{
	return __atomic_load_n(&sampler.hosted, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Raise one of the arena's high-water marks to at least @value. Whoever is in the way has raised
 * it, so there is no need to try more often than it can rise; a liar would keep us here for ever.
 * Context: signal-safe.
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
 * The kernel's part of a mask: signals 1 to 64. Each of libc's functions on masks would be looked
 * up by every image.
 */
static inline uint64_t *sampler_mask(const sigset_t *set)
{
	return (uint64_t *)(uintptr_t)set;
}

/* The entries of a bitmap's bits, one after the other. */
#define SAMPLER_FOR_EACH(bitmap, index)                                                        \
	for (uint32_t word_ = 0, index; word_ < WIRE_RINGS / 64; word_++)                      \
		for (uint64_t bits_ = __atomic_load_n(&(bitmap)[word_], __ATOMIC_ACQUIRE);     \
			bits_ && (index = word_ * 64 + (uint32_t)__builtin_ctzll(bits_), 1);   \
			bits_ &= bits_ - 1)
#define SAMPLER_FOR_EACH_RING(index) SAMPLER_FOR_EACH(sampler.rings, index)

/* Have flamerun, or the worker, look at the rings now. Context: signal-safe, no vfork child. */
void sampler_wake_reader(struct wire_arena *arena);

/*
 * Claim a slot in the mapped arena for the calling process, whose handler is installed, and let
 * threads be claimed. How time is told was set before; depth and ring_bytes have their defaults
 * unless they were.
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

/* Is the kernel's entry for our signal ours in this process? Context: signal-safe. */
int sampler_owns_signal(void);

/*
 * Does the caller, whose thread in the parent @thread is should it be a vfork child, only believe
 * that it blocks our signal? Context: signal-safe, a vfork child.
 */
int sampler_is_held(const struct sampler_thread *thread);

/*
 * Claim a ring for a thread that will be made. Returns NULL when there is none (counted) or the
 * sampler is off. Context: any thread, not a handler.
 */
struct sampler_thread *sampler_thread_claim(void);
/* The same, not counted: the caller does that. */
struct sampler_thread *sampler_thread_try_claim(void);
void sampler_thread_release(struct sampler_thread *thread);

/* Tell @thread's handler where its stack lies. Context: any thread, not a handler. */
void sampler_thread_set_stack(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi);
/* The same for the main thread's. */
void sampler_thread_set_main_stack(struct sampler_thread *thread);

/*
 * Begin sampling the calling thread with the claimed @thread, whose stack_lo, stack_hi and held the
 * caller has set.
 * Returns 0, or the negative errno of the timer: the thread is counted, its claim given back.
 * Context: the thread itself, not a handler.
 */
int sampler_thread_arm(struct sampler_thread *thread);

/* The state of thread @tid, of the calling thread; NULL when not sampled. Context: signal-safe. */
struct sampler_thread *sampler_thread_find(int32_t tid);
struct sampler_thread *sampler_thread_self(void);

/*
 * The entry of the parent's thread whose copy the calling fork child is, NULL when it had none.
 * Asks neither libc nor the kernel: either costs a child more than this does.
 * Context: before sampler_reset_in_child().
 */
struct sampler_thread *sampler_thread_that_forked(void);

/*
 * As sampler_thread_arm() for another thread of the process, the one with @tid. Its signal mask is
 * left alone. Context: any thread, not a handler.
 */
int sampler_thread_arm_other(struct sampler_thread *thread, int32_t tid);

/*
 * End sampling the calling thread: disarm, credit what was due and not delivered, end the ring.
 * Context: the thread itself, not a handler.
 */
void sampler_thread_end(struct sampler_thread *thread);

/*
 * As sampler_thread_end() for a thread that has ended, having used @cpu_ns at least.
 * Context: one thread at a time, not a handler.
 */
void sampler_thread_reap(struct sampler_thread *thread, uint64_t cpu_ns);

/*
 * Expirations due by @cpu_ns of @thread's CPU time that no handler has seen.
 * Context: signal-safe, any thread.
 */
uint64_t sampler_thread_due(const struct sampler_thread *thread, uint64_t cpu_ns);

/*
 * How a process comes out of its slot, by enum wire_slot_state. These calls are told apart by who
 * still runs afterwards:
 *
 *   LIVE ─ sampler_leave() ─▶ EXEC or EXIT    the program runs on for a moment and is sampled
 *   EXEC ─ sampler_undo_leave() ─▶ LIVE       its exec failed
 *   LIVE ─ sampler_quit() ─▶ EXIT             the program runs on and is sampled no more
 *   EXIT ─ sampler_leave_slot() ─▶ GONE       after a quit, when no handler is left
 *   LIVE ─ sampler_end() ─▶ FREE              hosted: one session ends, another may begin
 *
 * sampler_leave_unaccounted() and sampler_quit_unseen() do the same where a seccomp filter that
 * nobody saw may kill for a system call: they make none, so what was used and is due is not noted.
 * Under flamerun the collector frees the slot. sampler_thread_end() ends one thread's ring and
 * leaves the slot alone.
 */

/*
 * The process is about to leave by exec or exit: note its CPU time and what is due of each thread.
 * @state  WIRE_SLOT_EXEC or WIRE_SLOT_EXIT. Samples may still come; they are taken off that.
 * Context: any thread, signal-safe.
 */
void sampler_leave(enum wire_slot_state state);

/* The same under a seccomp filter that nobody saw: nothing is asked of the kernel. */
void sampler_leave_unaccounted(enum wire_slot_state state);

/* The exec failed: life goes on. */
void sampler_undo_leave(void);

/*
 * Stop for good, silently, for @cause: the process is about to forbid itself what sampling needs.
 * What it used is noted as at an exit. Whoever samples from outside may have it then.
 * Context: any thread, not a handler.
 */
void sampler_quit(enum wire_quit cause);

/*
 * The same where it has done so, nobody knows how much of it: no other system call is made, and
 * what it used is not noted. Context: signal-safe, but not a vfork child.
 */
void sampler_quit_unseen(void);

/*
 * The last one out of an image that quit leaves its slot to whoever samples from outside.
 * Context: signal-safe; the caller relies on no entry any more.
 */
void sampler_leave_slot(void);

/* The calling thread's name into @comm, where it may be asked for. Context: signal-safe. */
void sampler_read_name(char comm[WIRE_COMM_BYTES]);

/*
 * Disarm every thread and refuse new ones; the rings keep what they hold and stay claimed. Handlers
 * that were under way may still run: sampler_is_quiet(). Context: any thread, not a handler.
 */
void sampler_disarm_all(void);

/*
 * Has everybody who saw a thread armed let go of it, each handler above all? Context: any thread.
 */
int sampler_is_quiet(void);

/* Once that is so: credit what is due of the threads of sampler_disarm_all(). Context: as above. */
void sampler_credit_disarmed(void);

/*
 * The last step, with the rings drained by @drain: give rings and slot back. A ring that somebody
 * still relies on is kept from everybody. Context: one thread, not a handler.
 */
void sampler_end(struct wire_drain *drain);

/* Forget the parent's threads in a fork child; the slot stays the parent's until sampler_start. */
void sampler_reset_in_child(void);

/*
 * The entry whose timer sent @info, NULL for anybody else's signal. The timer may be one of an
 * earlier claim. Context: signal-safe.
 */
struct sampler_thread *sampler_thread_of(const siginfo_t *info);

/*
 * A random instant in (0, @period_ns]: threads shorter than a period are counted in expectation.
 * @now_ns is the time, which no two threads of one number share.
 * Context: signal-safe.
 */
uint64_t sampler_random_phase_ns(uint64_t period_ns, uint32_t tid, uint64_t now_ns);

/*
 * Take the timer away from @thread. Returns 1, or 0 when somebody else did. Context: signal-safe.
 */
int sampler_thread_disarm(struct sampler_thread *thread);

/* The signal handler. */
void sampler_handler(int signal, siginfo_t *info, void *context);

/* ---- a thread's entry and its ring ----------------------------------------------------------- */
/* What handlers and thread.c do alike. */

/* Keep the entry, or know that it is kept: nobody gives its ring away meanwhile. */
static inline void thread_ref(struct sampler_thread *thread)
{
	__atomic_fetch_add(&thread->users, 1, __ATOMIC_SEQ_CST);
}

static inline void thread_unref(struct sampler_thread *thread)
{
	__atomic_fetch_sub(&thread->users, 1, __ATOMIC_RELEASE);
}

/* The number of the entry's ring. */
static inline unsigned thread_index(const struct sampler_thread *thread)
{
	return ((unsigned)(thread - sampler_threads) + sampler.first_ring) % WIRE_RINGS;
}

/* Note in sampler.rings whether this image holds ring @index. */
static inline void thread_mark_ring(unsigned index, int held)
{
	uint64_t bit = 1ULL << index % 64;

	if (held)
		__atomic_fetch_or(&sampler.rings[index / 64], bit, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(&sampler.rings[index / 64], ~bit, __ATOMIC_RELEASE);
}

/*
 * Take the entry for this process, before its ring. Others can write to the arena that a ring is
 * free which we have: its entry says whose start routine runs in which thread, and who writes.
 * Returns 1, or 0 where another thread has it.
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
