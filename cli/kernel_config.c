/* SPDX-License-Identifier: MIT */
/*
 * Read the configuration of the running kernel from /proc/config.gz, or from the file in /boot.
 */
#include "cli/kernel_config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#define IN_TASK_WORK "CONFIG_POSIX_CPU_TIMERS_TASK_WORK"
/* Every kernel configuration has this line. A file without it is truncated or something else. */
#define IN_ALL	   "CONFIG_HZ="
#define LINE_BYTES 1024

int kernel_config_has(const char *path, const char *option)
{
	size_t bytes = strlen(option);
	bool has_option = false, is_whole = false;
	char line[LINE_BYTES];
	gzFile in = gzopen(path, "rbe"); /* reads uncompressed files, too */

	if (!in)
		return -ENOENT;
	while (gzgets(in, line, sizeof(line))) {
		is_whole |= !strncmp(line, IN_ALL, strlen(IN_ALL));
		has_option |= !strncmp(line, option, bytes) && !strcmp(line + bytes, "=y\n");
	}
	/* zlib finds a wrong checksum here */
	if (gzclose(in) != Z_OK || !is_whole)
		return -ENOENT;
	return has_option;
}

bool kernel_config_breaks_off_calls(void)
{
	int answer = kernel_config_has("/proc/config.gz", IN_TASK_WORK);
	char path[PATH_MAX];
	struct utsname names;

	if (answer < 0 && !uname(&names)) {
		snprintf(path, sizeof(path), "/boot/config-%s", names.release);
		answer = kernel_config_has(path, IN_TASK_WORK);
	}
	return !answer;
}
