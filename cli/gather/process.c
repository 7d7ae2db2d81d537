/* SPDX-License-Identifier: MIT */
/*
 * /proc and the kernel's process clocks.
 */
#include "cli/gather/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/outside/procfs.h"

#define NS_PER_S 1000000000ULL

/*
 * Is the process of this /proc/PID/stat alive? Its state is the main thread's alone, which is a
 * zombie already when pthread_exit() left the rest running.
 */
static int is_alive(const char *stat)
{
	const char *at = strrchr(stat, ')');
	char state;
	long threads;

	if (!at || sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
			   &state, &threads) != 2)
		return 1;
	return threads > 1 || (state != 'Z' && state != 'X');
}

int process_is_running(uint32_t pid)
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

uint64_t process_cpu_ns(uint32_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid((pid_t)pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint32_t process_filters(uint32_t pid)
{
	long filters = procfs_number((pid_t)pid, "Seccomp_filters");

	if (filters < 0)
		filters = procfs_number((pid_t)pid, "Seccomp") > 0;
	return (uint32_t)filters;
}
