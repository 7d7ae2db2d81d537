/* SPDX-License-Identifier: MIT */
/*
 * Files of modules, opened while their process lives: a file may lie in a mount namespace that goes
 * with its processes, be deleted when its program has ended, or have had no name at all (memfd).
 * A descriptor keeps a mount from being unmounted, which a program of the run may be about to do.
 * So descriptors are held on mounts that we are on ourselves; of a file elsewhere that its name
 * does not lead us to, a copy is made in memory.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_HELD_FILES_H
#define CLI_SYMBOLS_HELD_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/symbols/symbols.h"

struct held_files;

/* Returns an owned object, or NULL without memory. */
struct held_files *held_files_new(void);
void held_files_free(struct held_files *held); /* NULL is fine */

/*
 * Open the file of @module, borrowed for the call, of the program image @image, unless it is held
 * already. At most 256 files, and a quarter of the descriptors that we may have, are held; none if
 * those are fewer than 64. When there is no more room, files that their names still lead to are
 * closed. Files of up to 32 MiB are copied, 128 MiB in all.
 */
void held_files_add(struct held_files *held, uint64_t image, const struct symbols_module *module);

/*
 * The descriptor of @module's file, borrowed; 0 when it is not held or was written to since.
 * @held may be NULL.
 */
int held_files_find(
	const struct held_files *held, uint64_t image, const struct symbols_module *module);

/* The process of @image has a jitdump at @path, as it sees it; borrowed for the call. */
void held_files_add_dump(struct held_files *held, uint64_t image, const char *path);

/*
 * Open what process @pid of @image writes about the code that it makes, its perf map and jitdump.
 * To be called for each sample in such code: the file may come later, and a copy does not grow with
 * it. Each is looked at every 100 ms at most, and at most 64 are held.
 */
void held_files_look(struct held_files *held, uint64_t image, uint32_t pid);

/*
 * The descriptor of @image's jitdump, or perf map, borrowed; 0 when it is not held, or when it was
 * last written before @not_before_s (seconds since the epoch). @held may be NULL.
 */
int held_files_find_map(
	const struct held_files *held, uint64_t image, bool is_dump, int64_t not_before_s);

#endif
