/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * Test interrupt ticks as a host gets them: how many, in which thread, and when the host's function
 * is called. Ticks stay enabled from one test to the next, so the order of the tests matters.
 */
#include "interrupt-fixture.h"

#include <signal.h>
#include <sys/mman.h>

#include "libprof/interrupt/interrupt.h"
#include "libprof/interrupt/timer.h"
#include "libprof/sampler/own_threads.h"

static int other_calls;

static void other_function(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
	other_calls++;
}

static void what_is_out_of_range_is_refused(void **state)
{
	(void)state;
	assert_int_equal(flameprof_interrupt_enable(99999, count_calls, NULL), -EINVAL);
	assert_int_equal(flameprof_interrupt_enable(10000000001, count_calls, NULL), -EINVAL);
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, NULL, NULL), -EINVAL);
	assert_int_equal(interrupt_period_ns(), 0);
}

static void nothing_ticks_before_it_is_enabled(void **state)
{
	unsigned char flag = 0;

	(void)state;
	assert_int_equal(flameprof_interrupt_unregister(), -ESRCH);
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	assert_int_equal(flameprof_interrupt_register(&flag), -EALREADY);
	assert_int_equal(flameprof_interrupt_register_call(NULL, NULL), -EINVAL);
	assert_int_equal(timers_now(NULL), 0);
	pause_ms(5 * PERIOD_MS);
	assert_int_equal(ticks_now(), 0);
	assert_int_equal(flag, 0);
	flameprof_interrupt_take();
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	assert_int_equal(flameprof_interrupt_unregister(), -ESRCH);
}

static int create_nothing(
	pthread_t *id, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	(void)id;
	(void)attributes;
	(void)start;
	(void)argument;
	return EAGAIN;
}

static void enabling_is_for_all_or_nothing(void **state)
{
	__typeof__(libc_calls.pthread_create) create = libc_calls.pthread_create;

	(void)state;
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	libc_calls.pthread_create = create_nothing;
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, other_function, NULL), -EAGAIN);
	libc_calls.pthread_create = create;
	assert_int_equal(interrupt_period_ns(), 0);
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, count_calls, NULL), 0);
	assert_int_equal(
		flameprof_interrupt_enable(2 * PERIOD_NS, other_function, NULL), -EALREADY);
	assert_int_equal(interrupt_period_ns(), PERIOD_NS);
	/* The thread registered before ticks were enabled, and gets ticks all the same. */
	await_ticks(1);
	flameprof_interrupt_check();
	assert_true(calls_seen > 0);
	assert_int_equal(other_calls, 0);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

