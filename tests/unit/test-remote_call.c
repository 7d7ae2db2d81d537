/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Make a stopped thread run system calls. The thread must continue as if it had not run them. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/outside/remote_call.h"
#include "libprof/procfs.h"

static const uintptr_t none[6];

/* Count turns. End the program with an error if a register changes unexpectedly. */
static void count_for_ever(volatile uint64_t *turns)
{
	for (uint64_t a = 1, b = 1;; (*turns)++) {
		a = a * 3 + b;
		b ^= a;
		if (b != (a ^ (b ^ a)))
			_exit(1);
	}
}

/*
 * Start a child that runs @run, and stop it by ptrace(2). Skips the test if ptrace(2) is forbidden.
 */
static pid_t stopped_child(void (*run)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(0);
	}
	if (ptrace(PTRACE_SEIZE, child, NULL, (void *)PTRACE_O_TRACESYSGOOD)) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		skip();
	}
	usleep(20000);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_int_equal(status >> 16, PTRACE_EVENT_STOP);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
}

static void run_on(void)
{
	static volatile uint64_t turns;

	count_for_ever(&turns);
}

static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &used), 0);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* Resume the child with @signal, and check that it then uses CPU time. */
static void assert_runs(pid_t child, int signal)
{
	uint64_t before_ns = cpu_ns_of(child);

	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal), 0);
	for (unsigned i = 0; i < 10000 && cpu_ns_of(child) < before_ns + 5000000; i++)
		usleep(1000);
	assert_true(cpu_ns_of(child) >= before_ns + 5000000);
	assert_int_equal(waitpid(child, NULL, WNOHANG | __WALL), 0);
}

static void it_makes_calls_and_goes_on(void **state)
{
	pid_t child = stopped_child(run_on);
	const uintptr_t word = 0x1234567, size = 8;
	struct remote_call call;
	uintptr_t got;

	(void)state;
	assert_int_equal(remote_begin(&call, child, getauxval(AT_SYSINFO_EHDR)), 0);
	assert_int_equal(remote_run(&call, SYS_getpid, none), child);
	assert_int_equal(remote_run(&call, SYS_getppid, none), getpid());
	assert_int_equal(remote_run(&call, -1, none), -ENOSYS);
	/*
	 * A system call can use the scratch memory: pipe2() writes the two lowest free descriptors
	 * there.
	 */
	assert_int_equal(remote_put(&call, 1, &word, 1), 0);
	assert_int_equal(remote_get(&call, 1, &got), 0);
	assert_int_equal(got, word);
	assert_int_equal(
		remote_run(&call, SYS_pipe2, (const uintptr_t[6]){call.scratch + size, 0}), 0);
	assert_int_equal(remote_get(&call, 1, &got), 0);
	assert_int_equal((got >> 32) - (got & 0xffffffff), 1);
	assert_int_equal(remote_end(&call), 0);
	assert_int_equal(remote_get(&call, 1, &got), 0);
	assert_int_equal(got, call.kept[1]);
	assert_runs(child, 0);
	end_child(child);
}

/* SIGSTOP, which cannot be blocked, arrives during the call and must be delivered afterwards. */
static void a_signal_in_between_is_kept(void **state)
{
	pid_t child = stopped_child(run_on);
	struct remote_call call;
	int status;

	(void)state;
	assert_int_equal(remote_begin(&call, child, getauxval(AT_SYSINFO_EHDR)), 0);
	kill(child, SIGSTOP);
	kill(child, SIGUSR1); /* blocked during the call */
	assert_int_equal(remote_run(&call, SYS_getpid, none), child);
	assert_int_equal(remote_end(&call), SIGSTOP);
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_true(WIFSTOPPED(status));
	end_child(child);
}

static void sleeps(void)
{
	struct timespec left = {0, 300000000};

	/* The kernel restarts the sleep after the stop, so it must not return early. */
	_exit(nanosleep(&left, NULL) ? 2 : 0);
}

static void a_sleep_goes_on(void **state)
{
	pid_t child = stopped_child(sleeps);
	struct remote_call call;
	int status;

	(void)state;
	assert_int_equal(remote_begin(&call, child, getauxval(AT_SYSINFO_EHDR)), 0);
	assert_int_equal(remote_run(&call, SYS_getpid, none), child);
	assert_int_equal(remote_end(&call), 0);
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void *ends_all(void *unused)
{
	struct timespec left = {0, 100000000};

	(void)unused;
	nanosleep(&left, NULL);
	_exit(3);
}

static void ends_by_another(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, ends_all, NULL);
	run_on();
}

/*
 * Another thread ends the process while the main thread runs system calls. Both threads are traced,
 * so the kernel reports the main thread's end only after the other thread's end was waited for.
 */
static void one_that_another_thread_ends_is_not_waited_for(void **state)
{
	pid_t child = stopped_child(ends_by_another), threads[2] = {0}, other;
	struct remote_call call;
	long result = child;
	int status;

	(void)state;
	assert_int_equal(procfs_threads(child, threads, 2), 2);
	other = threads[0] == child ? threads[1] : threads[0];
	assert_int_equal(ptrace(PTRACE_SEIZE, other, NULL, NULL), 0);
	assert_int_equal(remote_begin(&call, child, getauxval(AT_SYSINFO_EHDR)), 0);
	for (unsigned i = 0; i < 100000 && result == child; i++)
		result = remote_run(&call, SYS_getpid, none);
	assert_int_equal(result, -ESRCH);
	assert_int_equal(waitpid(other, &status, __WALL), other);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
}

/*
 * The function must leave the killed thread's status to be collected by the test's own waitpid().
 */
static void one_that_is_killed_says_so(void **state)
{
	pid_t child = stopped_child(run_on);
	struct remote_call call;
	int status;

	(void)state;
	assert_int_equal(remote_begin(&call, child, getauxval(AT_SYSINFO_EHDR)), 0);
	kill(child, SIGKILL);
	assert_int_equal(remote_run(&call, SYS_getpid, none), -ESRCH);
	remote_end(&call);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_true(WIFSIGNALED(status));
}

static void without_a_vdso_there_is_no_way(void **state)
{
	pid_t child = stopped_child(run_on);
	struct remote_call call;

	(void)state;
	assert_int_equal(remote_begin(&call, child, 0), -ENOSYS);
	assert_runs(child, 0);
	end_child(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_makes_calls_and_goes_on),
		cmocka_unit_test(a_signal_in_between_is_kept),
		cmocka_unit_test(a_sleep_goes_on),
		cmocka_unit_test(one_that_another_thread_ends_is_not_waited_for),
		cmocka_unit_test(one_that_is_killed_says_so),
		cmocka_unit_test(without_a_vdso_there_is_no_way),
	};

	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
