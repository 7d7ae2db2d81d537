/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: used by handlers to find threads. */
/*
 * The sampler's entry for each thread (struct sampler_thread). A thread's ring is claimed before
 * the thread is created, and the thread makes its timer itself. At the thread's end, the weight of
 * due samples that were not delivered is written as a WIRE_KIND_CREDIT sample, and the ring is left
 * to the reader. In programs that profile themselves, tasks.c finds threads made by a raw clone(2);
 * under flamerun such threads are not sampled.
 *
 * A timer's signal carries the entry's address and the generation of its claim, because a signal
 * may stay pending until the entry has another owner. Each entry counts its users. The thread that
 * changes `active` from 1 to 0 deletes the timer. A session releases its rings when no entry has
 * users (sampler_is_quiet()), so a signal that is still pending then finds no ring.
 */

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/events.h"
#include "libprof/sampler/modules.h"
#include "libprof/sampler/handler.h"
#include "libprof/sampler/ring.h"
#include "libprof/sampler/walk_stack.h"

struct sampler_thread *sampler_thread_try_claim(void)
{
	struct wire_arena *arena = sampler.arena;
	uint64_t owner = sampler.image << 2 | WIRE_RING_OWNED;
	uint32_t first;

	if (!__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE))
		return NULL;
	first = __atomic_load_n(&arena->rings_hint, __ATOMIC_RELAXED);
	for (unsigned n = 0; n < WIRE_RINGS; n++) {
		unsigned i = (first + n) % WIRE_RINGS;
		struct wire_ring *ring = wire_ring(sampler.arena, i);
		struct sampler_thread *thread = sampler_thread_at(i);
		uint64_t seen = __atomic_load_n(&ring->owner, __ATOMIC_RELAXED);

		if (seen & 3 || !thread_claim_entry(thread))
			continue;
		if (!__atomic_compare_exchange_n(
			    &ring->owner, &seen, owner, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			thread_release_entry(thread);
			continue;
		}
		sampler_raise_high(&arena->rings_high, i + 1);
		__atomic_store_n(&arena->rings_hint, i + 1, __ATOMIC_RELAXED);
		if (i >= WIRE_RINGS / 4 * 3)
			sampler_wake_reader(arena);
		__atomic_fetch_add(&thread->generation, 1, __ATOMIC_RELEASE);
		memset(&thread->ring, 0, sizeof(*thread) - offsetof(struct sampler_thread, ring));
		thread->ring = ring;
		thread->image = owner >> 2;
		ring->slot = sampler.slot_index;
		ring->exit_credit = 0;
		ring->end_cpu_ns = 0;
		ring->end_ns = 0;
		ring->written = 0;
		ring->taken = 0;
		ring->tid = 0;
		ring->thread = 0;
		walk_stack_provide(__atomic_load_n(&sampler.claimed, __ATOMIC_RELAXED));
		return thread;
	}
	return NULL;
}

struct sampler_thread *sampler_thread_claim(void)
{
	struct sampler_thread *thread;

	/*
	 * A child made by a raw clone(2) must not claim a ring: its memory still has its parent's
	 * rings.
	 */
	if (!__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) || confined_by_unseen() ||
		!sampler_is_this_process())
		return NULL;
	if (!confined_may(CONFINED_THREADS)) {
		__atomic_fetch_add(&sampler.slot->confined_threads, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	thread = sampler_thread_try_claim();
	if (!thread && __atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE))
		__atomic_fetch_add(&sampler.slot->ringless_threads, 1, __ATOMIC_RELAXED);
	return thread;
}

