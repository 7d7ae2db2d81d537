/* SPDX-License-Identifier: MIT */
/* Checked also: threads. */
/*
 * A session samples all threads of the program, however and whenever they were made, and none of
 * its own. Also: bounds of the stacks of threads whose start was not seen, and forks.
 */
#include "session-fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "arch/syscall.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_signal.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/sampler/tasks.h"

/* Flush until thread @tid has samples. Returns the weight of the samples. */
static uint64_t await_thread(uint32_t tid)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL, weight = 0;

	while (!weight && now_ns() < until_ns) {
		struct flameprof_profile *profile = NULL;

		pause_ms(20);
		assert_int_equal(flameprof_flush(&profile, PATIENCE_MS), 0);
		weight = thread_weight(profile, tid);
		flameprof_profile_free(profile);
	}
	return weight;
}

static void threads_older_than_the_session_are_sampled(void **state)
{
	struct burner burners[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		burner_begin(&burners[i]);
	start_often();
	/* ThreadSanitizer has a thread of its own. */
	if (!is_emulated())
		assert_int_equal(diagnostics().threads, 9 + UNDER_TSAN);
	for (int i = 0; i < 8; i++) {
		assert_true(await_thread(burners[i].tid) > 0);
		burner_end(&burners[i]);
	}
	flameprof_stop(NULL, PATIENCE_MS);
}

/*
 * Wait until @threads threads are sampled. A thread whose end was not seen is counted until the
 * next search for threads.
 */
static void await_threads(uint64_t threads)
{
	uint64_t until_ns = now_ns() + PATIENCE_MS * 1000000ULL;

	while (diagnostics().threads != threads && now_ns() < until_ns)
		pause_ms(10);
	assert_int_equal(diagnostics().threads, threads);
}

static uint32_t raw_tid, raw_stop; /* atomic */

/* This thread has the thread pointer of its creator, so it must not call libc. */
static void raw_thread(void *argument)
{
	(void)argument;
	__atomic_store_n(&raw_tid, (uint32_t)arch_syscall0(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&raw_stop, __ATOMIC_ACQUIRE))
		;
	__atomic_store_n(&raw_tid, 0, __ATOMIC_RELEASE);
	for (;;)
		arch_syscall1(SYS_exit, 0);
}

static void threads_of_a_raw_clone_are_found(void **state)
{
	const unsigned long flags =
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	size_t bytes = 256 << 10;
	char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	skip_under_tsan();
	if (is_emulated())
		skip();
	assert_ptr_not_equal(stack, MAP_FAILED);
	start_often();
	assert_true(arch_spawn_vm(flags, stack + bytes, raw_thread, NULL) > 0);
	while (!__atomic_load_n(&raw_tid, __ATOMIC_ACQUIRE))
		pause_ms(1);
	assert_true(await_thread(raw_tid) > 0);
	await_threads(2);
	__atomic_store_n(&raw_stop, 1, __ATOMIC_RELEASE);
	await_threads(1);
	flameprof_stop(NULL, PATIENCE_MS);
}

struct newcomer {
	/* sampled threads of the session when this thread started */
	uint32_t threads;
	/* this thread's CPU time in ns when the next sampled thread was seen */
	uint64_t unsampled_ns;
};

static void *burn_until_found(void *argument)
{
	struct newcomer *newcomer = argument;

	do {
		newcomer->unsampled_ns = clock_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	} while (__atomic_load_n(&sampler.slot->threads, __ATOMIC_RELAXED) == newcomer->threads &&
		 newcomer->unsampled_ns < PATIENCE_MS * 1000000ULL);
	return NULL;
}

/*
 * Make threads without the interposers. Each thread starts right after the search that found the
 * one before.
 */
static void threads_nobody_tells_of_are_found_soon(void **state)
{
	const struct libc_calls before = libc_calls;
	unsigned soon = 0;

	(void)state;
	libc_calls.watch_end = NULL;
	libc_calls.sees_births = NULL;
	start_often();
	for (int i = 0; i < 40; i++) {
		struct newcomer newcomer = {
			.threads = __atomic_load_n(&sampler.slot->threads, __ATOMIC_RELAXED)};
		pthread_t id;

		assert_int_equal(
			libc_calls.pthread_create(&id, NULL, burn_until_found, &newcomer), 0);
		pthread_join(id, NULL);
		soon += newcomer.unsampled_ns < 30000000;
	}
	flameprof_stop(NULL, PATIENCE_MS);
	libc_calls = before;
	/* The worker thread may be late on a busy machine, and later under qemu-user. */
	if (!UNDER_TSAN)
		assert_in_range(soon, 15, 40);
}

static void *own_main(void *argument)
{
	return burner_main(argument);
}

static void own_threads_never_appear(void **state)
{
	struct flameprof_profile *profile = NULL;
	struct flameprof_thread thread;
	struct burner own = {0};
	int32_t tid = 0, worker;

	(void)state;
	start_often();
	assert_int_equal(own_threads_begin(&own.id, &tid, own_main, &own), 0);
	/* Give the worker thread time for several searches for threads. */
	burn_ms(500);
	worker = __atomic_load_n(&session.worker_tid, __ATOMIC_ACQUIRE);
	assert_true(worker > 0 && tid > 0);
	assert_int_equal(flameprof_stop(&profile, PATIENCE_MS), 0);
	burner_end(&own);
	for (uint32_t i = 0; !flameprof_profile_thread(profile, i, &thread); i++) {
		assert_int_not_equal(thread.tid, worker);
		assert_int_not_equal(thread.tid, tid);
		assert_string_not_equal(thread.name, "flameprof");
	}
	if (!UNDER_TSAN && !is_emulated())
		assert_int_equal(info_of(profile).threads, 1);
	flameprof_profile_free(profile);
}

static void *short_life(void *argument)
{
	burn_ms(2);
	return argument;
}

/* Threads that end free their rings, and no samples in these rings may be lost. */
static void threads_that_end_give_their_rings_back(void **state)
{
	struct flameprof_counters counts;
	uint64_t truth, recorded;

	(void)state;
	start_often();
	for (int i = 0; i < 1500; i++) {
		pthread_t id;

		assert_int_equal(pthread_create(&id, NULL, short_life, NULL), 0);
		pthread_join(id, NULL);
	}
	session_disarm();
	while (!sampler_is_quiet())
		pause_ms(1);
	truth = delivered();
	recorded = stop_weight();
	counts = diagnostics();
	assert_int_equal(counts.late_threads, 0);
	assert_int_equal(recorded + dropped_weight(&counts), truth);
	assert_true(recorded > 1500);
}

/* Wait until the bounds of the stack of thread @tid are known, for at most half a minute. */
static const struct sampler_thread *await_bounds(uint32_t tid)
{
	const struct sampler_thread *thread = sampler_thread_find((int32_t)tid);

	assert_non_null(thread);
	for (int i = 0; i < 3000 && !__atomic_load_n(&thread->stack_hi, __ATOMIC_ACQUIRE); i++)
		pause_ms(10);
	return thread;
}

/*
 * Another thread armed this thread's timer. The bounds of its stack are found from the stack
 * pointers that its handler saw.
 */
static void stacks_of_foreign_threads_become_known(void **state)
{
	const struct sampler_thread *thread;
	struct burner burner;
	uintptr_t hi;

	(void)state;
	skip_under_tsan();
	burner_begin(&burner);
	start_often();
	thread = await_bounds(burner.tid);
	hi = thread->stack_hi;
	assert_int_equal(hi, (uintptr_t)burner.id);
	assert_true(thread->stack_lo < hi && hi - thread->stack_lo <= 8 << 20);
	stop_weight();
	burner_end(&burner);
}

#define MADV_GUARD_INSTALL_CALL 102 /* MADV_GUARD_INSTALL, from Linux 6.13 on */

/*
 * Make a guard of @page bytes at @at. Returns whether the kernel can do this and shows it in
 * pagemap.
 */
static bool guards_are_told(void *at, size_t page)
{
	uint64_t entry = 0;
	int pagemap = open("/proc/self/pagemap", O_RDONLY);

	if (!madvise(at, page, MADV_GUARD_INSTALL_CALL))
		pread(pagemap, &entry, sizeof(entry),
			(off_t)((uintptr_t)at / page * sizeof(entry)));
	close(pagemap);
	return entry >> 58 & 1;
}

/* From 2.42 on glibc puts a stack's guard inside the mapping, which continues below the guard. */
static void a_guard_inside_a_mapping_ends_the_stack(void **state)
{
	size_t half = 512 << 10, page = (size_t)sysconf(_SC_PAGESIZE);
	char *below =
		mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *stack = below + half;
	const struct sampler_thread *thread;
	struct burner burner = {0};
	pthread_attr_t attributes;

	(void)state;
	skip_under_tsan();
	assert_ptr_not_equal(below, MAP_FAILED);
	if (!guards_are_told(stack - page, page)) {
		munmap(below, 2 * half);
		skip();
	}
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, half);
	assert_int_equal(pthread_create(&burner.id, &attributes, burner_main, &burner), 0);
	pthread_attr_destroy(&attributes);
	while (!__atomic_load_n(&burner.tid, __ATOMIC_ACQUIRE))
		pause_ms(1);
	start_often();
	thread = await_bounds(burner.tid);
	assert_int_equal(thread->stack_hi, (uintptr_t)burner.id);
	assert_int_equal(thread->stack_lo, (uintptr_t)stack);
	stop_weight();
	burner_end(&burner);
	munmap(below, 2 * half);
}

