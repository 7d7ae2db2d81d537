/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * Run several virtual machines in one process: disable ticks and check the guarantees, enable them
 * with another period and function, and register threads that have their own function.
 */
#include "interrupt-fixture.h"
#include "libprof/sanitizers.h"

/* ns; longer than any test */
#define LONG_NS 10000000000ULL

static uint32_t inside, returned; /* atomic */

static uint32_t load(uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void await(uint32_t *word)
{
	while (!load(word))
		pause_ms(1);
}

/* Has a thread begun to disable ticks? */
static int is_ending(void)
{
	return !__atomic_load_n(&interrupt.function, __ATOMIC_SEQ_CST);
}

/* Add @ticks to *@context. */
static void add_up(void *context, uint32_t ticks)
{
	*(uint64_t *)context += ticks;
}

static void take_some(uint32_t ticks)
{
	await_ticks(ticks);
	flameprof_interrupt_check();
}

static void it_ends_and_begins_anew(void **state)
{
	uint64_t others = 0, begin_ns;
	unsigned char flag = 0;

	(void)state;
	assert_int_equal(flameprof_interrupt_disable(), -ESRCH);
	assert_int_equal(flameprof_interrupt_register(&flag), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(flameprof_interrupt_enable(PERIOD_NS / 2, count_calls, NULL), 0);
		await_ticks(1);
		assert_int_equal(flameprof_interrupt_disable(), 0);
		assert_int_equal(flameprof_interrupt_disable(), -ESRCH);
		assert_int_equal(interrupt_period_ns(), 0);
		/* Disabling drops pending ticks, and no more are raised. */
		assert_int_equal(ticks_now(), 0);
		__atomic_store_n(&flag, 0, __ATOMIC_SEQ_CST);
		await_timers(0);
		assert_int_equal(flag, 0);
		begin_ns = now_ns();
		others = 0;
		assert_int_equal(flameprof_interrupt_enable(10 * PERIOD_NS, add_up, &others), 0);
		assert_int_equal(interrupt_period_ns(), 10 * PERIOD_NS);
		take_some(2);
		assert_int_equal(calls_seen, 0);
		assert_in_range(others, 2, (now_ns() - begin_ns) / (10 * PERIOD_NS) + 1);
		assert_int_equal(flameprof_interrupt_disable(), 0);
	}
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* Stay inside the host's function until another thread has begun to disable ticks. */
static void stay_inside(void *context, uint32_t ticks)
{
	(void)ticks;
	if (flameprof_interrupt_disable() != -EDEADLK ||
		flameprof_interrupt_enable(PERIOD_NS, stay_inside, NULL) != -EALREADY)
		return;
	store(&inside, 1);
	while (!is_ending())
		pause_ms(1);
	/*
	 * While the host's function runs, the library holds no lock, so the function can call the
	 * library.
	 */
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, add_up, NULL), -EBUSY);
	assert_int_equal(flameprof_interrupt_disable(), -EBUSY);
	for (int i = 0; i < 50; i++) {
		pause_ms(1);
		*(uint32_t *)context += load(&returned);
	}
	store(&inside, 0);
}

static void *enter_once(void *argument)
{
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	take_some(1);
	return argument;
}

static void the_end_waits_for_who_is_inside(void **state)
{
	uint32_t too_early = 0;
	pthread_t id;

	(void)state;
	for (int i = 0; i < 10; i++) {
		store(&returned, 0);
		assert_int_equal(
			flameprof_interrupt_enable(PERIOD_NS, stay_inside, &too_early), 0);
		assert_int_equal(pthread_create(&id, NULL, enter_once, NULL), 0);
		await(&inside);
		assert_int_equal(flameprof_interrupt_disable(), 0);
		assert_int_equal(load(&inside), 0);
		store(&returned, 1);
		pthread_join(id, NULL);
		assert_int_equal(too_early, 0);
	}
}

/* Wait inside the host's function until the thread is cancelled. */
static void wait_for_the_end(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
	store(&inside, 1);
	for (;;)
		pause();
}

static int cancel_inside(void)
{
	pthread_t id;

	CHILD_EXPECTS(!flameprof_interrupt_enable(PERIOD_NS, wait_for_the_end, NULL));
	CHILD_EXPECTS(!pthread_create(&id, NULL, enter_once, NULL));
	await(&inside);
	pthread_cancel(id);
	pthread_join(id, NULL);
	CHILD_EXPECTS(!flameprof_interrupt_disable());
	return 0;
}