void sampler_thread_release(struct sampler_thread *thread)
{
	struct wire_arena *arena = sampler.arena;
	uint64_t owner = thread->image << 2 | WIRE_RING_OWNED;

	/* If this image has quit, the ring may belong to another image now. */
	if (__atomic_compare_exchange_n(&thread->ring->owner, &owner, WIRE_RING_FREE, 0,
		    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		wire_hint(&arena->rings_hint, thread_index(thread));
	thread_release_entry(thread);
}

/* ---- stack bounds ---------------------------------------------------------------------------- */

/* Limit of the main thread's stack: only this many bytes below its top are read by plain loads. */
#define MAIN_STACK_TRUSTED_BYTES (64UL << 20)

void sampler_thread_set_stack(struct sampler_thread *thread, uintptr_t lo, uintptr_t hi)
{
	__atomic_store_n(&thread->stack_lo, lo, __ATOMIC_RELAXED);
	__atomic_store_n(&thread->stack_hi, hi, __ATOMIC_RELEASE);
}

/* Returns the size limit of the main thread's stack, at most MAIN_STACK_TRUSTED_BYTES. */
static uintptr_t main_stack_bytes(void)
{
	struct rlimit limit;

	if (arch_syscall4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) ||
		limit.rlim_cur > MAIN_STACK_TRUSTED_BYTES)
		return MAIN_STACK_TRUSTED_BYTES;
	return limit.rlim_cur;
}

void sampler_thread_set_main_stack(struct sampler_thread *thread)
{
	/*
	 * The kernel puts strings at the top of the stack. The AT_EXECFN string is among the
	 * highest, so the end of its page is the top.
	 */
	uintptr_t top = (getauxval(AT_EXECFN) | (WIRE_PAGE - 1)) + 1;

	if (top > WIRE_PAGE)
		sampler_thread_set_stack(thread, top - main_stack_bytes(), top);
}

/* ---- timers ---------------------------------------------------------------------------------- */

uint64_t sampler_random_phase_ns(uint64_t period_ns, uint32_t tid, uint64_t now_ns)
{
	uint64_t x = now_ns ^ (uint64_t)tid << 32 ^ (uintptr_t)&x;

	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return 1 + x % period_ns;
}

/* Returns 1 if the session in which @thread was claimed is not over. */
static int is_current(const struct sampler_thread *thread)
{
	return __atomic_load_n(&sampler.on, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&sampler.image, __ATOMIC_RELAXED) == thread->image;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / CLOCK_NS_PER_S), (long)(ns % CLOCK_NS_PER_S)};
}

/* Returns the value that the timer's signals carry, see SAMPLER_COOKIE_BITS. */
static void *cookie_of(const struct sampler_thread *thread)
{
	return (void *)((uintptr_t)thread | (uintptr_t)thread->generation << SAMPLER_COOKIE_BITS);
}

/* Begin without a timer: only stacks that the thread reports itself are recorded. */
static int arm_without_timer(struct sampler_thread *thread)
{
	__atomic_store_n(&thread->active, 1, __ATOMIC_SEQ_CST);
	if (is_current(thread))
		return 0;
	sampler_thread_disarm(thread);
	return -ECANCELED;
}

static int arm_timer(struct sampler_thread *thread, clockid_t cpu_clock)
{
	clockid_t clock = sampler.is_elapsed ? CLOCK_MONOTONIC : cpu_clock;
	uint64_t phase_ns = sampler_random_phase_ns(
		sampler.period_ns, (uint32_t)thread->tid, thread->ring->start_ns);
	struct sigevent event;
	struct itimerspec spec;
	long error;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = sampler_signal();
	event.sigev_value.sival_ptr = cookie_of(thread);
	event._sigev_un._tid = thread->tid;
	error = arch_syscall3(SYS_timer_create, clock, &event, &thread->timer);
	if (error)
		return (int)error;
	thread->has_timer = 1;
	spec.it_interval = to_timespec(sampler.period_ns);
	spec.it_value = to_timespec(phase_ns);
	thread->armed_ns = clock_cpu_ns(cpu_clock);
	thread->first_ns = thread->armed_ns + phase_ns;
	/*
	 * Set `active`, then read `on`. sampler_disarm_all() clears `on`, then reads `active`. So
	 * at least one of the two sees the other's change.
	 */
	__atomic_store_n(&thread->active, 1, __ATOMIC_SEQ_CST);
	if (is_current(thread))
		error = arch_syscall4(SYS_timer_settime, thread->timer, 0, &spec, NULL);
	else
		error = -ECANCELED;
	if (error)
		sampler_thread_disarm(thread);
	return (int)error;
}

