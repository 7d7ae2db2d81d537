/* SPDX-License-Identifier: MIT */
/*
 * One table of system calls, by the kernel's names for them, without what tells apart the ages of
 * one call (ppoll and poll). What it lacks is called by its number.
 */
#include "cli/outside/wait_leaf.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What sort of file a call waits for. */
enum sort {
	SORT_NONE, /* no file, or not known which */
	SORT_FILE,
	SORT_FOLDER,
	SORT_PIPE,
	SORT_SOCKET,
	SORT_TTY,
	SORT_DEVICE,
	SORT_EVENTFD,
	SORT_TIMERFD,
	SORT_SIGNALFD,
	SORT_INOTIFY,
	SORT_OTHER,
	SORT_COUNT
};

static const char *const sort_names[SORT_COUNT] = {
	[SORT_NONE] = "",
	[SORT_FILE] = "file",
	[SORT_FOLDER] = "directory",
	[SORT_PIPE] = "pipe",
	[SORT_SOCKET] = "socket",
	[SORT_TTY] = "terminal",
	[SORT_DEVICE] = "device",
	[SORT_EVENTFD] = "eventfd",
	[SORT_TIMERFD] = "timerfd",
	[SORT_SIGNALFD] = "signalfd",
	[SORT_INOTIFY] = "inotify",
	[SORT_OTHER] = "other file",
};

static const struct wait_call {
	const char *name;
	const char *kind;
	int number;
	bool has_file; /* its first argument is a descriptor */
} calls[] = {
	{"futex", "lock", SYS_futex, false},
#ifdef SYS_futex_waitv
	{"futex_waitv", "lock", SYS_futex_waitv, false},
#endif
	{"flock", "lock", SYS_flock, true},
	{"fcntl", "lock", SYS_fcntl, true},
	{"semop", "lock", SYS_semop, false},
	{"semtimedop", "lock", SYS_semtimedop, false},
	{"nanosleep", "sleep", SYS_nanosleep, false},
	{"clock_nanosleep", "sleep", SYS_clock_nanosleep, false},
	{"restart_syscall", "sleep", SYS_restart_syscall, false},
	{"sigsuspend", "sleep", SYS_rt_sigsuspend, false},
	{"sigtimedwait", "sleep", SYS_rt_sigtimedwait, false},
	{"wait4", "child", SYS_wait4, false},
	{"waitid", "child", SYS_waitid, false},
	{"clone", "child", SYS_clone, false}, /* vfork(2) and posix_spawn(3) */
	{"clone3", "child", SYS_clone3, false},
	{"poll", "io", SYS_ppoll, false},
	{"select", "io", SYS_pselect6, false},
	{"epoll_wait", "io", SYS_epoll_pwait, false},
#ifdef SYS_epoll_pwait2
	{"epoll_wait", "io", SYS_epoll_pwait2, false},
#endif
	{"read", "io", SYS_read, true},
	{"readv", "io", SYS_readv, true},
	{"pread", "io", SYS_pread64, true},
	{"preadv", "io", SYS_preadv, true},
	{"preadv", "io", SYS_preadv2, true},
	{"write", "io", SYS_write, true},
	{"writev", "io", SYS_writev, true},
	{"pwrite", "io", SYS_pwrite64, true},
	{"pwritev", "io", SYS_pwritev, true},
	{"pwritev", "io", SYS_pwritev2, true},
	{"recv", "io", SYS_recvfrom, true},
	{"recvmsg", "io", SYS_recvmsg, true},
	{"recvmmsg", "io", SYS_recvmmsg, true},
	{"send", "io", SYS_sendto, true},
	{"sendmsg", "io", SYS_sendmsg, true},
	{"sendmmsg", "io", SYS_sendmmsg, true},
	{"sendfile", "io", SYS_sendfile, true},
	{"splice", "io", SYS_splice, true},
	{"copy_file_range", "io", SYS_copy_file_range, true},
	{"accept", "io", SYS_accept, true},
	{"accept", "io", SYS_accept4, true},
	{"connect", "io", SYS_connect, true},
	{"ioctl", "io", SYS_ioctl, true},
	{"open", "io", SYS_openat, false},
	{"msgrcv", "io", SYS_msgrcv, false},
	{"msgsnd", "io", SYS_msgsnd, false},
	{"mq_receive", "io", SYS_mq_timedreceive, false},
	{"mq_send", "io", SYS_mq_timedsend, false},
	{"io_getevents", "io", SYS_io_getevents, false},
#ifdef SYS_io_uring_enter
	{"io_uring_enter", "io", SYS_io_uring_enter, false},
#endif
	{"fsync", "disk", SYS_fsync, true},
	{"fdatasync", "disk", SYS_fdatasync, true},
	{"sync_file_range", "disk", SYS_sync_file_range, true},
	{"sync", "disk", SYS_sync, false},
	{"syncfs", "disk", SYS_syncfs, true},
	{"msync", "disk", SYS_msync, false},
	{"madvise", "disk", SYS_madvise, false},
	{"getdents", "disk", SYS_getdents64, true},
	{"fallocate", "disk", SYS_fallocate, true},
	{"unlink", "disk", SYS_unlinkat, false},
	{"execve", "disk", SYS_execve, false},
	{"exit_group", "", SYS_exit_group, false},
	{"exit", "", SYS_exit, false},
#ifdef SYS_poll /* what younger CPUs leave to the calls above */
	{"poll", "io", SYS_poll, false},
	{"select", "io", SYS_select, false},
	{"epoll_wait", "io", SYS_epoll_wait, false},
	{"pause", "sleep", SYS_pause, false},
	{"vfork", "child", SYS_vfork, false},
	{"fork", "child", SYS_fork, false},
	{"open", "io", SYS_open, false},
	{"unlink", "disk", SYS_unlink, false},
#endif
};

