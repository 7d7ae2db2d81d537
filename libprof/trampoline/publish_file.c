/* SPDX-License-Identifier: MIT */
#include "libprof/trampoline/publish_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S	 1000000000LL
#define CHECK_BYTES	 65536u

static long long clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/*
 * Returns the CLOCK_REALTIME time at which this process began; 0 if /proc does not show it.
 * Source: proc(5), /proc/pid/stat, field 22. The second field may contain blanks and brackets.
 */
static long long process_start_ns(void)
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	unsigned long long ticks;

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';

	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &ticks) != 1)
		return 0;
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) +
		(long long)ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

/*
 * Was the file last written before this process began? Pids are reused; in containers, at every
 * start. The limit of two seconds allows for clock changes, and for file systems that round times.
 */
static int is_stale(const struct stat *status)
{
	long long start_ns = process_start_ns();
	long long written_ns = status->st_mtim.tv_sec * NS_PER_S + status->st_mtim.tv_nsec;

	return start_ns && written_ns < start_ns - 2 * NS_PER_S;
}

/* Check that an existing file may be written. Truncate it if an earlier process has left it. */
static int reuse_file(int fd, enum publish_file_sharing sharing)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_nlink != 1)
		return -EEXIST;
	if (is_stale(&status))
		return ftruncate(fd, 0) ? -errno : 0;
	return sharing == PUBLISH_FILE_OWN ? -EEXIST : 0;
}

int publish_file_open(
	struct publish_file *file, const char *path, enum publish_file_sharing sharing)
{
	int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	int fd = open(path, flags | O_EXCL, 0600);
	int existed = fd < 0 && errno == EEXIST;
	int error = 0;

	if (existed)
		fd = open(path, flags & ~O_CREAT);
	if (fd < 0)
		return errno == ELOOP ? -EEXIST : -errno;
	if (existed)
		error = reuse_file(fd, sharing);
	if (error) {
		close(fd);
		return error;
	}
	file->is_open = 1;
	file->fd = fd;
	file->error = 0;
	file->used = 0;
	file->unlimited = 0;
	return 0;
}

void publish_file_drop(struct publish_file *file)
{
	if (file->is_open)
		close(file->fd);
	file->is_open = 0;
	file->used = 0;
}

void publish_file_close(struct publish_file *file)
{
	publish_file_flush(file);
	publish_file_drop(file);
}

/*
 * Would the write exceed RLIMIT_FSIZE? If so, the kernel would kill the host by SIGXFSZ. If there
 * is no limit, read the limit again only after CHECK_BYTES, because reading it for each line
 * of a map would cost half as much as the line itself.
 */
static int passes_limit(struct publish_file *file, size_t count)
{
	struct rlimit limit;
	struct stat status;

	if (file->unlimited >= count) {
		file->unlimited -= count;
		return 0;
	}
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY) {
		file->unlimited = CHECK_BYTES;
		return 0;
	}
	return fstat(file->fd, &status) || status.st_size + count > limit.rlim_cur;
}

/*
 * Write @count bytes. Returns the number written. If less, file->error is set or errno is EFAULT.
 */
static size_t write_out(struct publish_file *file, const char *bytes, size_t count)
{
	size_t done = 0;

	if (!file->error && count && passes_limit(file, count))
		file->error = -EFBIG;
	while (!file->error && done < count) {
		ssize_t part = write(file->fd, bytes + done, count - done);

		if (part > 0)
			done += part;
		else if (part && errno == EFAULT)
			break;
		else if (!part || errno != EINTR)
			file->error = part ? -errno : -EIO;
	}
	return done;
}

int publish_file_flush(struct publish_file *file)
{
	write_out(file, file->buffer, file->used);
	file->used = 0;
	return file->error;
}

void publish_file_put_memory(struct publish_file *file, uintptr_t address, size_t count)
{
	static const char zeros[4096];

	publish_file_flush(file);
	while (count && !file->error) {
		/*
		 * Write in steps of this size: the page size is a multiple of it, and a page is
		 * readable as a whole or not at all.
		 */
		size_t part = sizeof(zeros) - address % sizeof(zeros);
		size_t done;

		if (part > count)
			part = count;
		done = write_out(file, (const char *)address, part);
		write_out(file, zeros, part - done);
		address += part;
		count -= part;
	}
}

void publish_file_put(struct publish_file *file, const void *bytes, size_t count)
{
	const char *from = bytes;

	while (count && !file->error) {
		size_t room = sizeof(file->buffer) - file->used;
		size_t part = count < room ? count : room;

		memcpy(file->buffer + file->used, from, part);
		file->used += part;
		from += part;
		count -= part;
		if (file->used == sizeof(file->buffer))
			publish_file_flush(file);
	}
}
