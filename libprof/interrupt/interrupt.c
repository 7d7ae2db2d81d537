/* SPDX-License-Identifier: MIT */
/*
 * The calls of a host: enable, register, unregister; the end of a thread and of a fork's parent.
 */
#include "libprof/interrupt/interrupt.h"

#include <errno.h>
#include <stddef.h>

#include "libprof/interrupt/registry.h"
#include "libprof/interrupt/ticks.h"
#include "libprof/interrupt/timer.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/stay_loaded.h"
#include "libprof/trampoline/elsewhere.h"

#define PERIOD_NS_MIN 100000ULL
#define PERIOD_NS_MAX (10 * CLOCK_NS_PER_S)

static pthread_key_t key; /* what a thread has: its interrupt_thread, or `was_registered` */
static struct interrupt_thread was_registered;
static int set_up_error;

static struct interrupt_thread *registered(void)
{
	struct interrupt_thread *thread = pthread_getspecific(key);

	return thread == &was_registered ? NULL : thread;
}

/* Two copies of the library: the counter and the flag here follow the other copy's. */
static void follow(void *thread)
{
	registry_raise(thread, 1);
}

static int begin_ticks(struct interrupt_thread *thread)
{
	int error;

	if (elsewhere.flameprof_interrupt_register_call)
		return elsewhere.flameprof_interrupt_register_call(follow, thread);
	pthread_mutex_lock(&interrupt.lock);
	if (interrupt.period_ns)
		thread->periods = registry_periods(clock_monotonic_ns());
	registry_add(thread);
	error = timer_need();
	if (error)
		registry_remove(thread);
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}

static void end_ticks(struct interrupt_thread *thread)
{
	if (elsewhere.flameprof_interrupt_unregister) {
		elsewhere.flameprof_interrupt_unregister();
	} else {
		pthread_mutex_lock(&interrupt.lock);
		registry_remove(thread);
		pthread_mutex_unlock(&interrupt.lock);
	}
	interrupt_ticks_clear();
	registry_thread_free(thread);
}

static void thread_ends(void *value)
{
	int saved_errno = errno;

	if (value != &was_registered)
		end_ticks(value);
	timer_end_unneeded();
	errno = saved_errno;
}

static void fork_prepare(void)
{
	pthread_mutex_lock(&interrupt.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&interrupt.lock);
}

/*
 * The child's timer begins at its first safe point, since most children only exec: the counter
 * brings it there. Only those who have to be told that there is a tick need a timer at once.
 */
static void fork_child(void)
{
	struct interrupt_thread *thread = registered();

	timer_forget_in_child();
	registry_keep_in_child(elsewhere.flameprof_interrupt_take ? NULL : thread);
	if (interrupt.threads && interrupt.period_ns) {
		thread->periods = registry_periods(clock_monotonic_ns());
		interrupt_ticks_clear();
		if (thread->tick) {
			timer_need();
		} else {
			interrupt_ticks_mark();
			if (thread->flag)
				__atomic_store_n(thread->flag, 1, __ATOMIC_SEQ_CST);
		}
	}
	pthread_mutex_unlock(&interrupt.lock);
}

static void set_up(void)
{
	/* Whose handler comes before ours. */
	own_threads_watch_forks();
	set_up_error = -pthread_key_create(&key, thread_ends);
	if (!set_up_error)
		set_up_error = -pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* Returns 0 once everything is there that a registered thread needs. */
static int be_set_up(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	stay_loaded();
	pthread_once(&once, set_up);
	return set_up_error ? -ENOMEM : 0;
}

static int add(unsigned char *flag, void (*tick)(void *context), void *context)
{
	struct interrupt_thread *thread, *before;
	int error = be_set_up();

	if (error)
		return error;
	if (registered())
		return -EALREADY;
	before = pthread_getspecific(key);
	thread = registry_thread_new();
	if (!thread)
		return -ENOMEM;
	thread->ticks = interrupt_ticks_here();
	thread->flag = flag;
	thread->tick = tick;
	thread->context = context;
	interrupt_ticks_clear();
	error = -pthread_setspecific(key, thread);
	if (error)
		goto out;
	error = begin_ticks(thread);
	if (!error)
		return 0;
	pthread_setspecific(key, before);
out:
	registry_thread_free(thread);
	return error;
}

int flameprof_interrupt_register(unsigned char *vm_flag)
{
	return add(vm_flag, NULL, NULL);
}

int flameprof_interrupt_register_call(void (*tick)(void *context), void *context)
{
	return add(NULL, tick, context);
}

int flameprof_interrupt_unregister(void)
{
	struct interrupt_thread *thread = be_set_up() ? NULL : registered();

	if (!thread)
		return -ESRCH;
	/* At its end the thread still looks after the timer. */
	pthread_setspecific(key, &was_registered);
	end_ticks(thread);
	return 0;
}

/* Two copies of the library: the other copy has the ticks, this one the host's function. */
static void pass_on(void *context, uint32_t ticks)
{
	(void)context;
	interrupt_call(ticks);
}

static int set_function(flameprof_interrupt_function *function, void *context)
{
	if (interrupt.function)
		return -EALREADY;
	interrupt.context = context;
	__atomic_store_n(&interrupt.function, function, __ATOMIC_RELEASE);
	return 0;
}

int flameprof_interrupt_enable(
	uint64_t period_ns, flameprof_interrupt_function *function, void *context)
{
	int error;

	if (period_ns < PERIOD_NS_MIN || period_ns > PERIOD_NS_MAX || !function)
		return -EINVAL;
	pthread_mutex_lock(&interrupt.lock);
	error = set_function(function, context);
	if (error)
		goto out;
	if (elsewhere.flameprof_interrupt_enable) {
		error = elsewhere.flameprof_interrupt_enable(period_ns, pass_on, NULL);
	} else {
		interrupt.begin_ns = clock_monotonic_ns();
		__atomic_store_n(&interrupt.period_ns, period_ns, __ATOMIC_RELAXED);
		error = timer_need();
	}
	if (error) {
		__atomic_store_n(&interrupt.period_ns, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&interrupt.function, NULL, __ATOMIC_RELAXED);
	}
out:
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}

int interrupt_begin_in_child(void)
{
	int error;

	pthread_mutex_lock(&interrupt.lock);
	error = timer_need();
	pthread_mutex_unlock(&interrupt.lock);
	return error;
}
