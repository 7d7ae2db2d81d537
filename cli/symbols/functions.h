/* SPDX-License-Identifier: MIT */
/*
 * Where functions begin and end by their call-frame information, which stays in stripped files: it
 * gives no names, but keeps the samples of one unnamed function together.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_FUNCTIONS_H
#define CLI_SYMBOLS_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"

struct functions_extent {
	uint64_t start, end; /* ELF virtual addresses */
	uint64_t record;     /* and of what says so */
};

struct functions {
	struct functions_extent *extents; /* owned; sorted by start */
	size_t count, room;
};

/*
 * Read the extents in @bytes of .eh_frame at @frames (borrowed), which belongs at ELF virtual
 * address @vaddr. Records that are broken end the list.
 * Returns 0 with an owned object, or -ENOMEM.
 */
int functions_parse(
	struct functions **out, const char *frames, uint64_t bytes, uint64_t vaddr);

/*
 * Read the extents in .eh_frame of @file (borrowed). A missing or broken section gives what could
 * be read. Source: LSB Core, "Exception Frames".
 * Returns 0 with an owned object, or -ENOMEM.
 */
int functions_read(struct functions **out, const struct elf_file *file);
void functions_free(struct functions *functions); /* NULL is fine */

/* Returns 0 with the start of the function that covers @address in *@start, or -ENOENT. */
int functions_find(const struct functions *functions, uint64_t address, uint64_t *start);

/*
 * Where the function that covers @address ends; of code that none covers, where the next begins.
 * UINT64_MAX when there is none.
 */
uint64_t functions_end(const struct functions *functions, uint64_t address);

#endif