static void a_thread_that_ended_inside_is_not_waited_for(void **state)
{
	(void)state;
	/*
	 * Emulators and ThreadSanitizer do not let a child make threads. AddressSanitizer confuses
	 * the frames of a cancelled thread with those of other functions.
	 */
	if (is_emulated() || UNDER_ASAN)
		skip();
	skip_under_tsan();
	check_in_child(cancel_inside);
}

/*
 * Fork inside the host's function while another thread of the parent waits for the function's end.
 * The child has only the thread that is inside.
 */
static void fork_while_it_ends(void *context, uint32_t ticks)
{
	int status = -1;
	pid_t child;

	(void)ticks;
	store(&inside, 1);
	while (!is_ending())
		pause_ms(1);
	child = fork();
	if (!child) {
		alarm(CHILD_LIFE_S);
		CHILD_EXPECTS(!flameprof_interrupt_enable(PERIOD_NS, add_up, context));
		CHILD_EXPECTS(flameprof_interrupt_disable() == -EDEADLK);
		_exit(0);
	}
	waitpid(child, &status, 0);
	*(int *)context = status;
}

static void a_child_of_the_end_begins_anew(void **state)
{
	int status = -1;
	pthread_t id;

	(void)state;
	if (is_emulated())
		skip();
	skip_under_tsan();
	store(&inside, 0);
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, fork_while_it_ends, &status), 0);
	assert_int_equal(pthread_create(&id, NULL, enter_once, NULL), 0);
	await(&inside);
	assert_int_equal(flameprof_interrupt_disable(), 0);
	assert_int_equal(status, 0);
	pthread_join(id, NULL);
}

static void wait_until_returned(void *context, uint32_t ticks)
{
	(void)context;
	(void)ticks;
	store(&inside, 1);
	await(&returned);
}

static int disable_alone(void)
{
	return -flameprof_interrupt_disable();
}

static void a_child_waits_for_nobody_of_the_parents(void **state)
{
	pthread_t id;

	(void)state;
	store(&inside, 0);
	store(&returned, 0);
	assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, wait_until_returned, NULL), 0);
	assert_int_equal(pthread_create(&id, NULL, enter_once, NULL), 0);
	await(&inside);
	check_in_child(disable_alone);
	store(&returned, 1);
	pthread_join(id, NULL);
	assert_int_equal(flameprof_interrupt_disable(), 0);
}

/* ---- functions of threads -------------------------------------------------------------------- */

