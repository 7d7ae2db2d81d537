/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads inside known bounds; anything else is the includer's reader. */
/*
 * One word of the unwound thread's memory. The includer of unwind_core.h supplies, before it:
 *
 *   static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
 *       one word outside the known stack bounds, for an address that may be wrong.
 *       Returns 0 or -EFAULT; *value only written on success. Must be signal-safe where the
 *       walk is.
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
	void *context; /* the includer's, passed through */
};

CFI_READS_ANYTHING static inline int unwind_load(
	const struct unwind_memory *memory, uintptr_t address, uintptr_t *value)
{
	const struct unwind_bounds *bounds = &memory->bounds;

	/* Never wraps: bounds that could not hold a word fail the first comparison. */
	if (address >= bounds->lo && address < bounds->hi &&
		bounds->hi - address >= sizeof(uintptr_t)) {
		*value = ((const union cfi_number *)address)->u64;
		return 0;
	}
	return UNWIND_READ(memory->context, address, value);
}

#endif
