/* SPDX-License-Identifier: MIT */
/*
 * Files of the user's cache, by name: what was found out at some cost, for other runs. Nobody
 * misses them where they cannot be had. What is in them is for their readers to check.
 *
 * Context: one thread; other processes may read and write at the same time.
 */
#ifndef CLI_SYMBOLS_CACHE_FILE_H
#define CLI_SYMBOLS_CACHE_FILE_H

#include <sys/uio.h>

/* Of all of them; the oldest go. */
#define CACHE_FILE_ALL_BYTES (256u << 20)

/* Open the file called @name, which is young then. Returns an owned descriptor or -errno. */
int cache_file_open(const char *name);

/* Have the file called @name hold the @count @parts (borrowed), one behind the other. */
void cache_file_replace(const char *name, const struct iovec *parts, int count);

#endif
