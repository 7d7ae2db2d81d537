/* SPDX-License-Identifier: MIT */
/*
 * A search table for call-frame information that came without one: static programs are linked
 * without .eh_frame_hdr.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_CFI_TABLE_H
#define CLI_OUTSIDE_CFI_TABLE_H

#include <stdint.h>

/*
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

#endif
