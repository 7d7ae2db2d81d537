/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information for code that has none, or none that can be searched: Go's pclntab becomes
 * .eh_frame, and what has no search table gets one. So the unwinding core knows of neither.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_CFI_TABLE_H
#define CLI_OUTSIDE_CFI_TABLE_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/*
 * A search table for information that came without one.
 * Copy @bytes of .eh_frame at @frames, which belongs at ELF virtual address @vaddr, and put a table
 * behind them as .eh_frame_hdr has it. Records that are broken end the list.
 *
 *   vaddr                vaddr + bytes, rounded up
 *   +--------------------+--------------------------+
 *   | .eh_frame          | .eh_frame_hdr            |
 *   +--------------------+--------------------------+
 *
 * Returns 0 with the owned copy in *@copy, its size in *@copy_bytes and the header's virtual
 * address in *@header; -ENOENT when it describes no code; or -ENOMEM.
 */
int cfi_table_make(const char *frames, uint64_t bytes, uint64_t vaddr, char **copy,
	uint64_t *copy_bytes, uint64_t *header);

/*
 * Make .eh_frame, of what the runtime knows itself, for the functions in @file's Go table, to be at
 * ELF virtual address @vaddr, which is at most 2 GiB from them.
 * Returns 0 with an owned buffer in *@frames and its size in *@bytes; -ENOENT when @file has no
 * such table; or -ENOMEM.
 */
int go_cfi_make(const struct elf_file *file, uint64_t vaddr, char **frames, uint64_t *bytes);

#endif
