/* SPDX-License-Identifier: MIT */
/*
 * Read files of /proc and the kernel's CPU clocks of processes. Files are opened, read and closed
 * by raw system calls, because the calling thread may have a descriptor table of its own, and a
 * sanitizer that intercepts libc's calls would confuse these descriptors with the program's.
 */
#include "libprof/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"

void procfs_path(char path[PROCFS_PATH_BYTES], pid_t pid, pid_t tid, const char *name)
{
	char process[16] = "self", thread[24] = "";

	if (pid)
		snprintf(process, sizeof(process), "%d", (int)pid);
	if (tid)
		snprintf(thread, sizeof(thread), "task/%d/", (int)tid);
	snprintf(path, PROCFS_PATH_BYTES, "/proc/%s/%s%s", process, thread, name);
}

static int open_path(const char *path, int flags)
{
	return (int)arch_syscall4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags, 0);
}

void procfs_close(int file)
{
	arch_syscall1(SYS_close, file);
}

/* Read up to @room - 1 bytes of a file and append a NUL. Returns the number of bytes or -errno. */
static ssize_t read_whole(const char *path, char *out, size_t room)
{
	int fd = open_path(path, 0);
	ssize_t bytes;

	if (fd < 0)
		return fd;
	bytes = arch_syscall3(SYS_read, fd, out, room - 1);
	procfs_close(fd);
	out[bytes > 0 ? bytes : 0] = '\0';
	return bytes;
}

long procfs_number(pid_t id, const char *name)
{
	char path[64], text[4096], key[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)id);
	snprintf(key, sizeof(key), "\n%s:", name);
	if (read_whole(path, text, sizeof(text)) <= 0)
		return -1;
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

int procfs_link(pid_t pid, const char *name, char out[PATH_MAX])
{
	char path[PROCFS_PATH_BYTES];
	ssize_t bytes;

	procfs_path(path, pid, 0, name);
	bytes = readlink(path, out, PATH_MAX - 1);
	if (bytes < 0)
		return -errno;
	out[bytes] = '\0';
	return 0;
}

void procfs_comm(pid_t pid, pid_t tid, char out[WIRE_COMM_BYTES])
{
	char path[PROCFS_PATH_BYTES];
	ssize_t bytes;

	procfs_path(path, pid, tid, "comm");
	bytes = read_whole(path, out, WIRE_COMM_BYTES);
	out[bytes > 0 ? strcspn(out, "\n") : 0] = '\0';
}

/*
 * Find field @number (3 or more) in @text, the content of a "stat" file. Fields are counted behind
 * the last ')', because the name in field 2 may contain blanks. Returns NULL if the field is
 * missing.
 */
