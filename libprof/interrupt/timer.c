/* SPDX-License-Identifier: MIT */
/*
 * The timer's thread. It sleeps on a futex, the bell, until an absolute time of CLOCK_MONOTONIC:
 *
 *   RUNS      ticks whenever the next is due for anybody; the bell: one is due before that
 *     │  ▲
 *     ▼  │ bell
 *   RUNS, resting: nobody gets ticks
 *     │ after REST_NS
 *     ▼
 *   ENDED     the thread has left, to be joined by whoever needs the next one
 */
#include "libprof/interrupt/timer.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/syscall.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/interrupt/registry.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"

/* Making a thread costs as much as some hundred rests. */
#define REST_NS CLOCK_NS_PER_S

enum timer_state {
	NONE = 0,
	RUNS = 1,
	ENDED = 2,
};

/* All under interrupt.lock, but for the bell. */
static struct {
	enum timer_state state;
	pthread_t id; /* in RUNS and ENDED */
	uint32_t generation; /* a thread of another one leaves at once */
	uint64_t wakes_ns;   /* for ticks; UINT64_MAX: it rests. 0: it is not there yet */
	uint32_t bell; /* atomic, futex */
} timer;

static void ring(void)
{
	__atomic_fetch_add(&timer.bell, 1, __ATOMIC_RELEASE);
	arch_syscall3(SYS_futex, &timer.bell, FUTEX_WAKE_PRIVATE, 1);
}

/* Until then, the bell, or a wake-up for nothing. Returns 0, or -errno where none can be had. */
static int sleep_until(uint64_t deadline_ns, uint32_t bell)
{
	struct timespec until = {(time_t)(deadline_ns / CLOCK_NS_PER_S),
		(long)(deadline_ns % CLOCK_NS_PER_S)};
	long error = arch_syscall6(SYS_futex, (long)&timer.bell,
		FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, (long)bell, (long)&until, 0,
		(long)FUTEX_BITSET_MATCH_ANY);

	return error == -ETIMEDOUT || error == -EAGAIN || error == -EINTR ? 0 : (int)error;
}

/*
 * What is due, and until when there is nothing to do.
 * Returns 1, or 0 when the thread is to leave. Context: interrupt.lock is held.
 */
static int turn(uint32_t generation, uint64_t *rest_end_ns, uint64_t *deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (generation != timer.generation)
		return 0;
	timer.wakes_ns = registry_tick(now_ns);
	if (timer.wakes_ns != UINT64_MAX) {
		*rest_end_ns = 0;
		*deadline_ns = timer.wakes_ns;
		return 1;
	}
	if (*rest_end_ns && now_ns >= *rest_end_ns) {
		timer.state = ENDED;
		return 0;
	}
	if (!*rest_end_ns)
		*rest_end_ns = now_ns + REST_NS;
	*deadline_ns = *rest_end_ns;
	return 1;
}

static void *timer_main(void *argument)
{
	uint32_t generation = (uint32_t)(uintptr_t)argument;
	uint64_t rest_end_ns = 0, deadline_ns = 0;
	uint32_t bell;
	int goes_on;

	do {
		pthread_mutex_lock(&interrupt.lock);
		goes_on = turn(generation, &rest_end_ns, &deadline_ns);
		bell = __atomic_load_n(&timer.bell, __ATOMIC_ACQUIRE);
		pthread_mutex_unlock(&interrupt.lock);
	} while (goes_on && !sleep_until(deadline_ns, bell));
	return NULL;
}

/* It has left the lock, or is about to leave altogether. */
static void join(pthread_t id)
{
	int before;

	/* Joining can be where a thread is cancelled, and this one may hold the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_join(id, NULL);
	pthread_setcancelstate(before, NULL);
}

int timer_need(uint64_t due_ns)
{
	int error;

	if (due_ns == UINT64_MAX)
		return 0;
	if (timer.state == RUNS) {
		if (due_ns < timer.wakes_ns)
			ring();
		return 0;
	}
	if (timer.state == ENDED)
		join(timer.id);
	timer.state = NONE;
	timer.wakes_ns = 0;
	error = own_threads_begin(
		&timer.id, NULL, timer_main, (void *)(uintptr_t)timer.generation);
	if (!error)
		timer.state = RUNS;
	return error;
}

void timer_end_unneeded(void)
{
	pthread_t id;

	pthread_mutex_lock(&interrupt.lock);
	if (registry_is_ticking() || timer.state == NONE) {
		pthread_mutex_unlock(&interrupt.lock);
		return;
	}
	id = timer.id;
	timer.state = NONE;
	timer.generation++;
	ring();
	pthread_mutex_unlock(&interrupt.lock);
	join(id);
}

void timer_forget_in_child(void)
{
	timer.state = NONE;
	timer.generation++;
}
