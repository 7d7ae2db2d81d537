/* SPDX-License-Identifier: MIT */
/*
 * perf maps: "START SIZE name" lines in hex that JIT compilers leave in /tmp/perf-PID.map.
 * Format: Linux tools/perf/Documentation/jit-interface.txt. Untrusted input.
 *
 * V8 writes one line per tier of a function ("JS:~fib", "JS:^fib", "JS:*fib"); the tier is no
 * part of what a reader looks for, so it is taken off and the tiers are one frame: "fib
 * /x.js:1:13". A function without a name is "(anonymous) /x.js:1:13", code outside functions
 * "(script) ...".
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_PERFMAP_H
#define CLI_SYMBOLS_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct perfmap;

/* Of a larger file only this much is read, and no more lines. */
#define PERFMAP_MAX_BYTES (512u << 20)
#define PERFMAP_MAX_LINES (20u * 1000 * 1000)

/*
 * Read the map of process @pid from /tmp, through /proc/<pid>/root while that works. Its name
 * has the process's pid in its own pid namespace, as the kernel reports it, or else @pid. Only a
 * regular file that is not a link, owned by the process's or our own user, and not last written
 * before @not_before_s (seconds since the epoch, 0: any age) is read. On overlap the later line
 * wins; a torn last line and unparsable lines are skipped.
 *
 * Returns 0 and an owned map in *@out; -ENOENT when there is none; -EPERM when the file is not
 * trusted; -ENOMEM; or the errno of reading.
 */
int perfmap_open(struct perfmap **out, uint32_t pid, int64_t not_before_s);

/*
 * Open the perf map of process @pid. Write its path, as the process sees it, to @path, which has
 * room for PERFMAP_PATH_BYTES or is NULL. Returns a descriptor, owned, or -errno as perfmap_open().
 */
#define PERFMAP_PATH_BYTES 64
int perfmap_open_file(uint32_t pid, int64_t not_before_s, char *path);

/* Read the map open at @fd, borrowed. Returns as perfmap_open(). */
int perfmap_read(struct perfmap **out, int fd);

/*
 * The same of the file's @bytes bytes at @text (from malloc). Takes @text, also on failure.
 * Returns 0 and an owned map, or -ENOMEM.
 */
int perfmap_parse(struct perfmap **out, char *text, size_t bytes);

void perfmap_free(struct perfmap *map); /* NULL is fine */

/*
 * V8's "KIND:<tier>function where", in the text that begins at @line: returns where the name to
 * show begins. A label for what has no name of its own is written over the tier and what is before
 * it, back to @line.
 */
char *perfmap_strip_tier(char *line, char *name);

/* The name that covers @address, or NULL. Valid until perfmap_free(). */
const char *perfmap_lookup(const struct perfmap *map, uint64_t address);

#endif
