/* SPDX-License-Identifier: MIT */
/*
 * Interpose calls by which a program forbids itself something that sampling needs: system calls (a
 * return from a signal handler is one, rt_sigreturn) and the CPU's time stamp counter, which
 * clock_gettime() reads. The library then samples without the forbidden call, or ends sampling
 * before the program's call. Interposers of chroot() and similar calls read the needed parts of
 * /proc before these become unreachable.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libprof/preload/preload.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/confined.h"
#include "libprof/sampler/events.h"
#include "libprof/sampler/filter.h"
#include "libprof/sampler/modules.h"

typedef int prctl_fn(int, ...);
typedef long syscall_fn(long, ...);
typedef int chroot_fn(const char *);

/*
 * Read the program's path while /proc is still reachable. Skip this in a vfork child, whose call
 * does not change its parent's root.
 */
static void read_program_path(void)
{
	if (sampler_is_this_process())
		modules_read_program_path();
}

/*
 * Prepare for a seccomp call. If the filter's address is NULL, the program only asks whether
 * filters exist. Returns 1 if a filter was counted; the caller must uncount it if the call fails.
 */
static int before_seccomp(unsigned long operation, unsigned long filter)
{
	if (operation == SECCOMP_SET_MODE_STRICT ||
		(operation == SECCOMP_SET_MODE_FILTER && filter))
		events_end();
	if (operation == SECCOMP_SET_MODE_STRICT)
		sampler_quit(WIRE_QUIT_STRICT);
	else if (operation == SECCOMP_SET_MODE_FILTER && filter)
		return confined_add_filter(filter);
	return 0;
}

/* Prepare for a prctl() call. Returns 1 if a filter was counted, as before_seccomp() does. */
static int before_prctl(unsigned long option, const unsigned long a[4])
{
	if (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT)
		return before_seccomp(SECCOMP_SET_MODE_STRICT, 0);
	if (option == PR_SET_SECCOMP)
		return before_seccomp(SECCOMP_SET_MODE_FILTER, a[1]);
	/* Programs set no_new_privs before they install a filter, so expect one. */
	if (option == PR_SET_NO_NEW_PRIVS) {
		confined_expect();
		read_program_path();
	}
	if (option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV)
		clock_ask_kernel();
	/*
	 * End sampling: with system call dispatch, the program can at any time change, without a
	 * call, which system calls it intercepts.
	 */
	if (option == PR_SET_SYSCALL_USER_DISPATCH && a[0] != PR_SYS_DISPATCH_OFF) {
		events_end();
		sampler_quit(WIRE_QUIT_DISPATCH);
	}
	return 0;
}

PRELOAD_EXPORT int chroot(const char *path)
{
	static chroot_fn *next;

	read_program_path();
	if (!next)
		next = (chroot_fn *)preload_next("chroot");
	return next(path);
}

PRELOAD_EXPORT int prctl(int option, ...)
{
	static prctl_fn *next;
	unsigned long a[4];
	int is_filter, result;
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	is_filter = before_prctl((unsigned int)option, a);
	if (!next)
		next = (prctl_fn *)preload_next("prctl");
	result = next(option, a[0], a[1], a[2], a[3]);
	if (is_filter && result < 0)
		confined_remove_filter();
	return result;
}

PRELOAD_EXPORT long syscall(long number, ...)
{
	static syscall_fn *next;
	unsigned long a[6];
	int is_filter = 0;
	va_list list;
	long result;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	/* Call the interposed libc function instead of the system call. */
	if (number == SYS_execve)
		return execve((const char *)a[0], (char *const *)a[1], (char *const *)a[2]);
	if (number == SYS_execveat)
		return execveat((int)a[0], (const char *)a[1], (char *const *)a[2],
			(char *const *)a[3], (int)a[4]);
	if (number == SYS_mlockall)
		return mlockall((int)a[0]);
	if (number == SYS_prctl)
		is_filter = before_prctl(a[0], a + 1);
	if (number == SYS_seccomp)
		is_filter = before_seccomp(a[0], a[2]);
	if (number == SYS_chroot || number == SYS_pivot_root)
		read_program_path();
	if (preload_signal_call(number, a, &result))
		return result;
	if (!next)
		next = (syscall_fn *)preload_next("syscall");
	result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (is_filter && result < 0)
		confined_remove_filter();
	return result;
}
