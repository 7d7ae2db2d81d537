/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: the handler of the signal that asks for a snapshot. */
#include "libprof/session/snapshot.h"

#include <linux/futex.h>
#include <stddef.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"

AT_START struct snapshot_requests snapshot_requests;

void snapshot_handler(int signal)
{
	(void)signal;
	if (arch_syscall0(SYS_getpid) != snapshot_requests.pid)
		return;
	__atomic_fetch_add(&snapshot_requests.count, 1, __ATOMIC_RELEASE);
	arch_syscall4(SYS_futex, &snapshot_requests.count, FUTEX_WAKE_PRIVATE, 1, NULL);
}
