/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
#include "libprof/sampler/clock.h"

#include <sys/auxv.h>

#include "libprof/unwind/find_object.h"

int clock_asks_kernel;

void clock_learn(void)
{
	struct unwind_module clock, libc;

	/* Nobody has reason to stand before getauxval(). */
	if (unwind_find_object((uintptr_t)clock_gettime, &clock, NULL) ||
		unwind_find_object((uintptr_t)getauxval, &libc, NULL))
		return;
	__atomic_store_n(&clock_asks_kernel, clock.start != libc.start, __ATOMIC_RELAXED);
}
