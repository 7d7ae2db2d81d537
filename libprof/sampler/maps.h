/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: raw system calls and a buffer of the caller's. */
/*
 * What is mapped, as /proc/self/maps says it: line by line, in order of address.
 */
#ifndef LIBPROF_SAMPLER_MAPS_H
#define LIBPROF_SAMPLER_MAPS_H

#include <fcntl.h>
#include <stdint.h>

#include "arch/syscall.h"
#include "libprof/sampler/text.h"

struct maps {
	int fd;
	unsigned at, bytes;
	char text[4096];
};

struct mapping {
	uintptr_t start, end;
	int writable;
};

/* Returns 0, or -errno. An open one is to be closed. */
static inline int maps_open(struct maps *maps)
{
	long fd = arch_syscall4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	maps->fd = (int)fd;
	maps->at = maps->bytes = 0;
	return fd < 0 ? (int)fd : 0;
}

static inline void maps_close(struct maps *maps)
{
	arch_syscall1(SYS_close, maps->fd);
}

static inline int maps_next_byte(struct maps *maps)
{
	long n;

	if (maps->at == maps->bytes) {
		n = arch_syscall3(SYS_read, maps->fd, maps->text, sizeof(maps->text));
		if (n <= 0)
			return -1;
		maps->bytes = (unsigned)n;
		maps->at = 0;
	}
	return (unsigned char)maps->text[maps->at++];
}

static inline int maps_next_number(struct maps *maps, int end, uintptr_t *out)
{
	int c;

	*out = 0;
	while ((c = maps_next_byte(maps)) >= 0 && c != end)
		*out = *out << 4 | text_digit((char)c);
	return c == end;
}

/* The next line. Returns 0 at the end. */
static inline int maps_next(struct maps *maps, struct mapping *out)
{
	int c;

	if (!maps_next_number(maps, '-', &out->start) || !maps_next_number(maps, ' ', &out->end))
		return 0;
	maps_next_byte(maps); /* r */
	out->writable = maps_next_byte(maps) == 'w';
	do {
		c = maps_next_byte(maps);
	} while (c >= 0 && c != '\n');
	return 1;
}

#endif