static const struct wait_call *find_call(unsigned number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((unsigned)calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* ---- from a look to a frame ------------------------------------------------------------------ */

static enum sort sort_of_anonymous(const char *link)
{
	static const struct {
		const char *word;
		enum sort sort;
	} kinds[] = {
		{"[eventfd", SORT_EVENTFD},
		{"[timerfd", SORT_TIMERFD},
		{"[signalfd", SORT_SIGNALFD},
		{"inotify", SORT_INOTIFY},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(link, kinds[i].word))
			return kinds[i].sort;
	return SORT_OTHER;
}

/* Of descriptor @number of @pid; @link (PATH_MAX) gets where it leads. */
static enum sort sort_of_file(pid_t pid, uint64_t number, char *link)
{
	char name[32], path[64];
	struct statx status;

	snprintf(name, sizeof(name), "fd/%d", (int)number);
	if (procfs_link(pid, name, link))
		return SORT_NONE;
	if (!strncmp(link, "pipe:", 5))
		return SORT_PIPE;
	if (!strncmp(link, "socket:", 7))
		return SORT_SOCKET;
	if (!strncmp(link, "anon_inode:", 11))
		return sort_of_anonymous(link);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	/* Never by asking the server that a file is on, who may not answer. */
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &status))
		return SORT_OTHER;
	if (S_ISFIFO(status.stx_mode))
		return SORT_PIPE;
	if (S_ISDIR(status.stx_mode))
		return SORT_FOLDER;
	if (S_ISCHR(status.stx_mode))
		return !strncmp(link, "/dev/pts/", 9) || !strncmp(link, "/dev/tty", 8)
			       ? SORT_TTY
			       : SORT_DEVICE;
	return SORT_FILE;
}

/* In no call: a page is on its way from a file, or nobody lets it go on. */
static uint64_t leaf_of_none(pid_t pid, pid_t tid)
{
	char state = procfs_state(pid, tid, NULL);

	if (state == 'T' || state == 't')
		return WIRE_FRAME_WAIT(WIRE_WAIT_STOPPED, SORT_NONE);
	return WIRE_FRAME_WAIT(
		state == 'D' || state == 'S' ? WIRE_WAIT_FAULT : WIRE_WAIT_UNKNOWN, SORT_NONE);
}

uint64_t wait_leaf(pid_t pid, pid_t tid, const struct procfs_syscall *call, char details[PATH_MAX])
{
	const struct wait_call *known;
	enum sort sort = SORT_NONE;
	char link[PATH_MAX] = "";

	if (details)
		details[0] = '\0';
	if (call->number < 0 || call->number >= (long)WIRE_WAIT_CALLS_MAX)
		return leaf_of_none(pid, tid);
	known = find_call((unsigned)call->number);
	if (known && known->has_file)
		sort = sort_of_file(pid, call->arguments[0], link);
	if (details && link[0])
		snprintf(details, PATH_MAX, "%s", link);
	else if (details && known && !strcmp(known->kind, "lock"))
		snprintf(details, PATH_MAX, "0x%" PRIx64, call->arguments[0]);
	return WIRE_FRAME_WAIT((unsigned)call->number, sort);
}

/* ---- from a frame to words ------------------------------------------------------------------- */

static const char *name_of_reason(unsigned call)
{
	switch (call) {
	case WIRE_WAIT_NO_CPU:
		return "[no CPU]";
	case WIRE_WAIT_FAULT:
		return "[disk or page fault]";
	case WIRE_WAIT_STOPPED:
		return "[stopped]";
	default:
		return "[waiting]";
	}
}

void wait_leaf_name(uint64_t frame, char name[WAIT_LEAF_BYTES])
{
	unsigned number = WIRE_WAIT_CALL(frame), sort = WIRE_WAIT_SORT(frame);
	const struct wait_call *known = find_call(number);
	char call[32];

	if (number >= WIRE_WAIT_CALLS_MAX) {
		snprintf(name, WAIT_LEAF_BYTES, "%s", name_of_reason(number));
		return;
	}
	if (known)
		snprintf(call, sizeof(call), "%s", known->name);
	else
		snprintf(call, sizeof(call), "syscall %u", number);
	if (sort && sort < SORT_COUNT)
		snprintf(name, WAIT_LEAF_BYTES, "[%s: %s]", call, sort_names[sort]);
	else
		snprintf(name, WAIT_LEAF_BYTES, "[%s]", call);
}

const char *wait_leaf_kind(uint64_t frame)
{
	unsigned number = WIRE_WAIT_CALL(frame);
	const struct wait_call *known = find_call(number);

	if (number == WIRE_WAIT_NO_CPU)
		return "cpu";
	if (number == WIRE_WAIT_FAULT)
		return "disk";
	if (number >= WIRE_WAIT_CALLS_MAX || !known)
		return "";
	if (known->has_file && WIRE_WAIT_SORT(frame) == SORT_FILE && !strcmp(known->kind, "io"))
		return "disk";
	return known->kind;
}
