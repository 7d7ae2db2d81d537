/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* The program itself uses the sampling signal in a thread that asked to block it. */
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

static const struct timespec at_once = {0, 0};
static sigset_t only;

/* Make this thread the first in the sampler's table and mark it as blocking the sampling signal. */
static int believe(void **state)
{
	(void)state;
	sigemptyset(&only);
	sigaddset(&only, sampler_signal());
	sigprocmask(SIG_BLOCK, &only, NULL);
	sampler.rings[0] = 1;
	sampler_threads[0].tid = gettid();
	sampler_threads[0].active = 1;
	sampler_threads[0].held = 1;
	return 0;
}

static void send(int code, int from)
{
	siginfo_t info = {.si_signo = sampler_signal(), .si_code = code};
	ucontext_t context;

	info.si_pid = from;
	memset(&context, 0, sizeof(context));
	host_signal(sampler_signal(), &info, &context);
	assert_true(sigismember(&context.uc_sigmask, sampler_signal()));
}

/* Wait by a direct system call, because libc's sigtimedwait() changes SI_TKILL to SI_USER. */
static long take(siginfo_t *info)
{
	return syscall(SYS_rt_sigtimedwait, &only, info, &at_once, 8);
}

static void assert_pending(int code, int from)
{
	siginfo_t taken;

	assert_int_equal(take(&taken), sampler_signal());
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
		cmocka_unit_test(one_that_waits_stands_for_both),
	};

	return cmocka_run_group_tests(tests, believe, NULL);
}
