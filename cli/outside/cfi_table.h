/* SPDX-License-Identifier: MIT */
/*
 * Make call-frame information in the form that the unwinding core reads: an .eh_frame from Go's
 * pclntab, and an .eh_frame_hdr search table for an .eh_frame without one.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_CFI_TABLE_H
#define CLI_OUTSIDE_CFI_TABLE_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/*
 * Copy @bytes of .eh_frame at @frames, which belongs at ELF virtual address @vaddr, and append a
 * search table in the layout of .eh_frame_hdr. The table ends at the first broken record.
 *
 *   vaddr                vaddr + bytes, rounded up
 *   +--------------------+--------------------------+
 *   | .eh_frame          | .eh_frame_hdr            |
 *   +--------------------+--------------------------+
 *
 * Returns 0 with the owned copy in *@copy, its size in *@copy_bytes and the header's virtual
 * address in *@header; -ENOENT if it describes no code; or -ENOMEM.
 */
int cfi_table_make(const char *frames, uint64_t bytes, uint64_t vaddr, char **copy,
	uint64_t *copy_bytes, uint64_t *header);

/*
 * Make an .eh_frame from the stack sizes in the Go function table of @file. The .eh_frame is made
 * for ELF virtual address @vaddr, which must be at most 2 GiB from the functions. Returns 0 with an
 * owned buffer in *@frames and its size in *@bytes; -ENOENT if @file has no Go function table; or
 * -ENOMEM.
 */
int go_cfi_make(const struct elf_file *file, uint64_t vaddr, char **frames, uint64_t *bytes);

#endif
