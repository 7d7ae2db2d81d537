/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * If two signals interrupt a blocking call, the sampling signal first, the call must return the
 * same result as without sampling.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/sampler/interrupted.h"
#include "libprof/sampler/sampler.h"

#define OURS   SIGVTALRM
#define THEIRS SIGALRM

static int ends[2];
static volatile sig_atomic_t alarms, sends_alarm, calls;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

/* The sampling signal's handler; the program's signal is pending when the handler begins. */
static void on_ours(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	calls++;
	if (sends_alarm)
		kill(getpid(), THEIRS);
	interrupted_fail(context);
}

static void nap(void)
{
	usleep(30000);
}

/*
 * While @reader waits in read(), send it the sampling signal, and later write the byte that it
 * reads.
 */
static void *disturb(void *reader)
{
	nap();
	pthread_kill(*(pthread_t *)reader, OURS);
	nap();
	assert_int_equal(write(ends[1], "x", 1), 1);
	return NULL;
}

static void handle(int flags)
{
	struct sigaction ours = {.sa_sigaction = on_ours, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction theirs = {.sa_handler = on_alarm, .sa_flags = flags};

	sampler.signal = OURS;
	sigfillset(&ours.sa_mask);
	sigaction(OURS, &ours, NULL);
	sigaction(THEIRS, &theirs, NULL);
	alarms = calls = 0;
}

/* Start the other thread with all signals blocked, so that @reader gets the program's signal. */
static pthread_t begin_other(pthread_t *reader)
{
	sigset_t all, before;
	pthread_t other;

	assert_int_equal(pipe(ends), 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	assert_int_equal(pthread_create(&other, NULL, disturb, reader), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return other;
}

static void end_other(pthread_t other)
{
	pthread_join(other, NULL);
	close(ends[0]);
	close(ends[1]);
}

/* Read the byte, which the other thread writes after both signals. Returns 0 or read()'s error. */
static int read_disturbed(void)
{
	pthread_t self = pthread_self(), other = begin_other(&self);
	char byte;
	int result = read(ends[0], &byte, 1) < 0 ? -errno : 0;

	end_other(other);
	assert_int_equal(calls, 1);
	return result;
}

static void a_signal_without_restart_breaks_the_call_off(void **state)
{
	(void)state;
	sends_alarm = 1;
	handle(0);
	assert_int_equal(read_disturbed(), -EINTR);
	assert_int_equal(alarms, 1);
}

static void a_signal_with_restart_does_not(void **state)
{
	(void)state;
	sends_alarm = 1;
	handle(SA_RESTART);
	assert_int_equal(read_disturbed(), 0);
	assert_int_equal(alarms, 1);
}

static void nor_does_ours_alone(void **state)
{
	(void)state;
	sends_alarm = 0;
	handle(0);
	assert_int_equal(read_disturbed(), 0);
	assert_int_equal(alarms, 0);
}

static void nor_does_one_that_the_thread_blocks(void **state)
{
	sigset_t set, before;

	(void)state;
	sends_alarm = 1;
	handle(0);
	sigemptyset(&set);
	sigaddset(&set, THEIRS);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	assert_int_equal(read_disturbed(), 0);
	assert_int_equal(alarms, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(alarms, 1);
}

/* pause() returns EINTR for any signal, even with SA_RESTART, so it must not be repeated. */
static void a_call_that_always_fails_is_left_alone(void **state)
{
	pthread_t self = pthread_self(), other;

	(void)state;
	sends_alarm = 1;
	handle(0);
	other = begin_other(&self);
	assert_int_equal(pause(), -1);
	assert_int_equal(errno, EINTR);
	end_other(other);
	assert_int_equal(alarms, 1);
}

static struct sampler_thread waiter;

static void on_ours_in_wait(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	calls++;
	interrupted_repeat(&waiter, context);
}

static sigset_t let_in;

/*
 * Block the sampling signal and make it pending, for a wait that unblocks it. An alarm follows
 * later.
 */
static void prepare_wait(long call, const void *first)
{
	struct itimerval later = {.it_value = {0, 50000}};
	struct sigaction ours = {.sa_sigaction = on_ours_in_wait, .sa_flags = SA_SIGINFO};
	sigset_t blocked;

	handle(0);
	sigfillset(&ours.sa_mask);
	sigaction(OURS, &ours, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, OURS);
	sigaddset(&blocked, THEIRS);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	sigemptyset(&let_in);
	waiter.wait = (struct sampler_wait){1, call, (uintptr_t)first, 0};
	raise(OURS);
	setitimer(ITIMER_REAL, &later, NULL);
}

static void finish_wait(void)
{
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, OURS);
	sigaddset(&blocked, THEIRS);
	pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
	waiter.wait.is_begun = 0;
}

static void a_wait_that_ours_interrupts_goes_on(void **state)
{
	(void)state;
	prepare_wait(SYS_rt_sigsuspend, &let_in);
	assert_int_equal(sigsuspend(&let_in), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(calls, 1);
	assert_int_equal(alarms, 1);
	finish_wait();
}

/* ppoll() is repeated with its original arguments. */
static void so_does_one_with_descriptors(void **state)
{
	struct pollfd fds[1];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	fds[0] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	prepare_wait(SYS_ppoll, fds);
	assert_int_equal(ppoll(fds, 1, NULL, &let_in), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(alarms, 1);
	finish_wait();
	close(ends[0]);
	close(ends[1]);
}

/* This call would also fail without sampling, so it must not be repeated. */
static void another_call_does_not(void **state)
{
	(void)state;
	prepare_wait(SYS_rt_sigsuspend, &let_in);
	waiter.wait.is_begun = 0;
	assert_int_equal(sigsuspend(&let_in), -1);
	assert_int_equal(calls, 1);
	assert_int_equal(alarms, 0);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	finish_wait();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_without_restart_breaks_the_call_off),
		cmocka_unit_test(a_signal_with_restart_does_not),
		cmocka_unit_test(nor_does_ours_alone),
		cmocka_unit_test(nor_does_one_that_the_thread_blocks),
		cmocka_unit_test(a_call_that_always_fails_is_left_alone),
		cmocka_unit_test(a_wait_that_ours_interrupts_goes_on),
		cmocka_unit_test(so_does_one_with_descriptors),
		cmocka_unit_test(another_call_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
