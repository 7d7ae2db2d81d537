/* SPDX-License-Identifier: MIT */
/*
 * A file that tools find by a name with our pid. It is opened so that no other user can redirect
 * our writes, and is written in batches.
 *
 * Context of all functions: under publish.c's lock.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_FILE_H
#define LIBPROF_TRAMPOLINE_PUBLISH_FILE_H

#include <stddef.h>
#include <stdint.h>

/* All zero: not open. Keep it in .bss: in .data, its buffer would cost each process memory. */
struct publish_file {
	int is_open;
	int fd;
	/* -errno of the first failed write; nothing is written afterwards */
	int error;
	/* bytes to write before RLIMIT_FSIZE is read again */
	size_t unlimited;
	size_t used;
	char buffer[16384];
};

enum publish_file_sharing {
	/* Other code in this process may append lines, too: keep what this process wrote. */
	PUBLISH_FILE_SHARED,
	/* Only this library writes the file. */
	PUBLISH_FILE_OWN,
};

/*
 * Open or create the file for appending, readable by its owner only. Contents left by an earlier
 * process with our pid are removed. Refuse a symbolic link, a special file, another user's file,
 * and a file with several links. With PUBLISH_FILE_OWN, also refuse a file written by this process.
 *
 * @path  borrowed for the call
 *
 * Returns 0, -EEXIST if refused, or -errno of the system; *@file is not open after an error.
 */
int publish_file_open(
	struct publish_file *file, const char *path, enum publish_file_sharing sharing);

/* Write buffered bytes and close. */
void publish_file_close(struct publish_file *file);

/* Close without writing: in a fork child, the buffered bytes are the parent's. */
void publish_file_drop(struct publish_file *file);

/* Append bytes to the buffer, which is written when it is full and by publish_file_flush(). */
void publish_file_put(struct publish_file *file, const void *bytes, size_t count);

/*
 * Append @count bytes of memory that may be unreadable; unreadable pages become zeros. write(2)
 * reads the memory, because it returns -EFAULT where a load would fault.
 */
void publish_file_put_memory(struct publish_file *file, uintptr_t address, size_t count);

/* Write the buffered bytes. Returns 0, or -errno of this write or of an earlier one. */
int publish_file_flush(struct publish_file *file);

#endif
