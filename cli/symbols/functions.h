/* SPDX-License-Identifier: MIT */
/*
 * Find where functions begin and end by the call-frame information in .eh_frame, which stripped
 * files keep. This information has no names, but all samples of an unnamed function get one start
 * address.
 *
 * Context: one thread, because functions_parse() uses a static variable.
 */
#ifndef CLI_SYMBOLS_FUNCTIONS_H
#define CLI_SYMBOLS_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"

struct functions_extent {
	uint64_t start, end; /* ELF virtual addresses */
	uint64_t record;     /* ELF virtual address of the FDE */
};

struct functions {
	struct functions_extent *extents; /* owned; sorted by start */
	size_t count, room;
};

/*
 * Read the extents of functions from the @bytes bytes at @frames (borrowed): the contents of
 * .eh_frame, whose ELF virtual address is @vaddr. Reading ends at the first record that is broken.
 * Returns 0 with an owned object in *@out, or -ENOMEM.
 */
int functions_parse(
	struct functions **out, const char *frames, uint64_t bytes, uint64_t vaddr);

/*
 * Read the extents of functions from .eh_frame of @file (borrowed). A missing section gives an
 * empty list. Source: LSB Core, "Exception Frames".
 * Returns 0 with an owned object in *@out, or -ENOMEM.
 */
int functions_read(struct functions **out, const struct elf_file *file);
void functions_free(struct functions *functions); /* NULL is fine */

/* Set *@start to the start of the function that covers @address. Returns 0 or -ENOENT. */
int functions_find(const struct functions *functions, uint64_t address, uint64_t *start);

/*
 * Return the end of the function that covers @address. If no function covers it, return the start
 * of the next function, or UINT64_MAX if there is none.
 */
uint64_t functions_end(const struct functions *functions, uint64_t address);

#endif
