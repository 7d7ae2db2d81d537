/* SPDX-License-Identifier: MIT */
/*
 * Files of modules, opened while their process runs. Later the file may be gone: it may lie in a
 * mount namespace that ends with its processes, be deleted when its program ends, or have no name
 * at all (memfd). An open descriptor prevents unmounting, which a program of the run may be about
 * to do. So descriptors are kept only on mounts that we use ourselves. A file elsewhere is copied
 * into memory if its path does not lead us to it.
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
 * already. At most 256 files are held, and at most a quarter of RLIMIT_NOFILE, or none if that
 * limit is below 64. When there is no more room, files that can be opened again by name are closed.
 * Files of up to 32 MiB are copied, 128 MiB in all.
 */
void held_files_add(struct held_files *held, uint64_t image, const struct symbols_module *module);

/*
 * The descriptor of @module's file, borrowed; 0 when it is not held or was written to since.
 * @held may be NULL.
 */
int held_files_find(
	const struct held_files *held, uint64_t image, const struct symbols_module *module);

/*
 * Note that the process of @image has a jitdump at @path, as that process sees it; borrowed for the
 * call.
 */
void held_files_add_dump(struct held_files *held, uint64_t image, const char *path);

/*
 * Open the perf map and the jitdump in which process @pid of @image describes its generated code.
 * To be called for each sample in such code, because the file may appear later, and a copy does not
 * grow with its original. Each file is checked every 100 ms at most, and at most 64 are held.
 */
void held_files_look(struct held_files *held, uint64_t image, uint32_t pid);

/*
 * The descriptor of @image's jitdump, or perf map, borrowed; 0 when it is not held, or when it was
 * last written before @not_before_s (seconds since the epoch). @held may be NULL.
 */
int held_files_find_map(
	const struct held_files *held, uint64_t image, bool is_dump, int64_t not_before_s);

#endif
