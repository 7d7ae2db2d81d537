/* SPDX-License-Identifier: MIT */
/*
 * Write a region's call-frame information again for other tools: with pointers that they can use,
 * and without data that unwinding does not need.
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
/*
 * A growing array of bytes, for files in memory that other tools read. Context: not in a handler.
 */

/* An array of bytes. All zero: empty. The owner frees `data` with free(). */
struct publish_bytes {
	uint8_t *data;
	size_t used;
	size_t room;
	/* -ENOMEM after a failed allocation. Bytes that are appended later are ignored. */
	int error;
};

/* Append @count zero bytes. Returns their address; NULL if @count is 0 or bytes->error is set. */
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

/* Append zeros up to a multiple of @unit, which is a power of two. */
static inline void publish_bytes_align(struct publish_bytes *bytes, size_t unit)
{
	publish_bytes_extend(bytes, -bytes->used & (unit - 1));
}

/* ---- call-frame information ------------------------------------------------------------------ */

struct cfi_fde;

/*
 * Append the CIEs and FDEs of @region that cover a part of [@lo, @hi), without an end mark.
 * Personality routines and language-specific data are omitted.
 *
 * @address  0: write pcs as absolute 8-byte addresses. Otherwise the address that the next appended
 *           byte will have: write pcs as 4-byte distances.
 *
 * Returns 0; -ENOENT if there are none; -ERANGE if a distance needs more than four bytes; -EBADMSG
 * or -ENOTSUP if the call-frame information is invalid or not supported; -ENOMEM. After an error
 * the appended bytes cannot be used.
 */
int publish_cfi_write(struct publish_bytes *out, const struct region *region, uintptr_t lo,
	uintptr_t hi, uintptr_t address);

/*
 * Call @visit for each FDE of @region, in the order of the section, until it returns a value other
 * than 0. Returns that value; 0 at the end; -EBADMSG or -ENOTSUP. Context: any.
 */
int publish_cfi_each(const struct region *region,
	int (*visit)(void *context, const struct cfi_fde *fde), void *context);

#endif
