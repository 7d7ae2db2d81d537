/* SPDX-License-Identifier: MIT */
/* The program's own SIGPROF, where the thread believes that it blocks it. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/sampler/host.h"
#include "libprof/sampler/sampler.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static const struct timespec at_once = {0, 0};
static sigset_t only;

/* The calling thread is the first of the table, and believes that it blocks the signal. */
static int believe(void **state)
{
	(void)state;
	sigemptyset(&only);
	sigaddset(&only, SAMPLER_SIGNAL);
	sigprocmask(SIG_BLOCK, &only, NULL);
	sampler.rings[0] = 1;
	sampler_threads[0].tid = gettid();
	sampler_threads[0].active = 1;
	sampler_threads[0].held = 1;
	return 0;
}

/* An expiry of the thread's timer, pending as while the handler runs. */
static void let_expire(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SAMPLER_SIGNAL};
	struct itimerspec soon = {.it_value = {0, 1}};
	sigset_t pending;
	timer_t timer;

	event.sigev_notify_thread_id = gettid();
	event.sigev_value.sival_ptr = &sampler_threads[0];
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
	do {
		sigpending(&pending);
	} while (!sigismember(&pending, SAMPLER_SIGNAL));
}

static void send(int code, int from)
{
	siginfo_t info = {.si_signo = SAMPLER_SIGNAL, .si_code = code};
	ucontext_t context;

	info.si_pid = from;
	memset(&context, 0, sizeof(context));
	host_signal(SAMPLER_SIGNAL, &info, &context);
	assert_true(sigismember(&context.uc_sigmask, SAMPLER_SIGNAL));
}

/* By the kernel's word: libc's sigtimedwait() gives SI_USER for SI_TKILL. */
static long take(siginfo_t *info)
{
	return syscall(SYS_rt_sigtimedwait, &only, info, &at_once, 8);
}

static void assert_pending(int code, int from)
{
	siginfo_t taken;

	assert_int_equal(take(&taken), SAMPLER_SIGNAL);
	assert_int_equal(taken.si_code, code);
	assert_int_equal(taken.si_pid, from);
	assert_int_equal(take(&taken), -1);
}

static void it_stays_pending(void **state)
{
	(void)state;
	send(SI_TKILL, 5);
	assert_pending(SI_TKILL, 5);
	send(SI_QUEUE, 6);
	assert_pending(SI_QUEUE, 6);
}

static void an_expiry_does_not_swallow_it(void **state)
{
	(void)state;
	let_expire();
	send(SI_TKILL, 7);
	assert_pending(SI_TKILL, 7);
}

static void one_that_waits_stands_for_both(void **state)
{
	(void)state;
	send(SI_TKILL, 8);
	send(SI_TKILL, 9);
	assert_pending(SI_TKILL, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stays_pending),
		cmocka_unit_test(an_expiry_does_not_swallow_it),
		cmocka_unit_test(one_that_waits_stands_for_both),
	};

	return cmocka_run_group_tests(tests, believe, NULL);
}