static void only_a_stack_with_its_control_block_is_believed(void **state)
{
	(void)state;
	assert_int_equal(stack_end(0x10000, 0x90000, 0x70000, 0x8f700), 0x8f700);
	/*
	 * The thread's control block is outside the mapping, so the stack is a coroutine's or a
	 * signal stack.
	 */
	assert_int_equal(stack_end(0x10000, 0x90000, 0x70000, 0x100000), 0);
	assert_int_equal(stack_end(0x10000, 0x90000, 0x70000, 0x20000), 0);
	assert_int_equal(stack_end(0x10000, 0x90000, 0x70000, 0x90000), 0);
	assert_int_equal(stack_end(0x10000, 0x90000, 0x8000, 0x8f700), 0);
	assert_int_equal(stack_end(0x10000, 0x200000000, 0x70000, 0x1fffff000), 0);
}

/* Check that a fork child has no profiler and can start one. Returns the child's exit status. */
static int live_as_child(void)
{
	struct flameprof_profile *profile = NULL;
	struct flameprof_counters counts;

	if (flameprof_active() || flameprof_status() != FLAMEPROF_STOPPED)
		return 2;
	if (flameprof_flush(&profile, -1) != -ESRCH || flameprof_stop(&profile, -1) != -ESRCH)
		return 3;
	if (flameprof_diagnostics(&counts) != -ESRCH || flameprof_mark("child") != -ESRCH)
		return 4;
	/* The signal is ignored, as the parent set it before the fork. */
	raise(SIGVTALRM);
	if (flameprof_start(&often))
		return 5;
	burn_ms(10);
	if (flameprof_flush(&profile, PATIENCE_MS) || !take_weight(profile))
		return 6;
	return flameprof_stop(NULL, PATIENCE_MS) ? 7 : 0;
}

