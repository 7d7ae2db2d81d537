/* SPDX-License-Identifier: MIT */
/*
 * Fork a process that has ticks enabled: the calling thread stays registered in the child and has
 * its own due time there. A child that only execs has no timer.
 */
#include "interrupt-fixture.h"

#include <signal.h>

#include "libprof/sampler/own_threads.h"

static int enable(void **state)
{
	(void)state;
	return flameprof_interrupt_enable(PERIOD_NS, count_calls, NULL);
}

static unsigned char flag;

static uint64_t forked_ns; /* time before the fork */

static int live_on(void)
{
	uint32_t most;

	CHILD_EXPECTS(interrupt.threads && !interrupt.threads->next);
	CHILD_EXPECTS(timers_now(NULL) == 0);
	pause_ms(3 * PERIOD_MS);
	/* No tick is raised before the child's first safe point. */
	CHILD_EXPECTS(flag == 1);
	flameprof_interrupt_check();
	CHILD_EXPECTS(calls_seen == 0);
	CHILD_EXPECTS(timers_now(NULL) == 1);
	/* Periods between the fork and the start of the child's timer are counted. */
	await_ticks(3);
	flameprof_interrupt_check();
	most = (uint32_t)((now_ns() - forked_ns) / PERIOD_NS + 1);
	CHILD_EXPECTS(calls_seen == 1 && ticks_seen >= 3 && ticks_seen <= most);
	CHILD_EXPECTS(flameprof_interrupt_register(NULL) == -EALREADY);
	CHILD_EXPECTS(flameprof_interrupt_unregister() == 0);
	CHILD_EXPECTS(ticks_now() == 0);
	return 0;
}

static void *stay_registered(void *argument)
{
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	while (!__atomic_load_n((uint32_t *)argument, __ATOMIC_ACQUIRE)) {
		pause_ms(1);
		flameprof_interrupt_check();
	}
	return NULL;
}

static void the_calling_thread_stays(void **state)
{
	uint32_t is_over = 0;
	pthread_t others[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&others[i], NULL, stay_registered, &is_over), 0);
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	while (registered_count() < 5)
		pause_ms(1);
	for (int i = 0; i < 20; i++) {
		forget_calls();
		/* These ticks belong to the parent. */
		await_ticks(2);
		__atomic_store_n(&flag, 0, __ATOMIC_SEQ_CST);
		forked_ns = now_ns();
		check_in_child(live_on);
	}
	/* The parent is unchanged. */
	assert_int_equal(registered_count(), 5);
	await_ticks(1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		pthread_join(others[i], NULL);
}

static int register_anew(void)
{
	CHILD_EXPECTS(!interrupt.threads && timers_now(NULL) == 0 && ticks_now() == 0);
	CHILD_EXPECTS(flameprof_interrupt_unregister() == -ESRCH);
	CHILD_EXPECTS(flameprof_interrupt_register(NULL) == 0);
	await_ticks(2);
	CHILD_EXPECTS(flameprof_interrupt_enable(PERIOD_NS, count_calls, NULL) == -EALREADY);
	CHILD_EXPECTS(flameprof_interrupt_unregister() == 0);
	return 0;
}

static void a_thread_without_ticks_has_none(void **state)
{
	uint32_t is_over = 0;
	pthread_t other;

	(void)state;
	assert_int_equal(pthread_create(&other, NULL, stay_registered, &is_over), 0);
	while (registered_count() < 1)
		pause_ms(1);
	for (int i = 0; i < 10; i++)
		check_in_child(register_anew);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
}

static uint32_t times_told; /* atomic */

static void tell(void *context)
{
	(void)context;
	__atomic_fetch_add(&times_told, 1, __ATOMIC_RELAXED);
}

static int parents_own; /* tid of the parent's timer */

/*
 * A thread with a `tick` callback need not reach a safe point, so the child needs the timer thread
 * at once.
 */
