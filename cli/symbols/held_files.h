/* SPDX-License-Identifier: MIT */
/*
 * Keep the files of modules open while their process runs, because later a file may be gone: its
 * mount namespace may end with its processes, its program may delete it at its end, or it may have
 * no name at all (memfd). But an open descriptor prevents unmounting, and the profiled program may
 * be about to unmount. So descriptors are kept only on mounts that flamerun uses itself. A file on
 * another mount is copied into memory unless flamerun can open it by its path later.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_HELD_FILES_H
#define CLI_SYMBOLS_HELD_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/symbols/symbols.h"

struct held_files;

/* Returns an owned, empty table, or NULL if out of memory. */
struct held_files *held_files_new(void);
void held_files_free(struct held_files *held); /* NULL is fine */

/*
 * Open and keep the file of @module (borrowed) of the process image @image, unless it is held
 * already. At most 256 files are held, and at most a quarter of RLIMIT_NOFILE, or none if that
 * limit is below 64. If the table is full, files that can be opened again by name are closed.
 * Copies are limited to files of 32 MiB, and to 128 MiB in all.
 */
void held_files_add(struct held_files *held, uint64_t image, const struct symbols_module *module);

/*
 * Return the descriptor of @module's file, borrowed; 0 if the file is not held or was written to
 * since it was opened.
 * @held may be NULL.
 */
int held_files_find(
	const struct held_files *held, uint64_t image, const struct symbols_module *module);

/* Record that the process of @image has a jitdump at @path (borrowed), in its own root. */
void held_files_add_dump(struct held_files *held, uint64_t image, const char *path);

/*
 * Open the perf map and the jitdump in which process @pid of @image describes its generated code.
 * Call this for each sample in generated code: a file may be created later, and a copy must be made
 * again when the file has grown. Each file is checked at most every 100 ms, and at most 64 files
 * are held.
 */
void held_files_open(struct held_files *held, uint64_t image, uint32_t pid);

/*
 * Return the descriptor of @image's jitdump (@is_dump) or perf map, borrowed; 0 if it is not held,
 * or was last written before @not_before_s (seconds since the epoch). @held may be NULL.
 */
int held_files_find_map(
	const struct held_files *held, uint64_t image, bool is_dump, int64_t not_before_s);

#endif
