/* SPDX-License-Identifier: MIT */
/*
 * One table of system calls with their names, kinds of wait and numbers. Old and new versions of a
 * call (poll, ppoll) have the same name. A call that is not in the table is named by its number.
 */
#include "libprof/waits/wait_leaf.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Type of the file that a system call waits for. */
enum sort {
	SORT_NONE, /* no file, or of unknown type */
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

/*
 * The tables have no pointers, because each pointer would be relocated in every profiled process.
 */
static const char sort_names[SORT_COUNT][12] = {
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

#define HAS_FILE 1u /* first argument: a descriptor */
#define IS_REST	 2u /* idle threads wait in it */

static const struct wait_call {
	char name[16];
	char kind[6];
	int16_t number;
	uint8_t what; /* HAS_FILE, IS_REST */
} calls[] = {
	{"futex", "lock", SYS_futex, IS_REST},
#ifdef SYS_futex_waitv
	{"futex_waitv", "lock", SYS_futex_waitv, 0},
#endif
	{"flock", "lock", SYS_flock, HAS_FILE},
	{"fcntl", "lock", SYS_fcntl, HAS_FILE},
	{"semop", "lock", SYS_semop, 0},
	{"semtimedop", "lock", SYS_semtimedop, IS_REST},
	{"nanosleep", "sleep", SYS_nanosleep, IS_REST},
	{"clock_nanosleep", "sleep", SYS_clock_nanosleep, IS_REST},
	{"restart_syscall", "sleep", SYS_restart_syscall, 0},
	{"sigsuspend", "sleep", SYS_rt_sigsuspend, IS_REST},
	{"sigtimedwait", "sleep", SYS_rt_sigtimedwait, IS_REST},
	{"wait4", "child", SYS_wait4, IS_REST},
	{"waitid", "child", SYS_waitid, IS_REST},
	{"clone", "child", SYS_clone, 0}, /* vfork(2) and posix_spawn(3) */
	{"clone3", "child", SYS_clone3, 0},
	{"poll", "io", SYS_ppoll, IS_REST},
	{"select", "io", SYS_pselect6, IS_REST},
	{"epoll_wait", "io", SYS_epoll_pwait, IS_REST},
#ifdef SYS_epoll_pwait2
	{"epoll_wait", "io", SYS_epoll_pwait2, 0},
#endif
	{"read", "io", SYS_read, HAS_FILE},
	{"readv", "io", SYS_readv, HAS_FILE},
	{"pread", "io", SYS_pread64, HAS_FILE},
	{"preadv", "io", SYS_preadv, HAS_FILE},
	{"preadv", "io", SYS_preadv2, HAS_FILE},
	{"write", "io", SYS_write, HAS_FILE},
	{"writev", "io", SYS_writev, HAS_FILE},
	{"pwrite", "io", SYS_pwrite64, HAS_FILE},
	{"pwritev", "io", SYS_pwritev, HAS_FILE},
	{"pwritev", "io", SYS_pwritev2, HAS_FILE},
	{"recv", "io", SYS_recvfrom, HAS_FILE},
	{"recvmsg", "io", SYS_recvmsg, HAS_FILE},
	{"recvmmsg", "io", SYS_recvmmsg, HAS_FILE},
	{"send", "io", SYS_sendto, HAS_FILE},
	{"sendmsg", "io", SYS_sendmsg, HAS_FILE},
	{"sendmmsg", "io", SYS_sendmmsg, HAS_FILE},
	{"sendfile", "io", SYS_sendfile, HAS_FILE},
	{"splice", "io", SYS_splice, HAS_FILE},
	{"copy_file_range", "io", SYS_copy_file_range, HAS_FILE},
	{"accept", "io", SYS_accept, HAS_FILE | IS_REST},
	{"accept", "io", SYS_accept4, HAS_FILE | IS_REST},
	{"connect", "io", SYS_connect, HAS_FILE},
	{"ioctl", "io", SYS_ioctl, HAS_FILE},
	{"open", "io", SYS_openat, 0},
	{"msgrcv", "io", SYS_msgrcv, IS_REST},
	{"msgsnd", "io", SYS_msgsnd, 0},
	{"mq_receive", "io", SYS_mq_timedreceive, 0},
	{"mq_send", "io", SYS_mq_timedsend, 0},
	{"io_getevents", "io", SYS_io_getevents, IS_REST},
#ifdef SYS_io_uring_enter
	{"io_uring_enter", "io", SYS_io_uring_enter, 0},
#endif
	{"fsync", "disk", SYS_fsync, HAS_FILE},
	{"fdatasync", "disk", SYS_fdatasync, HAS_FILE},
	{"sync_file_range", "disk", SYS_sync_file_range, HAS_FILE},
	{"sync", "disk", SYS_sync, 0},
	{"syncfs", "disk", SYS_syncfs, HAS_FILE},
	{"msync", "disk", SYS_msync, 0},
	{"madvise", "disk", SYS_madvise, 0},
	{"getdents", "disk", SYS_getdents64, HAS_FILE},
	{"fallocate", "disk", SYS_fallocate, HAS_FILE},
	{"unlink", "disk", SYS_unlinkat, 0},
	{"execve", "disk", SYS_execve, 0},
	{"exit_group", "", SYS_exit_group, 0},
	{"exit", "", SYS_exit, 0},
/* Newer CPU architectures (aarch64) have only the calls above. */
#ifdef SYS_poll
	{"poll", "io", SYS_poll, IS_REST},
	{"select", "io", SYS_select, IS_REST},
	{"epoll_wait", "io", SYS_epoll_wait, IS_REST},
	{"pause", "sleep", SYS_pause, IS_REST},
	{"vfork", "child", SYS_vfork, 0},
	{"fork", "child", SYS_fork, 0},
	{"open", "io", SYS_open, 0},
	{"unlink", "disk", SYS_unlink, 0},
#endif
};

static const struct wait_call *find_call(unsigned number)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if ((unsigned)calls[i].number == number)
			return &calls[i];
	return NULL;
}

bool wait_leaf_is_rest(int number)
{
	const struct wait_call *known = number < 0 ? NULL : find_call((unsigned)number);

	return known && known->what & IS_REST;
}

/* ---- from a system call to a frame ----------------------------------------------------------- */

static enum sort sort_of_anonymous(const char *link)
{
	static const struct {
		char word[12];
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

/*
 * Returns the type of descriptor @number of @pid. Writes the target of its link in /proc to @link
 * (PATH_MAX).
 */
static enum sort sort_of_file(pid_t pid, uint64_t number, char *link)
{
	char name[32], path[PROCFS_PATH_BYTES];
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
	procfs_path(path, pid, 0, name);
	/* AT_STATX_DONT_SYNC: do not make the kernel ask a file server, which may not answer. */
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

/*
 * Returns the leaf of a thread that sleeps in no system call: the thread waits for a page, or is
 * stopped.
 */
static uint64_t leaf_of_none(pid_t pid, pid_t tid)
{
	char state = procfs_state(pid, tid);

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
	if (known && known->what & HAS_FILE)
		sort = sort_of_file(pid, call->arguments[0], link);
	if (details && link[0])
		snprintf(details, PATH_MAX, "%s", link);
	else if (details && known && !strcmp(known->kind, "lock"))
		snprintf(details, PATH_MAX, "0x%" PRIx64, call->arguments[0]);
	return WIRE_FRAME_WAIT((unsigned)call->number, sort);
}

/* ---- from a frame to text -------------------------------------------------------------------- */

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
	if (known->what & HAS_FILE && WIRE_WAIT_SORT(frame) == SORT_FILE &&
		!strcmp(known->kind, "io"))
		return "disk";
	return known->kind;
}
