/* SPDX-License-Identifier: MIT */
/* Bytes that grow: what images for other tools are put together in. Context: not in a handler. */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_BYTES_H
#define LIBPROF_TRAMPOLINE_PUBLISH_BYTES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

#endif
