/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: started from the handler, then a process of its own on the target's memory. */
/*
 * The helper's life. It shares the target's memory and nothing else: a thread would make the target
 * multi-threaded, which costs it glibc's fast paths, unshare(2) and warnings of CPython. It has the
 * thread pointer of the thread that started it, so nothing here may look at thread-local storage:
 * raw system calls only.
 */
#include "libprof/aggregator/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/aggregator/intern.h"
#include "libprof/aggregator/loop.h"
#include "libprof/aggregator/message.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/text.h"

#define HELPER_STACK_BYTES 16384
#define HELPER_TICK_MS     100
#define HELPER_RETRY_MS    2

static char helper_stack[HELPER_STACK_BYTES] __attribute__((aligned(16)));
static struct message message;
static AT_START struct intern *table; /* every fork child writes it */
static int pipe_descriptor;

static int parent_is_gone(void)
{
	return (uint32_t)arch_syscall0(SYS_getppid) != sampler.pid;
}

/* message_write_fn: waits for room as long as somebody reads. */
static int write_message(void *context, const void *bytes, uint32_t n)
{
	(void)context;
	for (;;) {
		long written = arch_syscall3(SYS_write, pipe_descriptor, bytes, n);
		uint32_t seen;

		if (written == (long)n)
			return 0;
		if (written != -EAGAIN && written != -EINTR)
			return written < 0 ? (int)written : -EIO;
		seen = __atomic_load_n(&sampler.slot->doorbell, __ATOMIC_ACQUIRE);
		loop_wait(&sampler.slot->doorbell, seen, HELPER_RETRY_MS);
	}
}

static int drain_all(void)
{
	for (uint32_t word = 0; word < WIRE_RINGS / 64; word++) {
		uint64_t bits = __atomic_load_n(&sampler.rings[word], __ATOMIC_ACQUIRE);

		for (; bits; bits &= bits - 1) {
			uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
			int error = message_drain_ring(&message, sampler.arena, index,
				sampler.image, sampler.slot_index);

			if (error)
				return error;
			sampler_ring_recycle(index);
		}
	}
	return 0;
}

/* Open flamerun's pipe, and make sure that it is flamerun's pipe. */
static int open_pipe(void)
{
	const struct wire_arena *arena = sampler.arena;
	char path[TEXT_DESCRIPTOR_PATH_BYTES];
	struct stat status;
	long fd;

	text_descriptor_path(path, sampler.flamerun_pid, sampler.pipe_descriptor);
	fd = arch_syscall4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	if (arch_syscall2(SYS_fstat, fd, &status) || !S_ISFIFO(status.st_mode) ||
		status.st_dev != arena->pipe_device || status.st_ino != arena->pipe_inode) {
		arch_syscall1(SYS_close, fd);
		return -EBADF;
	}
	return (int)fd;
}

/* From here on only the calls that draining needs. A kernel that refuses is left as it is. */
static void confine(void)
{
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_futex),
		ALLOW(SYS_getppid),
		ALLOW(SYS_exit),
		ALLOW(SYS_close),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
#undef ALLOW
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), (struct sock_filter *)code};

	if (arch_syscall6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0) == 0)
		arch_syscall6(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program, 0, 0, 0);
}

/* Leave the target's world. Returns 0, or the negative errno of what could not be had. */
static int set_up(void)
{
	long error;

	arch_syscall0(SYS_setsid);
	/* One step: an own descriptor table that never held the target's descriptors open. */
	error = arch_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE);
	if (error)
		return (int)error;
	pipe_descriptor = open_pipe();
	if (pipe_descriptor < 0)
		return pipe_descriptor;
	if (!table) {
		long at = arch_syscall6(SYS_mmap, 0, sizeof(*table), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at < 0 && at > -4096)
			return (int)at;
		/* A fork child would only carry it along. */
		arch_syscall3(SYS_madvise, at, sizeof(*table), MADV_DONTFORK);
		table = (struct intern *)at;
	} else {
		intern_new_epoch(table);
	}
	arch_syscall2(SYS_prctl, PR_SET_NAME, "flameprof");
	confine();
	message.table = table;
	message.write = write_message;
	return 0;
}