static void what_is_half_said_is_refused(void **state)
{
	static const struct flameprof_interrupt_options bad[] = {
		{.period_ns = PERIOD_NS},
		{.context = (void *)bad},
		{.function = add_up},
		{.function = add_up, .period_ns = 99999},
		{.function = add_up, .period_ns = LONG_NS + 1},
		{.reserved = {0, 0, 0, 1}},
	};

	(void)state;
	assert_int_equal(flameprof_interrupt_register_with(NULL), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(flameprof_interrupt_register_with(&bad[i]), -EINVAL);
	assert_int_equal(flameprof_interrupt_unregister(), -ESRCH);
}

struct own_machine {
	uint64_t ticks;
	unsigned char flag;
	uint32_t is_over;
};

static struct flameprof_interrupt_options options_of(
	struct own_machine *machine, uint64_t period_ns)
{
	return (struct flameprof_interrupt_options){.period_ns = period_ns,
		.function = add_up,
		.context = &machine->ticks,
		.vm_flag = &machine->flag};
}

static void *run_own(void *argument)
{
	struct own_machine *machine = argument;
	struct flameprof_interrupt_options options = options_of(machine, 10 * PERIOD_NS);
	uint64_t begin_ns = now_ns();

	assert_int_equal(flameprof_interrupt_register_with(&options), 0);
	assert_int_equal(flameprof_interrupt_register(NULL), -EALREADY);
	while (!load(&machine->is_over) || machine->ticks < 3) {
		flameprof_interrupt_check();
		pause_ms(1);
	}
	assert_int_equal(__atomic_load_n(&machine->flag, __ATOMIC_SEQ_CST), 1);
	assert_true(machine->ticks <= (now_ns() - begin_ns) / (10 * PERIOD_NS) + 1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	return NULL;
}

/*
 * One thread has its own interrupt function, while another thread registers and unregisters
 * repeatedly.
 */
static void two_machines_have_their_own(void **state)
{
	struct own_machine machine = {0};
	uint64_t ticks = 0;
	pthread_t id;

	(void)state;
	calls_seen = 0;
	assert_int_equal(pthread_create(&id, NULL, run_own, &machine), 0);
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	for (int i = 0; i < 5; i++) {
		uint64_t begin_ns = now_ns();

		ticks = 0;
		assert_int_equal(flameprof_interrupt_enable(PERIOD_NS, add_up, &ticks), 0);
		take_some(5);
		assert_in_range(ticks, 5, (now_ns() - begin_ns) / PERIOD_NS + 1);
		assert_int_equal(flameprof_interrupt_disable(), 0);
	}
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	store(&machine.is_over, 1);
	pthread_join(id, NULL);
	await_timers(0);
}

/*
 * flameprof_interrupt_disable() succeeds inside a thread's own function, because it does not wait
 * for threads that have their own function.
 */
static void disable_from_own(void *context, uint32_t ticks)
{
	(void)ticks;
	*(int *)context = flameprof_interrupt_disable();
}

static void its_own_function_is_not_waited_for(void **state)
{
	int status = 1;
	const struct flameprof_interrupt_options options = {
		.period_ns = PERIOD_NS, .function = disable_from_own, .context = &status};

	(void)state;
	assert_int_equal(flameprof_interrupt_enable(LONG_NS, count_calls, NULL), 0);
	assert_int_equal(flameprof_interrupt_register_with(&options), 0);
	take_some(1);
	assert_int_equal(status, 0);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	assert_int_equal(flameprof_interrupt_disable(), -ESRCH);
}

static void *wait_for_long(void *argument)
{
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	store(argument, 1);
	while (load(argument) == 1)
		pause_ms(1);
	return NULL;
}

/*
 * The timer sleeps for ten seconds. A thread that is due earlier registers, so the timer must wake
 * up.
 */
static void it_wakes_up_for_who_is_due_earlier(void **state)
{
	struct own_machine machine = {0};
	struct flameprof_interrupt_options options = options_of(&machine, PERIOD_NS);
	uint32_t registered = 0;
	uint64_t begin_ns = now_ns();
	pthread_t id;

	(void)state;
	assert_int_equal(flameprof_interrupt_enable(LONG_NS, count_calls, NULL), 0);
	assert_int_equal(pthread_create(&id, NULL, wait_for_long, &registered), 0);
	await(&registered);
	await_timers(1);
	pause_ms(20);
	assert_int_equal(flameprof_interrupt_register_with(&options), 0);
	await_ticks(1);
	assert_true(now_ns() - begin_ns < LONG_NS);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	store(&registered, 2);
	pthread_join(id, NULL);
	assert_int_equal(flameprof_interrupt_disable(), 0);
}

/* The ticks of a recorded stack are counted in periods of the recording thread. */
static void stacks_have_the_threads_period(void **state)
{
	const struct flameprof_options only_vm = {.clock = FLAMEPROF_CLOCK_VM};
	const struct flameprof_vm_frame frame = {"f", NULL, 0};
	struct own_machine machine = {0};
	struct flameprof_interrupt_options options = options_of(&machine, LONG_NS);
	struct flameprof_profile *profile = NULL;

	(void)state;
	assert_int_equal(flameprof_record_vm_stack(&frame, 1, 3), -EINVAL);
	assert_int_equal(flameprof_interrupt_enable(LONG_NS / 5, count_calls, NULL), 0);
	assert_int_equal(flameprof_interrupt_register_with(&options), 0);
	assert_int_equal(flameprof_start(&only_vm), 0);
	assert_int_equal(flameprof_record_vm_stack(&frame, 1, 3), 0);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	/* Five periods of this thread are one period of the process. */
	assert_int_equal(flameprof_record_vm_stack(&frame, 1, 20), 0);
	assert_int_equal(flameprof_stop(&profile, -1), 0);
	assert_int_equal(take_weight(profile), 7);
	assert_int_equal(flameprof_interrupt_disable(), 0);
	assert_int_equal(flameprof_record_vm_stack(&frame, 1, 3), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_and_begins_anew),
		cmocka_unit_test(the_end_waits_for_who_is_inside),
		cmocka_unit_test(a_thread_that_ended_inside_is_not_waited_for),
		cmocka_unit_test(a_child_of_the_end_begins_anew),
		cmocka_unit_test(a_child_waits_for_nobody_of_the_parents),
		cmocka_unit_test(what_is_half_said_is_refused),
		cmocka_unit_test(two_machines_have_their_own),
		cmocka_unit_test(its_own_function_is_not_waited_for),
		cmocka_unit_test(it_wakes_up_for_who_is_due_earlier),
		cmocka_unit_test(stacks_have_the_threads_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
