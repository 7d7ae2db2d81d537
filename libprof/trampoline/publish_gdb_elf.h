/* SPDX-License-Identifier: MIT */
/* The ELF file in memory that tells gdb of stubs: names and call-frame information. */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_GDB_ELF_H
#define LIBPROF_TRAMPOLINE_PUBLISH_GDB_ELF_H

#include "libprof/trampoline/publish_bytes.h"
#include "libprof/trampoline/region.h"

/* What one file tells of: neighbouring slots of a region, @count of them from @first on, at most 64. */
struct publish_gdb_part {
	const struct region *region;
	uint32_t first;
	uint32_t count;
	uint64_t named;		   /* bit i: slot first + i has a symbol */
	struct publish_bytes *cfi; /* of these slots; absolute addresses; may be empty */
};

/*
 * Write the file into @out, which is empty. Its addresses are final: out->data must stay in place.
 * Returns 0 or -ENOMEM.
 */
int publish_gdb_elf(struct publish_bytes *out, const struct publish_gdb_part *part);

#endif