static int be_told(void)
{
	int tid = 0;

	CHILD_EXPECTS(timers_now(&tid) == 1);
	CHILD_EXPECTS(own_threads_contain((uint32_t)tid));
	CHILD_EXPECTS(!own_threads_contain((uint32_t)parents_own));
	__atomic_store_n(&times_told, 0, __ATOMIC_RELAXED);
	while (__atomic_load_n(&times_told, __ATOMIC_RELAXED) < 3)
		pause_ms(1);
	CHILD_EXPECTS(ticks_now() >= 3);
	return 0;
}

/*
 * A `tick` callback is also called in the child, whether or not a profiling session has installed
 * its fork handler.
 */
static void who_is_called_is_called_in_the_child(void **state)
{
	struct flameprof_profile *profile = NULL;

	(void)state;
	assert_int_equal(flameprof_interrupt_register_call(tell, NULL), 0);
	assert_int_equal(timers_now(&parents_own), 1);
	assert_true(own_threads_contain((uint32_t)parents_own));
	for (int i = 0; i < 10; i++)
		check_in_child(be_told);
	if (!is_emulated()) {
		start_often();
		/* Now the list of threads ends with the session's worker thread. */
		assert_int_equal(timers_now(&parents_own), 2);
		for (int i = 0; i < 10; i++)
			check_in_child(be_told);
		assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
		flameprof_profile_free(profile);
	}
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* Wait until the child's first thread, which ends by a system call, is no longer registered. */
static void *see_it_go(void *argument)
{
	CHILD_EXPECTS(flameprof_interrupt_register(NULL) == 0);
	while (registered_count() > 1)
		pause_ms(1);
	_exit(0);
	return argument;
}

static int leave_by_system_call(void)
{
	pthread_t id;

	CHILD_EXPECTS(!pthread_create(&id, NULL, see_it_go, NULL));
	while (registered_count() < 2)
		pause_ms(1);
	syscall(SYS_exit, 1);
	return 0;
}

static void the_kernel_tells_of_the_childs_threads(void **state)
{
	(void)state;
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	for (int i = 0; i < 5; i++)
		check_in_child(leave_by_system_call);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/*
 * Fork inside the host's function. The child is inside the function, too, until its first safe
 * point.
 */
static void fork_inside(void *context, uint32_t ticks)
{
	pid_t child = fork();
	int status = -1;

	(void)context;
	(void)ticks;
	if (child) {
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		calls_seen++;
		return;
	}
	alarm(PATIENCE_MS / 1000);
	interrupt.function = count_calls;
	calls_seen = 0;
	flameprof_interrupt_check();
	CHILD_EXPECTS(timers_now(NULL) == 0);
	*(int *)context = 1;
}

static void the_function_may_fork(void **state)
{
	flameprof_interrupt_function *function = interrupt.function;
	void *context = interrupt.context;
	int is_child = 0;

	(void)state;
	interrupt.function = fork_inside;
	interrupt.context = &is_child;
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	calls_seen = 0;
	await_ticks(1);
	flameprof_interrupt_check();
	if (is_child) {
		flameprof_interrupt_check();
		await_ticks(1);
		flameprof_interrupt_check();
		CHILD_EXPECTS(calls_seen == 1);
		_exit(0);
	}
	assert_int_equal(calls_seen, 1);
	interrupt.function = function;
	interrupt.context = context;
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* Fork a child of a child; each has its own due times. */
static int fork_again(void)
{
	flameprof_interrupt_check();
	await_ticks(1);
	forget_calls();
	__atomic_store_n(&flag, 0, __ATOMIC_SEQ_CST);
	forked_ns = now_ns();
	check_in_child(live_on);
	await_ticks(1);
	return 0;
}

static void children_fork(void **state)
{
	(void)state;
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	check_in_child(fork_again);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_calling_thread_stays),
		cmocka_unit_test(a_thread_without_ticks_has_none),
		cmocka_unit_test(who_is_called_is_called_in_the_child),
		cmocka_unit_test(the_kernel_tells_of_the_childs_threads),
		cmocka_unit_test(the_function_may_fork),
		cmocka_unit_test(children_fork),
	};

	/* Under qemu-user a child of a process with several threads cannot make threads. */
	return is_emulated() ? 0 : cmocka_run_group_tests(tests, enable, NULL);
}
