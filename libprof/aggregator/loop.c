/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls only; the helper has no thread-local storage of its own. */
#include "libprof/aggregator/loop.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "arch/syscall.h"

void loop_wait(uint32_t *doorbell, uint32_t seen, long ms)
{
	struct timespec timeout = {ms / 1000, ms % 1000 * 1000000};

	arch_syscall4(SYS_futex, doorbell, FUTEX_WAIT, seen, &timeout);
}

void loop_ring(uint32_t *doorbell)
{
	__atomic_fetch_add(doorbell, 1, __ATOMIC_RELEASE);
	arch_syscall3(SYS_futex, doorbell, FUTEX_WAKE, INT_MAX);
}

int loop_run(const struct loop *loop)
{
	for (;;) {
		uint32_t seen = __atomic_load_n(loop->doorbell, __ATOMIC_ACQUIRE);
		int is_last = loop->is_ending(loop->context);
		int error = loop->turn(loop->context, is_last);

		if (is_last || error)
			return error;
		loop_wait(loop->doorbell, seen, loop->tick_ms);
	}
}