static void without_a_thread_nobody_is_registered(void **state)
{
	__typeof__(libc_calls.pthread_create) create = libc_calls.pthread_create;

	(void)state;
	await_timers(0);
	libc_calls.pthread_create = create_nothing;
	assert_int_equal(flameprof_interrupt_register(NULL), -EAGAIN);
	libc_calls.pthread_create = create;
	assert_int_equal(registered_count(), 0);
	assert_int_equal(flameprof_interrupt_unregister(), -ESRCH);
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	await_ticks(1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* A builtin reaches no safe point during 28 periods, so their ticks are reported in one call. */
static void many_periods_come_as_one_call(void **state)
{
	uint64_t begin_ns, most;

	(void)state;
	/* The thread is not registered yet, so earlier periods cannot have raised a tick. */
	forget_calls();
	begin_ns = now_ns();
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	burn_ms(28 * PERIOD_MS);
	await_ticks(27);
	flameprof_interrupt_check();
	most = (now_ns() - begin_ns) / PERIOD_NS + 1;
	assert_int_equal(calls_seen, 1);
	assert_in_range(ticks_seen, 27, most);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* However late the timer is, in the end as many ticks are reported as periods have passed. */
static void no_period_is_lost(void **state)
{
	uint64_t begin_ns, there_ns, end_ns;
	double least_late = 1e9;

	(void)state;
	forget_calls();
	begin_ns = now_ns();
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	there_ns = now_ns();
	end_ns = there_ns + 300 * PERIOD_NS;
	while (now_ns() < end_ns || least_late > 1) {
		uint32_t before = calls_seen;
		uint64_t seen_ns;
		double late;

		flameprof_interrupt_check();
		if (calls_seen == before)
			continue;
		seen_ns = now_ns();
		/* Periods before the thread registered must not be counted. */
		assert_true(ticks_seen <= (seen_ns - begin_ns) / PERIOD_NS + 1);
		late = (double)(seen_ns - there_ns) / PERIOD_NS - (double)ticks_seen;
		if (seen_ns > there_ns + 200 * PERIOD_NS && late < least_late)
			least_late = late;
		assert_true(now_ns() < end_ns + PATIENCE_MS * 1000000ULL);
		if (calls_seen % 16 == 0) {
			/* Keep the timer thread from running for some periods. */
			pthread_mutex_lock(&interrupt.lock);
			pause_ms(5 * PERIOD_MS);
			pthread_mutex_unlock(&interrupt.lock);
		}
	}
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

static void anothers_interrupt_is_no_tick(void **state)
{
	unsigned char flag = 0;

	(void)state;
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	await_ticks(1);
	pthread_mutex_lock(&interrupt.lock);
	forget_calls();
	flag = 1;
	flameprof_interrupt_check();
	flameprof_interrupt_take();
	assert_int_equal(calls_seen, 0);
	/* The library does not clear the flag. */
	assert_int_equal(flag, 1);
	pthread_mutex_unlock(&interrupt.lock);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

static void unregistered_threads_get_nothing(void **state)
{
	unsigned char flag = 0;
	volatile uint32_t *ticks = interrupt_ticks_here();

	(void)state;
	assert_ptr_equal(ticks, &flameprof_interrupt_ticks);
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	await_ticks(2);
	while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
		pause_ms(1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	assert_int_equal(ticks_now(), 0);
	__atomic_store_n(&flag, 0, __ATOMIC_RELEASE);
	pause_ms(10 * PERIOD_MS);
	assert_int_equal(ticks_now(), 0);
	assert_int_equal(flag, 0);
	calls_seen = 0;
	flameprof_interrupt_take();
	assert_int_equal(calls_seen, 0);
}

/* ---- inside the host's function -------------------------------------------------------------- */

static unsigned unregistered_inside;

/* Code that a test runs inside the host's interrupt function. */
static void (*in_function)(void);

static void do_in_function(void)
{
	uint32_t before = calls_seen;

	await_ticks(3);
	flameprof_interrupt_check();
	flameprof_interrupt_take();
	assert_int_equal(calls_seen, before);
	assert_true(ticks_now() >= 3);
	errno = EXDEV;
}

static void unregister_in_function(void)
{
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	await_ticks(1);
	unregistered_inside++;
}

/* Runs instead of count_calls(). */
static void run_in_function(void *context, uint32_t ticks)
{
	void (*part)(void) = in_function;

	in_function = NULL;
	count_calls(context, ticks);
	if (part)
		part();
}

static void no_tick_is_taken_in_the_function(void **state)
{
	(void)state;
	interrupt.function = run_in_function;
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	await_ticks(1);
	calls_seen = 0;
	in_function = do_in_function;
	errno = EDOM;
	flameprof_interrupt_check();
	assert_int_equal(errno, EDOM);
	assert_int_equal(calls_seen, 1);
	ticks_seen = 0;
	/*
	 * Ticks raised while the host's interrupt function runs are reported at the next safe
	 * point.
	 */
	flameprof_interrupt_check();
	assert_int_equal(calls_seen, 2);
	assert_true(ticks_seen >= 3);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

static void the_function_may_unregister(void **state)
{
	(void)state;
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	await_ticks(1);
	in_function = unregister_in_function;
	flameprof_interrupt_check();
	assert_int_equal(unregistered_inside, 1);
	await_ticks(1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	interrupt.function = count_calls;
}

/* ---- one tick -------------------------------------------------------------------------------- */

/* The callback runs under interrupt.lock, so access these fields only under this lock. */
static struct {
	pthread_t thread;
	unsigned calls, without_a_tick;
} called;

static void look_at_counter(void *context)
{
	called.thread = pthread_self();
	called.calls++;
	called.without_a_tick +=
		!__atomic_load_n((volatile uint32_t *)context, __ATOMIC_RELAXED);
}

/*
 * A callback instead of a flag: it is called in the timer's thread, after the counter was raised.
 */
static void a_call_instead_of_a_flag(void **state)
{
	(void)state;
	assert_int_equal(flameprof_interrupt_register_call(
				 look_at_counter, (void *)(uintptr_t)interrupt_ticks_here()),
		0);
	await_ticks(5);
	pthread_mutex_lock(&interrupt.lock);
	assert_in_range(called.calls, 1, ticks_now());
	assert_int_equal(called.without_a_tick, 0);
	assert_false(pthread_equal(called.thread, pthread_self()));
	pthread_mutex_unlock(&interrupt.lock);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

static void counters_stay_at_their_end(void **state)
{
	volatile uint32_t ticks = UINT32_MAX - 2;
	unsigned char flag = 0;
	struct interrupt_thread thread = {.ticks = &ticks, .flag = &flag};

	(void)state;
	registry_raise(&thread, 1);
	assert_int_equal(ticks, UINT32_MAX - 1);
	registry_raise(&thread, 5);
	assert_int_equal(ticks, UINT32_MAX);
	registry_raise(&thread, UINT32_MAX);
	assert_int_equal(ticks, UINT32_MAX);
	assert_int_equal(flag, 1);
}

static struct {
	volatile uint32_t *ticks;
	volatile unsigned char flag;
	unsigned writes, flag_at_write;
} watched;

static void at_write(int signal)
{
	(void)signal;
	watched.writes++;
	watched.flag_at_write = watched.flag;
	mprotect((void *)(uintptr_t)watched.ticks, 4096, PROT_READ | PROT_WRITE);
}

/*
 * The flag is written after the counter. The counter is in a read-only page, so that the first
 * write to it is caught.
 */
static void the_flag_comes_after_the_counter(void **state)
{
	struct sigaction action = {.sa_handler = at_write}, before;
	struct interrupt_thread thread = {0};

	(void)state;
	watched.ticks =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(watched.ticks, MAP_FAILED);
	thread.ticks = watched.ticks;
	thread.flag = (unsigned char *)&watched.flag;
	sigaction(SIGSEGV, &action, &before);
	registry_raise(&thread, 1);
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(watched.writes, 1);
	assert_int_equal(watched.flag_at_write, 0);
	assert_int_equal(watched.flag, 1);
	assert_int_equal(*watched.ticks, 1);
	munmap((void *)(uintptr_t)watched.ticks, 4096);
}

static void the_counter_lies_where_code_is_told(void **state)
{
	uintptr_t pointer = (uintptr_t)__builtin_thread_pointer();

	(void)state;
	assert_int_equal(
		pointer + (uintptr_t)interrupt_ticks_offset(), &flameprof_interrupt_ticks);
}

/*
 * An idle timer thread that has ended is normally joined when the next one is needed. Join it here.
 */
static int join_timer(void **state)
{
	(void)state;
	timer_end_unneeded();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_out_of_range_is_refused),
		cmocka_unit_test(nothing_ticks_before_it_is_enabled),
		cmocka_unit_test(enabling_is_for_all_or_nothing),
		cmocka_unit_test(without_a_thread_nobody_is_registered),
		cmocka_unit_test(many_periods_come_as_one_call),
		cmocka_unit_test(no_period_is_lost),
		cmocka_unit_test(anothers_interrupt_is_no_tick),
		cmocka_unit_test(unregistered_threads_get_nothing),
		cmocka_unit_test(no_tick_is_taken_in_the_function),
		cmocka_unit_test(the_function_may_unregister),
		cmocka_unit_test(a_call_instead_of_a_flag),
		cmocka_unit_test(counters_stay_at_their_end),
		cmocka_unit_test(the_flag_comes_after_the_counter),
		cmocka_unit_test(the_counter_lies_where_code_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, join_timer);
}
