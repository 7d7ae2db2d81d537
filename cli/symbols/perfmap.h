/* SPDX-License-Identifier: MIT */
/*
 * Read a perf map (/tmp/perf-PID.map): lines "START SIZE name", numbers in hex, of the code that a
 * JIT compiler generated. The input is untrusted.
 * Format: Linux tools/perf/Documentation/jit-interface.txt.
 *
 * V8 writes a line for each compiler tier of a function ("JS:~fib", "JS:^fib", "JS:*fib"). The tier
 * is cut off, so that a function is one frame: "fib /x.js:1:13". A function without a name is shown
 * as "(anonymous) /x.js:1:13", code outside functions as "(script) ...".
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_PERFMAP_H
#define CLI_SYMBOLS_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

struct perfmap;

/* Maximum number of bytes and lines that are read of one file. */
#define PERFMAP_MAX_BYTES (512u << 20)
#define PERFMAP_MAX_LINES (20u * 1000 * 1000)

/*
 * Read the map of process @pid in /tmp. regular_open_own() checks the file's owner and, by
 * @not_before_s (seconds since the epoch, 0: any age), its age. The file name contains the pid in
 * the process's own pid namespace; if there is no such file, @pid is tried. If lines overlap, the
 * later line wins; invalid lines and an incomplete last line are skipped.
 *
 * Returns 0 and an owned map in *@out; -ENOENT if there is none; -EPERM if the file is not trusted;
 * -ENOMEM; or -errno of reading.
 */
int perfmap_open(struct perfmap **out, uint32_t pid, int64_t not_before_s);

/*
 * Open the file that perfmap_open() reads. Write its path, as the process sees it, to @path
 * (PERFMAP_PATH_BYTES, or NULL). Returns an owned descriptor, or -errno as perfmap_open().
 */
#define PERFMAP_PATH_BYTES 64
int perfmap_open_file(uint32_t pid, int64_t not_before_s, char *path);

/* Read the map at @fd (borrowed). Returns as perfmap_open(). */
int perfmap_read(struct perfmap **out, int fd);

/*
 * Parse the @bytes bytes at @text (from malloc). Takes ownership of @text, also on failure.
 * Returns 0 and an owned map, or -ENOMEM.
 */
int perfmap_parse(struct perfmap **out, char *text, size_t bytes);

void perfmap_free(struct perfmap *map); /* NULL is fine */

/*
 * Remove the prefix of kind and tier, such as "JS:~", that V8 puts before a function's name. @name
 * is in the buffer that begins at @line. If only a source location follows the prefix, write
 * "(anonymous)" or "(script)" before it, if there is room in the buffer. Returns the start of the
 * name to show, or @name unchanged if it is not from V8.
 */
char *perfmap_strip_tier(char *line, char *name);

/* Return the name of the code at @address, or NULL. Valid until perfmap_free(). */
const char *perfmap_lookup(const struct perfmap *map, uint64_t address);

#endif