static const char *find_field(const char *text, unsigned number)
{
	const char *at = strrchr(text, ')');

	for (unsigned field = 2; at && field < number; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

static ssize_t read_stat(pid_t pid, pid_t tid, char *text, size_t room)
{
	char path[PROCFS_PATH_BYTES];

	procfs_path(path, pid, tid, "stat");
	return read_whole(path, text, room);
}

char procfs_state(pid_t pid, pid_t tid)
{
	char text[1024];
	ssize_t bytes = read_stat(pid, tid, text, sizeof(text));
	const char *state = bytes > 0 ? find_field(text, 3) : NULL;

	return state ? *state : 0;
}

uintptr_t procfs_stack_top(pid_t pid)
{
	const char *top = NULL;
	char text[1024];

	if (read_stat(pid, pid, text, sizeof(text)) > 0)
		top = find_field(text, 28);
	return top ? strtoul(top, NULL, 10) : 0;
}

unsigned procfs_flags(pid_t pid, pid_t tid)
{
	const char *flags = NULL;
	char text[1024];

	if (read_stat(pid, tid, text, sizeof(text)) > 0)
		flags = find_field(text, 9);
	return flags ? (unsigned)strtoul(flags, NULL, 10) : 0;
}

int procfs_birth(pid_t pid, struct procfs_birth *out)
{
	const char *state, *parent, *start;
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_whole(path, text, sizeof(text)) <= 0)
		return -ESRCH;
	state = find_field(text, 3);
	parent = find_field(text, 4);
	start = find_field(text, 22);
	if (!state || !parent || !start)
		return -ESRCH;
	out->state = *state;
	out->ppid = (pid_t)strtol(parent, NULL, 10);
	out->start_ticks = strtoull(start, NULL, 10);
	return 0;
}

long procfs_newest_pid(void)
{
	char text[128], *at;

	if (read_whole("/proc/loadavg", text, sizeof(text)) <= 0 || !(at = strrchr(text, ' ')))
		return -1;
	return strtol(at, NULL, 10);
}

/* Reads the folder without opendir(3), because that would call the program's malloc(). */
long procfs_threads(pid_t pid, pid_t *tids, size_t room)
{
	char path[PROCFS_PATH_BYTES], entries[4096] __attribute__((aligned(8)));
	long count = 0;
	ssize_t bytes;
	int folder;

	procfs_path(path, pid, 0, "task");
	folder = open_path(path, O_DIRECTORY);
	if (folder < 0)
		return folder;
	while ((bytes = arch_syscall3(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < bytes;) {
			const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
			long tid = strtol(entry->d_name, NULL, 10);

			at += entry->d_reclen;
			if (tid <= 0 || tid > INT_MAX)
				continue;
			if ((size_t)count < room)
				tids[count] = (pid_t)tid;
			count++;
		}
	}
	procfs_close(folder);
	return count;
}

unsigned procfs_thread_count(pid_t pid)
{
	char path[PROCFS_PATH_BYTES];
	struct stat status;

	procfs_path(path, pid, 0, "task");
	/* Each thread is one subfolder and so one link; the other two are its own name and ".". */
	return stat(path, &status) || status.st_nlink < 2 ? 0 : (unsigned)status.st_nlink - 2;
}

int procfs_open(pid_t pid, pid_t tid, const char *name)
{
	char path[PROCFS_PATH_BYTES];

	procfs_path(path, pid, tid, name);
	return open_path(path, 0);
}

/* Read up to @room - 1 bytes from the beginning of @file and append a NUL. Returns 0 or -errno. */
static int read_again(int file, char *text, size_t room)
{
	ssize_t bytes = arch_syscall4(SYS_pread64, file, text, room - 1, 0);

	if (bytes <= 0)
		return bytes < 0 ? (int)bytes : -ESRCH;
	text[bytes] = '\0';
	return 0;
}

int procfs_clock_read(int file, struct procfs_clock *out)
{
	char text[96], *at;
	int error = read_again(file, text, sizeof(text));

	if (error)
		return error;
	out->cpu_ns = strtoull(text, &at, 10);
	out->waited_ns = strtoull(at, &at, 10);
	out->turns = strtoull(at, NULL, 10);
	return 0;
}

int procfs_syscall_read(int file, struct procfs_syscall *out)
{
	char text[256], *at = text;
	struct procfs_syscall call = {0};
	int error = read_again(file, text, sizeof(text));

	if (error)
		return error;
	call.number = strtol(text, &at, 10);
	if (at == text)
		return -EAGAIN;
	for (unsigned i = 0; i < 6 && call.number >= 0; i++)
		call.arguments[i] = strtoull(at, &at, 16);
	call.sp = strtoull(at, &at, 16);
	call.pc = strtoull(at, NULL, 16);
	*out = call;
	return 0;
}

/* Returns the value behind @key ("\nName") in the text of "status"; "" if @key is missing. */
static const char *find_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	at = at ? at + strlen(key) : "";
	return at + strspn(at, ":\t ");
}

int procfs_switches_read(int file, struct procfs_switches *out)
{
	char text[4096];
	int error = read_again(file, text, sizeof(text));

	if (error)
		return error;
	out->state = *find_value(text, "\nState");
	out->sleeps = strtol(find_value(text, "\nvoluntary_ctxt_switches"), NULL, 10);
	out->pushes = strtol(find_value(text, "\nnonvoluntary_ctxt_switches"), NULL, 10);
	return 0;
}

/*
 * NSpid in "status" lists a thread's ids from the reader's pid namespace to the innermost one.
 * Returns the last id, or @otherwise if there is no such line.
 */
static pid_t inner_pid_in(const char *text, pid_t otherwise)
{
	const char *at = strstr(text, "\nNSpid:");
	long inner = otherwise;
	char *end;

	at = at ? at + strlen("\nNSpid:") : "";
	for (; *at == '\t' || *at == ' '; at = end)
		inner = strtol(at, &end, 10);
	return (pid_t)inner;
}

int procfs_status(pid_t pid, pid_t tid, struct procfs_status *out)
{
	char path[PROCFS_PATH_BYTES], text[4096];
	const char *filters;
	unsigned long mode;

	procfs_path(path, pid, tid, "status");
	if (read_whole(path, text, sizeof(text)) <= 0)
		return -ESRCH;
	filters = find_value(text, "\nSeccomp_filters");
	mode = strtoul(find_value(text, "\nSeccomp"), NULL, 10);
	*out = (struct procfs_status){
		.inner_tid = inner_pid_in(text, tid ? tid : pid),
		.blocked = strtoull(find_value(text, "\nSigBlk"), NULL, 16),
		.ignored = strtoull(find_value(text, "\nSigIgn"), NULL, 16),
		.caught = strtoull(find_value(text, "\nSigCgt"), NULL, 16),
		.filters = *filters ? (uint32_t)strtoul(filters, NULL, 10) : mode > 0,
		.is_strict = mode == 1,
	};
	return 0;
}

int procfs_stat_read(int file, struct procfs_stat *out)
{
	const char *state, *flags, *user;
	char text[1024], *kernel;
	int error = read_again(file, text, sizeof(text));

	if (error)
		return error;
	state = find_field(text, 3);
	flags = find_field(text, 9);
	user = find_field(text, 14);
	if (!state || !flags || !user)
		return -ESRCH;
	out->state = *state;
	out->flags = (unsigned)strtoul(flags, NULL, 10);
	out->user_ticks = strtoull(user, &kernel, 10);
	out->kernel_ticks = strtoull(kernel, NULL, 10);
	return 0;
}

#define NS_PER_S 1000000000ULL

/*
 * Returns 1 if the process of this /proc/PID/stat is alive. The state in the file is the main
 * thread's: it is 'Z' if the main thread has called pthread_exit(), even if other threads are still
 * running.
 */
static int is_alive(const char *stat)
{
	const char *at = strrchr(stat, ')');
	char state;
	long threads;

	if (!at ||
		sscanf(at + 1,
			" %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
			&state, &threads) != 2)
		return 1;
	return threads > 1 || (state != 'Z' && state != 'X');
}

int procfs_is_running(uint32_t pid)
{
	char path[64], text[512];
	ssize_t n;
	int fd;

	if (!pid || pid > INT32_MAX)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT && errno != ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return is_alive(text);
}

uint64_t procfs_cpu_ns(uint32_t pid)
{
	struct timespec ts;
	clockid_t clock;

	/* Use a raw system call, because libfaketime's clock_gettime() returns a faked time. */
	if (clock_getcpuclockid((pid_t)pid, &clock) || arch_syscall2(SYS_clock_gettime, clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

pid_t procfs_inner_pid(pid_t pid)
{
	struct procfs_status status = {.inner_tid = pid};

	procfs_status(pid, 0, &status);
	return status.inner_tid;
}

uint32_t procfs_filters(uint32_t pid)
{
	struct procfs_status status = {.filters = 0};

	procfs_status((pid_t)pid, 0, &status);
	return status.filters;
}
