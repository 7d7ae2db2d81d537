/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: numbers and paths without libc, whose functions would touch several pages. */
#ifndef LIBPROF_SAMPLER_TEXT_H
#define LIBPROF_SAMPLER_TEXT_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>

#include "arch/syscall.h"

/* Room for "/proc/PID/fd/N" with any two 32-bit numbers, NUL included. */
#define TEXT_DESCRIPTOR_PATH_BYTES 40

static inline void text_append(char **at, const char *text)
{
	while (*text)
		*(*at)++ = *text++;
}

static inline void text_append_number(char **at, uint32_t value)
{
	char digits[10];
	int n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		*(*at)++ = digits[--n];
}

/* Write the path of descriptor @descriptor of process @pid. */
static inline void text_descriptor_path(
	char path[TEXT_DESCRIPTOR_PATH_BYTES], uint32_t pid, uint32_t descriptor)
{
	char *at = path;

	text_append(&at, "/proc/");
	text_append_number(&at, pid);
	text_append(&at, "/fd/");
	text_append_number(&at, descriptor);
	*at = '\0';
}

/* Room for "/proc/self/map_files/START-END" with any two addresses, NUL included. */
#define TEXT_MAPPING_PATH_BYTES 56

static inline void text_append_address(char **at, uintptr_t value)
{
	int bits = 0;

	while (bits + 4 < 64 && value >> (bits + 4))
		bits += 4;
	for (; bits >= 0; bits -= 4)
		*(*at)++ = "0123456789abcdef"[value >> bits & 15];
}

/* Write the path of the link to the file that is mapped from @start to @end, both page-aligned. */
static inline void text_mapping_path(
	char path[TEXT_MAPPING_PATH_BYTES], uintptr_t start, uintptr_t end)
{
	char *at = path;

	text_append(&at, "/proc/self/map_files/");
	text_append_address(&at, start);
	text_append(&at, "-");
	text_append_address(&at, end);
	*at = '\0';
}

/* Returns the value of a digit in any base up to 16; 16 if @c is not a digit. */
static inline unsigned text_digit(char c)
{
	return c >= '0' && c <= '9' ? (unsigned)(c - '0')
		: c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
				       : 16;
}

/*
 * Read digits in @base (10 or 16) at *@at up to the character @end. Moves *@at behind @end, or to
 * it if @end is NUL. Returns 0, or -EINVAL if there is another character, no digit, or a number
 * above @max.
 */
static inline int text_parse_number(
	const char **at, unsigned base, char end, uint64_t max, uint64_t *out)
{
	const char *from = *at, *to = from;
	uint64_t value = 0;

	for (; text_digit(*to) < base; to++) {
		unsigned digit = text_digit(*to);

		if (value > (max - digit) / base)
			return -EINVAL;
		value = value * base + digit;
	}
	if (to == from || *to != end)
		return -EINVAL;
	*at = to + (end != '\0');
	*out = value;
	return 0;
}

/* ---- mappings of this process ---------------------------------------------------------------- */
/* Functions that read /proc/self/maps line by line, in order of address. */

struct maps {
	int fd;
	unsigned at, bytes;
	char text[4096];
};

struct mapping {
	uintptr_t start, end;
	int writable;
};

/* Open the reader. Returns 0, or -errno. On success the caller must call maps_close(). */
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

/* Read the next line. Returns 0 at the end. */
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
