/* SPDX-License-Identifier: MIT */
/*
 * Who may use the session, and how long: entering, leaving, ending, waiting. Its start and stop are
 * start.c and stop.c.
 */
#include "libprof/api/session.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/sampler.h"

#define NS_PER_MS 1000000ULL
/*
 * How long to wait for handlers that were under way when their timers went. They take microseconds;
 * one that a debugger holds up must not hold up the program, and keeps its ring.
 */
#define QUIET_MS 1000

struct session session = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.end_lock = PTHREAD_MUTEX_INITIALIZER,
	.counts_lock = PTHREAD_MUTEX_INITIALIZER,
};

int session_is_worker(void)
{
	return (int32_t)arch_syscall0(SYS_gettid) ==
	       __atomic_load_n(&session.worker_tid, __ATOMIC_ACQUIRE);
}

int session_is_here(void)
{
	return sampler_is_hosted() &&
	       (uint32_t)arch_syscall0(SYS_getpid) == sampler.pid;
}

int session_enter(void)
{
	int error = -ESRCH;

	if (session_is_worker())
		return -EDEADLK;
	if (!session_is_here())
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

void session_leave(void)
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
	sampler_settle_all();
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
	uint64_t rest_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec rest = {
		(time_t)(rest_ns / CLOCK_NS_PER_S), (long)(rest_ns % CLOCK_NS_PER_S)};

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != seen)
		return 0;
	if (!rest_ns)
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