/*
 * If the thread blocks the sampling signal, unblock it, and set `held`, so that the thread still
 * sees the signal as blocked.
 */
static void unblock_signal(struct sampler_thread *thread)
{
	uint64_t mask = sampler_signal_bit(), before = 0;

	arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &before, sizeof(before));
	if (!(before & mask))
		return;
	__atomic_store_n(&thread->held, 1, __ATOMIC_RELAXED);
	arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask));
}

int sampler_thread_disarm(struct sampler_thread *thread)
{
	if (!__atomic_exchange_n(&thread->active, 0, __ATOMIC_SEQ_CST))
		return 0;
	if (thread->has_timer && confined_may(CONFINED_TIMERS))
		arch_syscall1(SYS_timer_delete, thread->timer);
	return 1;
}

/*
 * Count a thread without a timer and store the reason. Each timer counts as a pending signal of the
 * user, so EAGAIN means that the limit of pending signals (RLIMIT_SIGPENDING) is reached.
 */
static void note_timerless(int error)
{
	struct wire_slot *slot = sampler.slot;
	struct rlimit limit = {0, 0};

	arch_syscall4(SYS_prlimit64, 0, RLIMIT_SIGPENDING, NULL, &limit);
	slot->signals_max = limit.rlim_cur;
	slot->timer_error = (uint32_t)-error;
	__atomic_fetch_add(&slot->timerless_threads, 1, __ATOMIC_RELAXED);
}

static int arm_thread(struct sampler_thread *thread, int32_t tid, clockid_t cpu_clock)
{
	struct wire_ring *ring = thread->ring;
	int error = -ECANCELED;

	thread_ref(thread);
	if (!is_current(thread))
		goto out;
	thread->number = __atomic_add_fetch(&sampler.slot->threads, 1, __ATOMIC_RELAXED);
	/* CPU time before the first timer is recorded as [exec]; later CPU time is sampled. */
	if (thread->number == 1)
		sampler.slot->start_cpu_ns = clock_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	ring->thread = thread->number;
	ring->start_ns = clock_monotonic_by_call_ns();
	/*
	 * Store `tid` last, because a thread that finds the entry by its tid relies on the fields
	 * above.
	 */
	__atomic_store_n(&thread->tid, tid, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->tid, (uint32_t)tid, __ATOMIC_RELEASE);
	thread_mark_ring(thread_index(thread), 1);
	if (sampler.has_events)
		sampler_wake_reader(sampler.arena);
	error = sampler.is_untimed ? arm_without_timer(thread) : arm_timer(thread, cpu_clock);
	if (error)
		thread_mark_ring(thread_index(thread), 0);
	/* Do not count a thread that this thread was to arm and that has ended in the meantime. */
	if (error && error != -ECANCELED && !(thread->is_foreign && error == -EINVAL))
		note_timerless(error);
out:
	if (error)
		sampler_thread_release(thread);
	thread_unref(thread);
	return error;
}

int sampler_thread_arm(struct sampler_thread *thread)
{
	int error;

	sampler_read_name(thread->ring->comm);
	/*
	 * In a fork child, `self` already has the parent's value, which is valid in the child, too.
	 */
	if (!thread->self)
		thread->self = (uintptr_t)pthread_self();
	thread->thread_pointer = (uintptr_t)__builtin_thread_pointer();
	error = arm_thread(thread, (int32_t)arch_syscall0(SYS_gettid), CLOCK_THREAD_CPUTIME_ID);
	/* Do not change the signal masks of a program that profiles itself. */
	if (!error && !sampler_is_hosted())
		unblock_signal(thread);
	return error;
}

int sampler_thread_arm_other(struct sampler_thread *thread, int32_t tid)
{
	thread->is_foreign = 1;
	return arm_thread(thread, tid, clock_of_thread(tid));
}

