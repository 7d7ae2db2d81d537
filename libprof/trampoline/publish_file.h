/* SPDX-License-Identifier: MIT */
/*
 * A file that tools find by its name, which ends in our pid: opened so that nobody can make us
 * write elsewhere, and written in batches.
 *
 * Context of all: under publish.c's lock.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_FILE_H
#define LIBPROF_TRAMPOLINE_PUBLISH_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Zeroes are a file that is not open: in .data its buffer would cost every process pages. */
struct publish_file {
	int is_open;
	int fd;
	int error; /* -errno of the first write that failed; nothing is written after it */
	size_t unlimited; /* bytes that may be written before limits are looked at again */
	size_t used;
	char buffer[16384];
};

enum publish_file_sharing {
	/* Others in this process may append lines, too: what they wrote since it began is kept. */
	PUBLISH_FILE_SHARED,
	/* It is ours from its first byte. */
	PUBLISH_FILE_OWN,
};

/*
 * Open or create the file, for appending, readable by its owner only. What a process of the past
 * left under the same pid is removed. A link, a special file, a file of another user's or of
 * several names is refused. With PUBLISH_FILE_OWN a file of this process's is refused, too.
 *
 * @path  borrowed for the call
 *
 * Returns 0, -EEXIST for what is refused, or the error of the system; *@file is not open then.
 */
int publish_file_open(
	struct publish_file *file, const char *path, enum publish_file_sharing sharing);

/* Write what is put off, if any, and close. */
void publish_file_close(struct publish_file *file);

/* Close without writing: what is put off is another process's. */
void publish_file_drop(struct publish_file *file);

/* Append; written at the next publish_file_flush(), or before when the buffer is full. */
void publish_file_put(struct publish_file *file, const void *bytes, size_t count);

/*
 * Append @count bytes of memory that may not be readable; what is not becomes zeros.
 * The kernel is asked to read: it answers -EFAULT where a load would be a fault.
 */
void publish_file_put_memory(struct publish_file *file, uintptr_t address, size_t count);

/* Returns 0, or the -errno of this write or of one before. */
int publish_file_flush(struct publish_file *file);

#endif
