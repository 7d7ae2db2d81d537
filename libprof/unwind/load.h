/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads inside known bounds; anything else is the includer's reader. */
/*
 * Read one word of the unwound thread's memory. Before it includes this file, an includer defines:
 *
 *   static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
 *       Read one word outside of the known stack bounds, at an address that may be invalid.
 *       Returns 0 or -EFAULT; writes *value only on success. Must be signal-safe if the walk is.
 */
#ifndef LIBPROF_UNWIND_LOAD_H
#define LIBPROF_UNWIND_LOAD_H

#include <errno.h>
#include <stdint.h>

#include "libprof/unwind/cfi.h"
#include "libprof/unwind/unwind.h"

#ifndef UNWIND_READ
static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value);
#endif

struct unwind_memory {
	struct unwind_bounds bounds;
	void *context; /* for UNWIND_READ; borrowed */
};

/* Read the word at @address, by a plain load if it is within the bounds. Returns 0 or -EFAULT. */
CFI_READS_ANYTHING static inline int unwind_load(
	const struct unwind_memory *memory, uintptr_t address, uintptr_t *value)
{
	const struct unwind_bounds *bounds = &memory->bounds;

	/*
	 * In an empty or reversed range the first comparisons fail, so the subtraction never wraps.
	 */
	if (address >= bounds->lo && address < bounds->hi &&
		bounds->hi - address >= sizeof(uintptr_t)) {
		*value = ((const union cfi_number *)address)->u64;
		return 0;
	}
	return UNWIND_READ(memory->context, address, value);
}

#endif
