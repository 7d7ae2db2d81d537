/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * Test the timer thread while other threads register and end. The timer becomes idle if no thread
 * is registered, ends after a while, is never the last thread of a process, and never writes to a
 * thread that has ended, however that thread ended.
 */
#include "interrupt-fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"

static int enable(void **state)
{
	(void)state;
	return flameprof_interrupt_enable(PERIOD_NS, count_calls, NULL);
}

static void tick_once(void)
{
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	await_ticks(1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

static unsigned switches_of(int tid)
{
	char path[64], line[128];
	unsigned count = 0, value;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "voluntary_ctxt_switches: %u", &value) == 1 ||
			sscanf(line, "nonvoluntary_ctxt_switches: %u", &value) == 1)
			count += value;
	if (file)
		fclose(file);
	return count;
}

/*
 * Returns whether thread @tid sleeps for a time in which a timer that is not idle would wake a
 * hundred times.
 */
static int sleeps_for_long(int tid)
{
	unsigned switches = switches_of(tid);
	uint64_t used_ns = clock_cpu_ns(clock_of_thread(tid));

	pause_ms(100 * PERIOD_MS);
	return switches && switches_of(tid) == switches &&
	       clock_cpu_ns(clock_of_thread(tid)) == used_ns;
}

static void it_rests_when_nobody_is_registered(void **state)
{
	int tid = 0, rests = 0;

	(void)state;
	for (int i = 0; i < 20 && !rests; i++) {
		tick_once();
		timers_now(&tid);
		/* The timer becomes idle at its next wake-up, which is late on a busy machine. */
		pause_ms(20 * PERIOD_MS);
		rests = sleeps_for_long(tid);
	}
	assert_true(rests);
}

/*
 * An idle timer is woken before it ends. Of several attempts the shortest counts, because the
 * machine may pause.
 */
static void it_wakes_up_for_who_comes_back(void **state)
{
	uint64_t least_ns = UINT64_MAX;

	(void)state;
	for (int i = 0; i < 8 && least_ns > 300000000; i++) {
		uint64_t rests_ns = now_ns(), begin_ns, took_ns;
		int tid = 0, tid_again = 0;

		tick_once();
		pause_ms(20 * PERIOD_MS);
		timers_now(&tid);
		begin_ns = now_ns();
		tick_once();
		timers_now(&tid_again);
		took_ns = now_ns() - begin_ns;
		if (now_ns() - rests_ns > 900000000)
			continue;
		assert_int_not_equal(tid, 0);
		assert_int_equal(tid, tid_again);
		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	assert_true(least_ns <= 300000000);
}

static void it_leaves_when_nobody_comes_back(void **state)
{
	(void)state;
	tick_once();
	await_timers(0);
	for (int i = 0; i < 3; i++) {
		tick_once();
		assert_int_equal(timers_now(NULL), 1);
	}
	await_timers(0);
	tick_once();
}

static void it_is_one_of_our_own(void **state)
{
	char path[64], line[128];
	uint64_t blocked = 0;
	FILE *file;
	int tid = 0;

	(void)state;
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	assert_int_equal(timers_now(&tid), 1);
	assert_true(own_threads_contain((uint32_t)tid));
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "SigBlk: %lx", &blocked);
	fclose(file);
	/*
	 * The timer must block all signals except SIGKILL, SIGSTOP and the two that the C library
	 * uses.
	 */
	blocked |= 1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1) | 3ULL << 31;
	if (!is_emulated())
		assert_int_equal(blocked, UINT64_MAX);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* ---- threads that end ------------------------------------------------------------------------ */

static void *leave_registered(void *argument)
{
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	await_ticks(1);
	return argument;
}

static void *leave_by_system_call(void *argument)
{
	leave_registered(argument);
	syscall(SYS_exit, 0);
	return NULL;
}

static void *wait_registered(void *argument)
{
	leave_registered(argument);
	for (;;)
		pause();
	return NULL;
}

static pthread_key_t last_key;

/*
 * Register in the destructor of a thread-specific key that runs after all others, in the last round
 * of destructors.
 */
static void register_at_the_end(void *value)
{
	intptr_t round = (intptr_t)value;

	if (round < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(last_key, (void *)(round + 1));
	flameprof_interrupt_register(NULL);
}

static void *leave_registering(void *argument)
{
	(void)argument;
	pthread_setspecific(last_key, (void *)1);
	return NULL;
}

/* Run a thread on a stack that is unmapped once the thread is joined. */
static void run_thread(void *(*start)(void *), int cancels)
{
	const size_t bytes = 1 << 20;
	pthread_attr_t attributes;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *result = NULL;
	pthread_t id;

	assert_ptr_not_equal(stack, MAP_FAILED);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, bytes);
	assert_int_equal(pthread_create(&id, &attributes, start, NULL), 0);
	if (cancels) {
		pause_ms(3 * PERIOD_MS);
		pthread_cancel(id);
	}
	assert_int_equal(pthread_join(id, &result), 0);
	assert_ptr_equal(result, cancels ? PTHREAD_CANCELED : NULL);
	pthread_attr_destroy(&attributes);
	munmap(stack, bytes);
}

