/* SPDX-License-Identifier: MIT */
/*
 * Call-frame information as other tools want it: that of a region written anew, with pointers they
 * can follow and nothing but what unwinding needs.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_CFI_H
#define LIBPROF_TRAMPOLINE_PUBLISH_CFI_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/trampoline/region.h"

/* ---- bytes ----------------------------------------------------------------------------------- */
/* Bytes that grow: what images for other tools are put together in. Context: not in a handler. */

/* All zero: empty. The memory is the owner's: free(data). */
struct publish_bytes {
	uint8_t *data;
	size_t used;
	size_t room;
	int error; /* -ENOMEM once there was none; what is put is dropped then */
};

/* Returns where @count new bytes of zero begin; NULL for none, or with bytes->error set. */
static inline void *publish_bytes_extend(struct publish_bytes *bytes, size_t count)
{
	if (bytes->error || !count)
		return NULL;
	if (count > bytes->room - bytes->used) {
		size_t room = (bytes->used + count) * 2;
		uint8_t *data = realloc(bytes->data, room);

		if (!data) {
			bytes->error = -ENOMEM;
			return NULL;
		}
		bytes->data = data;
		bytes->room = room;
	}

	void *begin = bytes->data + bytes->used;

	memset(begin, 0, count);
	bytes->used += count;
	return begin;
}

static inline void publish_bytes_put(struct publish_bytes *bytes, const void *from, size_t count)
{
	void *to = publish_bytes_extend(bytes, count);

	if (to)
		memcpy(to, from, count);
}

static inline void publish_bytes_u8(struct publish_bytes *bytes, uint8_t value)
{
	publish_bytes_put(bytes, &value, sizeof(value));
}

static inline void publish_bytes_u32(struct publish_bytes *bytes, uint32_t value)
{
	publish_bytes_put(bytes, &value, sizeof(value));
}

static inline void publish_bytes_u64(struct publish_bytes *bytes, uint64_t value)
{
	publish_bytes_put(bytes, &value, sizeof(value));
}

/* Zeros up to a multiple of @unit, a power of two. */
static inline void publish_bytes_align(struct publish_bytes *bytes, size_t unit)
{
	publish_bytes_extend(bytes, -bytes->used & (unit - 1));
}

/* ---- call-frame information ------------------------------------------------------------------ */

struct cfi_fde;

/*
 * Append CIEs and FDEs of @region that say something of [@lo, @hi), without an end mark.
 * Personalities and language-specific data are left out.
 *
 * @address  0: first pcs become absolute addresses of eight bytes; else where the byte that is
 *           appended next will lie: they become distances of four
 *
 * Returns 0, -ENOENT when there are none, -ERANGE for a distance of more than four bytes, -EBADMSG
 * or -ENOTSUP for information that is not understood, -ENOMEM. Appended bytes are of no use after
 * an error.
 */
int publish_cfi_write(struct publish_bytes *out, const struct region *region, uintptr_t lo,
	uintptr_t hi, uintptr_t address);

/*
 * Call @visit for each FDE of @region, in the order of the section, until it returns other than 0.
 * Returns that, 0 at the end, -EBADMSG or -ENOTSUP. Context: any.
 */
int publish_cfi_each(const struct region *region,
	int (*visit)(void *context, const struct cfi_fde *fde), void *context);

#endif
