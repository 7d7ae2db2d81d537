/* SPDX-License-Identifier: MIT */
/*
 * Two processes on the host's memory. They have the thread pointer of the host's thread: raw system
 * calls only, and nothing that looks at thread-local storage, errno included.
 */
#include "libprof/api/outsider.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "arch/syscall.h"

#define STACK_BYTES 32768
#define SIGNALS     64
/* Where the kernel cannot close all descriptors in one call. */
#define DESCRIPTORS 65536

/* Mapped for one run, so that several threads may run one each. */
struct outsider {
	char stand_in_stack[STACK_BYTES] __attribute__((aligned(16)));
	char program_stack[STACK_BYTES] __attribute__((aligned(16)));
	const char *program;
	const char *const *arguments;
	char *const *environment;
	int status; /* as wait4() has it; -1: it did not get that far */
};

static void leave(int status)
{
	for (;;)
		arch_syscall1(SYS_exit_group, status);
}

/*
 * A table of descriptors of our own with nothing in it. In one step where the kernel has it: a
 * copy would hold the host's pipes open for a moment.
 */
static void drop_descriptors(void)
{
	if (arch_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE)) {
		if (arch_syscall1(SYS_unshare, CLONE_FILES))
			leave(1);
		for (int i = 0; i < DESCRIPTORS; i++)
			arch_syscall1(SYS_close, i);
	}
	arch_syscall4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	arch_syscall1(SYS_dup, 0);
	arch_syscall1(SYS_dup, 0);
}

/* The handlers are a copy of the host's, and an ignored SIGCHLD would lose the program's status. */
static void reset_signals(void)
{
	const uint64_t as_default[8] = {0}; /* at least a kernel's struct sigaction */

	for (int i = 1; i <= SIGNALS; i++)
		arch_syscall4(SYS_rt_sigaction, i, as_default, NULL, sizeof(uint64_t));
}

static void program_main(void *argument)
{
	const struct outsider *outsider = argument;
	const uint64_t none = 0;

	arch_syscall0(SYS_setsid);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	arch_syscall3(SYS_execve, outsider->program, outsider->arguments, outsider->environment);
	leave(127);
}

static void stand_in_main(void *argument)
{
	struct outsider *outsider = argument;
	long pid, ended;
	int status;

	drop_descriptors();
	reset_signals();
	arch_syscall2(SYS_prctl, PR_SET_NAME, "flameprof");
	/* Stopped until the program has left this memory, so that its stack is not ours to keep. */
	pid = arch_spawn_vm(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | SIGCHLD,
		outsider->program_stack + STACK_BYTES, program_main, outsider);
	if (pid < 0)
		leave(1);
	do
		ended = arch_syscall4(SYS_wait4, pid, &status, 0, NULL);
	while (ended == -EINTR);
	if (ended == pid)
		__atomic_store_n(&outsider->status, status, __ATOMIC_RELEASE);
	leave(0);
}

static long start(struct outsider *outsider)
{
	const uint64_t all = ~0ULL;
	uint64_t before;
	long pid;

	/* Born with all signals blocked: the host's handlers must not run in it. */
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	pid = arch_spawn_vm(CLONE_VM | CLONE_FILES | CLONE_UNTRACED,
		outsider->stand_in_stack + STACK_BYTES, stand_in_main, outsider);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return pid;
}

/* NULL without memory. */
static struct outsider *make(void)
{
	long at = arch_syscall6(SYS_mmap, 0, sizeof(struct outsider), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (struct outsider *)at;
}

int outsider_run(
	const char *program, const char *const *arguments, char *const *environment)
{
	struct outsider *outsider = make();
	long pid, ended;
	int status;

	if (!outsider)
		return -ENOMEM;
	outsider->program = program;
	outsider->arguments = arguments;
	outsider->environment = environment;
	outsider->status = -1;
	pid = start(outsider);
	status = (int)pid;
	if (pid < 0)
		goto out;
	do
		ended = arch_syscall4(SYS_wait4, pid, NULL, __WALL, NULL);
	while (ended == -EINTR);
	/* When somebody else's wait found it, it has ended as well. */
	status = __atomic_load_n(&outsider->status, __ATOMIC_ACQUIRE) ? -EIO : 0;
out:
	arch_syscall2(SYS_munmap, outsider, sizeof(*outsider));
	return status;
}