static void threads_end_without_a_word(void **state)
{
	(void)state;
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	for (int i = 0; i < 20; i++) {
		run_thread(leave_registered, 0);
		/*
		 * ThreadSanitizer loses track of the locks of a thread that is cancelled inside a
		 * call.
		 */
		if (!UNDER_TSAN)
			run_thread(wait_registered, 1);
		assert_int_equal(registered_count(), 1);
	}
	forget_calls();
	await_ticks(3);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
}

/* The last registered thread makes the timer end, but does not wait for the timer's end. */
static void the_last_thread_does_not_wait(void **state)
{
	uint64_t least_ns = UINT64_MAX;

	(void)state;
	for (int i = 0; i < 8 && least_ns > 300000000; i++) {
		uint64_t begin_ns = now_ns(), took_ns;

		run_thread(leave_registered, 0);
		/* A thread that was joined can stay in /proc's list for a moment. */
		await_timers(0);
		took_ns = now_ns() - begin_ns;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
	}
	assert_true(least_ns <= 300000000);
}

/*
 * A thread that ends by system call runs no code of the C library. The kernel then marks the
 * thread's robust mutex.
 */
static void threads_end_by_system_call(void **state)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

	(void)state;
	/* The emulator has no robust lists. ThreadSanitizer lets threads end in another way. */
	if (is_emulated())
		skip();
	skip_under_tsan();
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	for (int i = 0; i < 50; i++)
		run_thread(leave_by_system_call, 0);
	while (registered_count() > 1 && now_ns() < until_ns)
		pause_ms(1);
	assert_int_equal(registered_count(), 1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	/* Threads that have ended must not keep the timer running. */
	await_timers(0);
}

static void threads_register_in_their_last_destructor(void **state)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

	(void)state;
	/* When the last destructor runs, sanitizers have already freed their data of the thread. */
	if (is_emulated() || UNDER_ASAN || UNDER_TSAN)
		skip();
	assert_int_equal(pthread_key_create(&last_key, register_at_the_end), 0);
	assert_int_equal(flameprof_interrupt_register(NULL), 0);
	for (int i = 0; i < 20; i++)
		run_thread(leave_registering, 0);
	while (registered_count() > 1 && now_ns() < until_ns)
		pause_ms(1);
	assert_int_equal(registered_count(), 1);
	assert_int_equal(flameprof_interrupt_unregister(), 0);
	pthread_key_delete(last_key);
}

/* ---- processes that end with their last thread ----------------------------------------------- */

static void at_end(void)
{
	/* Exit with status 2 if a thread of the library is the one that ended the process. */
	_exit(own_threads_contain((uint32_t)gettid()) ? 2 : 0);
}

static void *outlive_main(void *argument)
{
	pause_ms(20);
	return leave_registered(argument);
}

static int main_ends_first(void)
{
	pthread_t id;

	atexit(at_end);
	CHILD_EXPECTS(!flameprof_interrupt_register(NULL));
	CHILD_EXPECTS(!pthread_create(&id, NULL, outlive_main, NULL));
	CHILD_EXPECTS(!pthread_detach(id));
	pthread_exit(NULL);
}

static int main_ends_alone(void)
{
	atexit(at_end);
	CHILD_EXPECTS(!flameprof_interrupt_register(NULL));
	await_ticks(1);
	CHILD_EXPECTS(!flameprof_interrupt_unregister());
	pthread_exit(NULL);
}

static int main_ends_by_system_call(void)
{
	CHILD_EXPECTS(!flameprof_interrupt_register(NULL));
	await_ticks(1);
	syscall(SYS_exit, 0);
	return 0;
}

