/* SPDX-License-Identifier: MIT */
/*
 * Lines on stderr, as long as that is what it was.
 */
#include "libprof/api/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_BYTES 1024
#define PREFIX	   "flameprof: "

static struct stat first;
static int was_open;

void say_init(void)
{
	was_open = !fstat(STDERR_FILENO, &first);
}

/* The same file, a terminal, or one that is only ever appended to: a log that was turned over. */
static int is_stderr(void)
{
	struct stat now;

	if (fstat(STDERR_FILENO, &now))
		return 0;
	if (was_open && now.st_dev == first.st_dev && now.st_ino == first.st_ino)
		return 1;
	if (S_ISREG(now.st_mode))
		return (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
	return S_ISCHR(now.st_mode);
}

void say(const char *format, ...)
{
	char line[LINE_BYTES] = PREFIX;
	int saved_errno = errno;
	va_list list;
	size_t bytes;
	ssize_t done;

	va_start(list, format);
	vsnprintf(line + strlen(PREFIX), sizeof(line) - strlen(PREFIX) - 1, format, list);
	va_end(list);
	bytes = strlen(line);
	for (char *at = line; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	line[bytes++] = '\n';
	if (is_stderr()) {
		done = write(STDERR_FILENO, line, bytes);
		(void)done;
	}
	errno = saved_errno;
}
