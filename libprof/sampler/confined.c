/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: used by handlers and on exit paths. */
/*
 * Finds seccomp filters whose installation the library did not see: filters that the program
 * installed by a system call instruction of its own, not through libc. Such a filter shows only in
 * the kernel's count. Reading the count from inside takes system calls, which the filter may
 * forbid, and a descriptor, which other threads may notice. So flamerun reads the count after each
 * 20 ms of CPU time of a process and reports a difference in the slot (has_unseen).
 *
 * The thread itself checks only where system calls follow anyway. At its begin and end, at a fork
 * and an exit, one prctl(2) shows whether there is any filter; before an exec the count is read.
 * After such a filter was found no system call is made any more: timers are not deleted, and their
 * handler does nothing.
 */
#include "libprof/sampler/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <string.h>

#include "arch/syscall.h"

static int is_in_child; /* atomic; see confined_in_child() */
static int is_expected; /* atomic; see confined_expect() */

/* Returns the number behind @key in the calling thread's status file, or -errno. */
static int read_status(const char *key)
{
	char chunk[256];
	size_t found = 0, bytes = strlen(key);
	int number = -ENOENT, is_over = 0;
	long fd = arch_syscall4(
		SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0);
	long n;

	if (fd < 0)
		return (int)fd;
	while (!is_over && (n = arch_syscall3(SYS_read, fd, chunk, sizeof(chunk))) > 0) {
		for (long i = 0; i < n && !is_over; i++) {
			if (found < bytes) {
				found = chunk[i] == key[found] ? found + 1 : chunk[i] == key[0];
				number = found == bytes ? 0 : number;
			} else if (chunk[i] == '\n') {
				is_over = 1;
			} else {
				number = number * 10 + (chunk[i] - '0');
			}
		}
	}
	arch_syscall1(SYS_close, fd);
	return number;
}

int confined_count(void)
{
	int count = read_status("\nSeccomp_filters:\t");

	/* Linux before 5.9 does not report the number, only whether there is a filter. */
	return count == -ENOENT ? read_status("\nSeccomp:\t") > 0 : count;
}

int confined_by_unseen(void)
{
	if (confined_is_unseen())
		return 1;
	return !sampler_is_hosted() && !__atomic_load_n(&sampler.filters, __ATOMIC_RELAXED) &&
	       confined_may(CONFINED_FILTERS) && arch_syscall1(SYS_prctl, PR_GET_SECCOMP) > 0;
}

int confined_before_exec(void)
{
	if (confined_is_unseen())
		return 1;
	if (!sampler_is_hosted() && (sampler.slot->delivered ||
				       __atomic_load_n(&is_expected, __ATOMIC_RELAXED)))
		return confined_count() > (int)__atomic_load_n(&sampler.filters, __ATOMIC_RELAXED);
	return confined_by_unseen();
}

void confined_expect(void)
{
	__atomic_store_n(&is_expected, 1, __ATOMIC_RELAXED);
}

int confined_in_child(void)
{
	return __atomic_load_n(&is_in_child, __ATOMIC_RELAXED);
}

void confined_set_outside_libc(void)
{
	__atomic_store_n(&is_in_child, 1, __ATOMIC_RELAXED);
}
