/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information for Go programs, which have none, made of what Go's runtime knows
 * itself. Frame pointers alone lose the caller of every function that takes no stack, and those are
 * the small ones that inner loops are made of.
 */
#ifndef CLI_OUTSIDE_GO_CFI_H
#define CLI_OUTSIDE_GO_CFI_H

#include <stdint.h>

#include "cli/symbols/elfimage.h"

/*
 * Make .eh_frame for the functions in @image's Go table, to be at ELF virtual address @vaddr, which
 * is at most 2 GiB from them.
 * Returns 0 with an owned buffer in *@frames and its size in *@bytes; -ENOENT when @image has no
 * such table; or -ENOMEM.
 */
int go_cfi_make(
	const struct elfimage *image, uint64_t vaddr, char **frames, uint64_t *bytes);

#endif