struct sampler_thread *sampler_thread_of(const siginfo_t *info)
{
	uint64_t cookie = (uintptr_t)info->si_value.sival_ptr; /* of a timer's signal */
	uint64_t at = (cookie & ((1ULL << SAMPLER_COOKIE_BITS) - 1)) - (uintptr_t)sampler_threads;

	if (events_sent(info))
		return sampler_thread_at(info->si_fd - WIRE_EVENT_DESCRIPTOR);
	if (info->si_code != SI_TIMER || at >= sizeof(sampler_threads) ||
		at % sizeof(sampler_threads[0]))
		return NULL;
	return &sampler_threads[at / sizeof(sampler_threads[0])];
}

struct sampler_thread *sampler_thread_find(int32_t tid)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (thread->tid == tid && __atomic_load_n(&thread->active, __ATOMIC_RELAXED))
			return thread;
	}
	return NULL;
}

struct sampler_thread *sampler_thread_that_forked(void)
{
	uintptr_t here = (uintptr_t)__builtin_thread_pointer();

	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (thread->thread_pointer == here &&
			__atomic_load_n(&thread->active, __ATOMIC_RELAXED))
			return thread;
	}
	return NULL;
}

struct sampler_thread *sampler_thread_self(void)
{
	return sampler_thread_find((int32_t)arch_syscall0(SYS_gettid));
}

/* ---- the end of a thread --------------------------------------------------------------------- */

uint64_t sampler_thread_due(const struct sampler_thread *thread, uint64_t cpu_ns)
{
	uint64_t delivered = __atomic_load_n(&thread->delivered, __ATOMIC_RELAXED);
	uint64_t due;

	if (!thread->has_timer || sampler.is_elapsed || cpu_ns < thread->first_ns)
		return 0;
	due = 1 + (cpu_ns - thread->first_ns) / sampler.period_ns;
	return due > delivered ? due - delivered : 0;
}

/*
 * Write the frames of a WIRE_KIND_CREDIT sample to @frames and return their number: [unsampled] and
 * the thread's start routine if the thread had no sample; otherwise none, so that the weight is
 * added to the thread's last stack.
 */
static uint16_t start_frames(const struct sampler_thread *thread, uint64_t *frames)
{
	uintptr_t start = (uintptr_t)thread->start;
	struct unwind_module module;

	frames[0] = WIRE_FRAME_UNSAMPLED;
	/* With events, do not add the weight to the last stack: return [unsampled] alone. */
	if (thread->has_events)
		return 1;
	if (!start || thread->delivered || modules_find(start, &module))
		return 0;
	frames[1] = WIRE_FRAME(module.number, start - module.bias);
	return 2;
}

static void write_credit(struct sampler_thread *thread, uint64_t weight)
{
	uint32_t room, bytes;
	uint16_t frames;
	struct wire_sample *sample = ring_begin(thread, record_bytes(2), &room);

	if (!sample) {
		__atomic_fetch_add(&sampler.slot->dropped, weight, __ATOMIC_RELAXED);
		__atomic_fetch_add(&sampler.dropped_samples, 1, __ATOMIC_RELAXED);
		return;
	}
	frames = start_frames(thread, (uint64_t *)(sample + 1));
	bytes = record_bytes(frames);
	sample->frames = frames;
	sample->bytes = bytes;
	sample->thread = thread->number;
	sample->time_ns = clock_monotonic_ns();
	sample->weight = (uint32_t)weight;
	sample->kind = WIRE_KIND_CREDIT;
	sample->end = WIRE_END_ROOT;
	ring_commit(thread, bytes);
}

/* A thread that used less CPU time than this many periods may have no sample by chance. */
#define SHORT_PERIODS 4

static void note_short(const struct sampler_thread *thread, uint64_t used_ns)
{
	if (thread->delivered || used_ns >= SHORT_PERIODS * sampler.period_ns)
		return;
	__atomic_fetch_add(&sampler.slot->short_threads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sampler.slot->short_ns, used_ns, __ATOMIC_RELAXED);
}

