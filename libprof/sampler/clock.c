/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
#include "libprof/sampler/clock.h"

#include <linux/prctl.h>
#include <sys/auxv.h>

#include "libprof/unwind/find_object.h"

int clock_asks_kernel;

/* An image, or a fork child, that was made by a thread that may not read the counter. */
static int is_counter_forbidden(void)
{
	int state = PR_TSC_ENABLE;

	return !arch_syscall2(SYS_prctl, PR_GET_TSC, &state) && state == PR_TSC_SIGSEGV;
}

void clock_ask_kernel(void)
{
	__atomic_store_n(&clock_asks_kernel, 1, __ATOMIC_RELAXED);
}

void clock_learn(void)
{
	struct unwind_module clock, libc;
	int is_anothers;

	if (__atomic_load_n(&clock_asks_kernel, __ATOMIC_RELAXED))
		return;
	/* Nobody has reason to stand before getauxval(). */
	is_anothers = !unwind_find_object((uintptr_t)clock_gettime, &clock, NULL) &&
		      !unwind_find_object((uintptr_t)getauxval, &libc, NULL) &&
		      clock.start != libc.start;
	if (is_anothers || is_counter_forbidden())
		clock_ask_kernel();
}
