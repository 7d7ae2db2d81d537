/* SPDX-License-Identifier: MIT */
/*
 * A file that tools find by a name with this process's pid. It is opened so that no other user can
 * redirect the writes, and is written in batches.
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
	/* The -errno of the first failed write; nothing is written afterwards. */
	int error;
	/* Bytes that may be written before RLIMIT_FSIZE is read again. */
	size_t unlimited;
	size_t used;
	char buffer[16384];
};

enum publish_file_sharing {
	/*
	 * Other code in this process may append lines, too, so keep what this process has written.
	 */
	PUBLISH_FILE_SHARED,
	/* Only this library writes the file. */
	PUBLISH_FILE_OWN,
};

/*
 * Open or create the file for appending, readable by its owner only. Contents that an earlier
 * process with this pid has left are removed. A symbolic link, a special file, another user's file
 * and a file with several links are refused. With PUBLISH_FILE_OWN, a file that this process has
 * written is refused, too.
 *
 * @path  borrowed for the call
 *
 * Returns 0; -EEXIST if the file is refused; or -errno of the system. *@file is not open after an
 * error.
 */
int publish_file_open(
	struct publish_file *file, const char *path, enum publish_file_sharing sharing);

/* Write the buffered bytes and close the file. */
void publish_file_close(struct publish_file *file);

/* Close the file without writing: in a fork child, the buffered bytes belong to the parent. */
void publish_file_drop(struct publish_file *file);

/* Append bytes to the buffer, which is written when it is full, and by publish_file_flush(). */
void publish_file_put(struct publish_file *file, const void *bytes, size_t count);

/*
 * Append @count bytes at @address, which may be unreadable; unreadable pages become zeros. write(2)
 * reads the memory, because it returns -EFAULT where a load would raise SIGSEGV.
 */
void publish_file_put_memory(struct publish_file *file, uintptr_t address, size_t count);

/* Write the buffered bytes. Returns 0, or the -errno of this write or of an earlier one. */
int publish_file_flush(struct publish_file *file);

#endif