/*
 * Record the CPU time of @thread up to @cpu_ns for which its timer delivered no sample, as a
 * WIRE_KIND_CREDIT sample. The timer must have been deleted.
 */
static void credit_due(struct sampler_thread *thread, uint64_t cpu_ns)
{
	uint64_t due = sampler_thread_due(thread, cpu_ns);

	if (cpu_ns > thread->armed_ns) {
		__atomic_fetch_add(&sampler.slot->ended_threads_ns, cpu_ns - thread->armed_ns,
			__ATOMIC_RELAXED);
		note_short(thread, cpu_ns - thread->armed_ns);
	}
	if (!due)
		return;
	if (__atomic_load_n(&sampler.paused, __ATOMIC_RELAXED))
		__atomic_fetch_add(&sampler.slot->paused, due, __ATOMIC_RELAXED);
	else
		write_credit(thread, due);
}

/*
 * The end of a thread without samples is reported only if the thread lived at least this long and
 * its ring is in the lower half of all rings, so that enough rings stay free: a ring stays claimed
 * until its end has been read.
 */
#define REPORTED_LIFE_NS 20000000

/*
 * Store the end of @thread, with @cpu_ns of CPU time, in its ring. Returns 1 if the reader has to
 * read it.
 */
static int report_thread_end(const struct sampler_thread *thread, uint64_t cpu_ns)
{
	struct wire_ring *ring = thread->ring;

	if (!((const struct wire_arena *)sampler.arena)->records_thread_ends)
		return 0;
	ring->end_cpu_ns = cpu_ns;
	ring->end_ns = clock_monotonic_ns();
	return ring->end_ns - ring->start_ns >= REPORTED_LIFE_NS &&
	       thread_index(thread) < WIRE_RINGS / 2;
}

/*
 * End the ring of @thread. The ring is released when the reader has drained it, or at once if it is
 * empty and the reader need not read the thread's end.
 */
static void end_ring(struct sampler_thread *thread, uint64_t cpu_ns)
{
	thread->ring->exit_credit = 0;
	thread_mark_ring(thread_index(thread), 0);
	if (!report_thread_end(thread, cpu_ns) && ring_is_empty(thread)) {
		sampler_thread_release(thread);
		return;
	}
	__atomic_store_n(
		&thread->ring->owner, thread->image << 2 | WIRE_RING_ENDED, __ATOMIC_RELEASE);
	thread_release_entry(thread);
}

void sampler_thread_end(struct sampler_thread *thread)
{
	uint64_t mask = sampler_signal_bit();

	if (!__atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) || confined_by_unseen())
		return;
	/*
	 * In a program that profiles itself, the entry may belong to another thread after a session
	 * has ended.
	 */
	if (!sampler_is_this_process() || thread->tid != (int32_t)arch_syscall0(SYS_gettid) ||
		!__atomic_load_n(&thread->active, __ATOMIC_ACQUIRE))
		return;
	/*
	 * The signal stays blocked, because a signal that is still pending must not find a ring
	 * that belongs to another thread.
	 */
	if (thread->has_timer)
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	thread_ref(thread);
	if (sampler_thread_disarm(thread)) {
		uint64_t cpu_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);

		credit_due(thread, cpu_ns);
		sampler_read_name(thread->ring->comm);
		end_ring(thread, cpu_ns);
	}
	thread_unref(thread);
}

void sampler_thread_reap(struct sampler_thread *thread, uint64_t cpu_ns)
{
	thread_ref(thread);
	if (sampler_thread_disarm(thread)) {
		credit_due(thread, cpu_ns);
		end_ring(thread, cpu_ns);
	}
	thread_unref(thread);
}

void sampler_credit_disarmed(void)
{
	SAMPLER_FOR_EACH_RING(index)
	{
		struct sampler_thread *thread = sampler_thread_at(index);

		if (!thread->is_disarmed || __atomic_load_n(&thread->users, __ATOMIC_ACQUIRE))
			continue;
		thread->is_disarmed = 0;
		credit_due(thread, clock_cpu_ns(clock_of_thread(thread->tid)));
	}
}