/* What was committed before one of these is drained after it. */
static int is_ending(void *context)
{
	const struct wire_slot *slot = context;
	const struct wire_arena *arena = sampler.arena;

	return parent_is_gone() || __atomic_load_n(&arena->closing, __ATOMIC_ACQUIRE) ||
		(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff) == WIRE_SLOT_EXEC;
}

static int turn(void *context, int is_last)
{
	(void)context;
	(void)is_last;
	return drain_all();
}

static void helper_main(void *argument)
{
	struct wire_slot *slot = argument;
	const struct loop loop = {
		.doorbell = &slot->doorbell,
		.tick_ms = HELPER_TICK_MS,
		.context = slot,
		.is_ending = is_ending,
		.turn = turn,
	};
	int error = set_up();

	__atomic_store_n(&slot->helper, error ? WIRE_HELPER_FAILED : WIRE_HELPER_RUNNING,
		__ATOMIC_RELEASE);
	if (!error)
		error = loop_run(&loop);
	if (!error)
		__atomic_store_n(&slot->helper, WIRE_HELPER_GONE, __ATOMIC_RELEASE);
	else if (__atomic_load_n(&slot->helper, __ATOMIC_RELAXED) == WIRE_HELPER_RUNNING)
		__atomic_store_n(&slot->helper, WIRE_HELPER_FAILED, __ATOMIC_RELEASE);
	for (;;)
		arch_syscall1(SYS_exit, 0);
}

/* One starter at a time; a helper that ended (before an exec that failed) may be replaced. */
static int may_start(struct wire_slot *slot)
{
	uint32_t state = __atomic_load_n(&slot->helper, __ATOMIC_ACQUIRE);

	return (state == WIRE_HELPER_NONE || state == WIRE_HELPER_GONE) &&
		__atomic_compare_exchange_n(&slot->helper, &state, WIRE_HELPER_STARTING, 0,
			__ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/*
 * Would a child be the first of a new pid namespace? Its end, our helper's, would keep the program
 * from ever forking again.
 */
static int would_be_init(void)
{
	char own[64], of_children[64];
	long n = arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", own, sizeof(own));
	long m = arch_syscall4(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid_for_children", of_children,
		sizeof(of_children));

	if (m == -ENOENT && n > 0)
		return 1; /* a namespace that has no process yet */
	return n > 0 && (m != n || !plain_equal(own, of_children, (size_t)n));
}

void helper_start(void)
{
	struct wire_slot *slot = sampler.slot;
	uint64_t all = ~0ULL, before;
	long pid;

	if (!may_start(slot))
		return;
	if (would_be_init()) {
		__atomic_store_n(&slot->helper, WIRE_HELPER_FAILED, __ATOMIC_RELEASE);
		return;
	}
	/* The helper is born with all signals blocked: the target's handlers must not run in it. */
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	/* Untraced: a debugger of the target would take the helper for one of its threads. */
	pid = arch_spawn_vm(CLONE_VM | CLONE_FILES | CLONE_UNTRACED, helper_stack + sizeof(helper_stack), helper_main,
		slot);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
	if (pid > 0)
		slot->helper_pid = (uint32_t)pid;
	else
		__atomic_store_n(&slot->helper, WIRE_HELPER_FAILED, __ATOMIC_RELEASE);
}

/*
 * SIGKILL reaches the helper alone and at any moment: what it wrote and did not release is known
 * to flamerun by its position.
 */
void helper_dismiss(void)
{
	struct wire_slot *slot = sampler.slot;
	uint32_t state = WIRE_HELPER_NONE;
	uint32_t pid = __atomic_load_n(&slot->helper_pid, __ATOMIC_ACQUIRE);

	if (__atomic_compare_exchange_n(&slot->helper, &state, WIRE_HELPER_FAILED, 0,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
		state == WIRE_HELPER_FAILED || !pid)
		return;
	arch_syscall2(SYS_kill, pid, SIGKILL);
	arch_syscall4(SYS_wait4, pid, NULL, __WALL, NULL);
	/* Last: flamerun takes the rings over at this word. */
	__atomic_store_n(&slot->helper, WIRE_HELPER_FAILED, __ATOMIC_RELEASE);
}

void helper_wake(void)
{
	loop_ring(&sampler.slot->doorbell);
}

void helper_forget(void)
{
	table = NULL;
}
