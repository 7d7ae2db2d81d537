/* SPDX-License-Identifier: MIT */
/*
 * Opening files that somebody else named, without ever waiting or disturbing what is there.
 *
 * Context: any thread.
 */
#ifndef CLI_SYMBOLS_REGULAR_H
#define CLI_SYMBOLS_REGULAR_H

#include <stdint.h>

/* In @flags: the last part of the path must not be a symbolic link (-ELOOP). */
#define REGULAR_NO_LINK 1u

/*
 * Open @path for reading if it is a regular file; a FIFO or device is not even touched. With @pid,
 * as that process sees it: an absolute path below its root, absolute links included; a relative one
 * from its working directory. 0: as we see it.
 * Returns an owned descriptor, -EINVAL when it is something else, or -errno.
 */
int regular_open(const char *path, uint32_t pid, unsigned flags);

#endif
