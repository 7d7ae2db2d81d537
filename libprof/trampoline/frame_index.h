/* SPDX-License-Identifier: MIT */
/*
 * An .eh_frame_hdr for a piece of .eh_frame that came without one. The host's bytes are checked
 * here, once; later a handler follows the index without asking.
 */
#ifndef LIBPROF_TRAMPOLINE_FRAME_INDEX_H
#define LIBPROF_TRAMPOLINE_FRAME_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct frame_index {
	uintptr_t cfi_start, cfi_end; /* what the index and all it leads to lie in */
	uintptr_t eh_frame_hdr;
	size_t eh_frame_bytes; /* with the four zero bytes that end it */
};

/*
 * Index the FDEs at @eh_frame.
 *
 * @table  memory of lasting.h that is the caller's to reuse, or NULL; becomes the index's
 *
 * Returns 0; -EINVAL when the bytes are no .eh_frame or none of it is about [start, start + bytes);
 * -ENOMEM.
 */
int frame_index_make(struct frame_index *out, char **table, const void *eh_frame, uintptr_t start,
	size_t bytes);

#endif