static void a_process_ends_with_its_last_thread(void **state)
{
	(void)state;
	/*
	 * ThreadSanitizer and qemu-user do not let the child of a process with threads make
	 * threads.
	 */
	skip_under_tsan();
	await_timers(0);
	check_in_child(main_ends_first);
	check_in_child(main_ends_alone);
	if (!is_emulated())
		check_in_child(main_ends_by_system_call);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static int without_keys(void)
{
	pthread_key_t key;

	while (!pthread_key_create(&key, NULL))
		;
	CHILD_EXPECTS(flameprof_interrupt_register(NULL) == -ENOMEM);
	CHILD_EXPECTS(flameprof_interrupt_unregister() == -ESRCH);
	CHILD_EXPECTS(flameprof_interrupt_enable(PERIOD_NS, count_calls, NULL) == 0);
	CHILD_EXPECTS(timers_now(NULL) == 0);
	return 0;
}

struct block {
	struct block *next;
};

/* Allocate all available memory in blocks of @bytes and put them in front of the list @blocks. */
static struct block *take_all(struct block *blocks, size_t bytes)
{
	struct block *block;

	while ((block = malloc(bytes))) {
		block->next = blocks;
		blocks = block;
	}
	return blocks;
}

/* With all memory allocated, free it block by block until a thread can register. */
static int without_memory(void)
{
	struct block *blocks = NULL, *next;
	struct rlimit none = {0, 0};
	unsigned refused = 0;
	pthread_key_t key;
	int error;

	/* Use up the preallocated room for the values of the first thread-specific keys. */
	for (int i = 0; i < 40; i++)
		CHILD_EXPECTS(!pthread_key_create(&key, NULL));
	CHILD_EXPECTS(flameprof_interrupt_enable(PERIOD_NS, count_calls, NULL) == 0);
	CHILD_EXPECTS(!setrlimit(RLIMIT_AS, &none));
	for (size_t bytes = 1 << 20; bytes >= 16; bytes /= 2)
		blocks = take_all(blocks, bytes);
	while ((error = flameprof_interrupt_register(NULL)) == -ENOMEM) {
		CHILD_EXPECTS(flameprof_interrupt_unregister() == -ESRCH && !interrupt.threads);
		next = blocks->next;
		free(blocks);
		blocks = next;
		refused++;
	}
	/* There was memory for the thread's registration but not for the timer thread's stack. */
	CHILD_EXPECTS(error == -EAGAIN && refused > 0);
	CHILD_EXPECTS(flameprof_interrupt_unregister() == -ESRCH && !interrupt.threads);
	return 0;
}

static void what_is_missing_is_said(void **state)
{
	(void)state;
	check_in_child(without_keys);
	/* Sanitizers end a program that runs out of memory. */
	if (!is_emulated() && !UNDER_ASAN && !UNDER_TSAN)
		check_in_child(without_memory);
}

/* ---- all at once ----------------------------------------------------------------------------- */

#define THREADS	 16
#define STRESS_S 3

static uint32_t ending; /* atomic */

static void raise_flag(void *context)
{
	__atomic_store_n((unsigned char *)context, 1, __ATOMIC_SEQ_CST);
}

/* In a loop: register, wait for some ticks or none, unregister. */
static void *come_and_go(void *argument)
{
	uint64_t registered_ns = 0, *total = argument;
	unsigned char flag = 0;

	for (uint32_t turn = 0; !__atomic_load_n(&ending, __ATOMIC_ACQUIRE); turn++) {
		uint64_t begin_ns = now_ns();
		int error = turn % 3 ? flameprof_interrupt_register(&flag)
				     : flameprof_interrupt_register_call(raise_flag, &flag);

		assert_int_equal(error, 0);
		ticks_seen = 0;
		for (uint32_t checks = turn * 2654435761u >> 22; checks; checks--) {
			flameprof_interrupt_check();
			sched_yield();
		}
		flameprof_interrupt_check();
		assert_int_equal(flameprof_interrupt_unregister(), 0);
		registered_ns = now_ns() - begin_ns;
		assert_true(ticks_seen <= registered_ns / PERIOD_NS + 1);
		*total += ticks_seen;
		__atomic_store_n(&flag, 0, __ATOMIC_SEQ_CST);
		assert_int_equal(ticks_now(), 0);
		if (turn % 8 == 0)
			pause_ms(turn % 5);
		assert_int_equal(__atomic_load_n(&flag, __ATOMIC_SEQ_CST), 0);
	}
	return NULL;
}

static void sixteen_threads_come_and_go(void **state)
{
	uint64_t totals[THREADS] = {0};
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &totals[i]), 0);
	pause_ms(STRESS_S * 1000);
	__atomic_store_n(&ending, 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_true(totals[i] > 0);
	}
	assert_int_equal(registered_count(), 0);
	await_timers(0);
}

int main(void)
{
	const struct CMUnitTest before[] = {
		cmocka_unit_test(what_is_missing_is_said),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_rests_when_nobody_is_registered),
		cmocka_unit_test(it_wakes_up_for_who_comes_back),
		cmocka_unit_test(it_leaves_when_nobody_comes_back),
		cmocka_unit_test(it_is_one_of_our_own),
		cmocka_unit_test(threads_end_without_a_word),
		cmocka_unit_test(the_last_thread_does_not_wait),
		cmocka_unit_test(threads_end_by_system_call),
		cmocka_unit_test(threads_register_in_their_last_destructor),
		cmocka_unit_test(a_process_ends_with_its_last_thread),
		cmocka_unit_test(sixteen_threads_come_and_go),
	};
	int failed = cmocka_run_group_tests(before, NULL, NULL);

	return failed + cmocka_run_group_tests(tests, enable, NULL);
}