static void fork_children_begin_anew(void **state)
{
	void (*before)(int) = signal(SIGVTALRM, SIG_IGN);
	struct burner burner;

	(void)state;
	skip_under_tsan();
	/*
	 * In a child of a program with threads, qemu-user fails assertions about its own threads.
	 */
	if (is_emulated())
		skip();
	burner_begin(&burner);
	start_often();
	for (int i = 0; i < 20; i++) {
		int status = -1;
		pid_t child;

		burn_ms(2);
		child = fork();
		if (!child)
			_exit(live_as_child());
		assert_true(child > 0);
		assert_true(flush_weight() > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	assert_true(stop_weight() > 0);
	burner_end(&burner);
	signal(SIGVTALRM, before);
}

/*
 * After a raw clone the child has the parent's session but no worker thread. No call may wait for
 * the worker.
 */
static void children_of_a_raw_clone_wait_for_nobody(void **state)
{
	struct flameprof_profile *profile = NULL;
	int status = -1;
	long child;

	(void)state;
	skip_under_tsan();
	if (is_emulated())
		skip();
	start_often();
	child = arch_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	if (!child) {
		int is_fine = flameprof_flush(&profile, -1) == -ESRCH &&
			      flameprof_stop(&profile, -1) == -ESRCH && !flameprof_active();

		arch_syscall1(SYS_exit_group, is_fine ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid((pid_t)child, &status, 0), child);
	assert_int_equal(status, 0);
	stop_weight();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			threads_older_than_the_session_are_sampled, no_session_left),
		cmocka_unit_test_teardown(threads_of_a_raw_clone_are_found, no_session_left),
		cmocka_unit_test_teardown(threads_nobody_tells_of_are_found_soon, no_session_left),
		cmocka_unit_test_teardown(own_threads_never_appear, no_session_left),
		cmocka_unit_test_teardown(threads_that_end_give_their_rings_back, no_session_left),
		cmocka_unit_test_teardown(stacks_of_foreign_threads_become_known, no_session_left),
		cmocka_unit_test_teardown(a_guard_inside_a_mapping_ends_the_stack, no_session_left),
		cmocka_unit_test(only_a_stack_with_its_control_block_is_believed),
		cmocka_unit_test_teardown(fork_children_begin_anew, no_session_left),
		cmocka_unit_test_teardown(children_of_a_raw_clone_wait_for_nobody, no_session_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
