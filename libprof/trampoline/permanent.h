/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: permanent_bytes() and permanent_copy() are for handlers. */
/*
 * Memory that handlers may still read while its owner overwrites it: names of stubs that have
 * ended, tables of removed code. It is never unmapped. A block stays with its owner, which reuses
 * the block while it is large enough. A new block is at least twice as large as the old one, so all
 * abandoned blocks of an owner together are no larger than the block in use.
 */
#ifndef LIBPROF_TRAMPOLINE_PERMANENT_H
#define LIBPROF_TRAMPOLINE_PERMANENT_H

#include <stddef.h>
#include <stdint.h>

struct permanent {
	uint32_t bytes; /* of data; constant */
	uint32_t pad;
	char data[];
};

static inline struct permanent *permanent_of(const char *data)
{
	return (struct permanent *)(data - offsetof(struct permanent, data));
}

/*
 * Returns a block of at least @bytes (up to 1 GiB), 16-byte aligned, zeroed if it is new.
 *
 * @data  an earlier result of this function, or NULL. If this block is large enough, it is
 *        returned; otherwise it is abandoned.
 *
 * Returns NULL if there is no memory; @data stays valid then.
 * Context: any thread, not a handler. Takes a lock only once per megabyte.
 */
char *permanent_reserve(char *data, size_t bytes);

/*
 * Write @text, cut at @limit bytes, to *@data, which may be replaced by a larger block. Bytes are
 * stored atomically, because handlers may read them at the same time. Returns 0, or -ENOMEM with
 * *@data unchanged.
 * Context: any thread, not a handler.
 */
int permanent_set_text(char **data, const char *text, size_t limit);

/*
 * Copy the text in @data to @out, cut at @room - 1 bytes. The text may change during the copy.
 * Returns the number of bytes including the NUL. Context: signal-safe.
 */
static inline uint32_t permanent_copy(const char *data, char *out, uint32_t room)
{
	uint32_t limit = permanent_of(data)->bytes < room ? permanent_of(data)->bytes : room;
	uint32_t n = 0;

	for (; n + 1 < limit; n++) {
		char letter = __atomic_load_n(&data[n], __ATOMIC_RELAXED);

		if (!letter)
			break;
		out[n] = letter;
	}
	out[n] = '\0';
	return n + 1;
}

/* Returns the bytes, NUL included, of the text in @data. It may change. Context: signal-safe. */
static inline uint32_t permanent_text_bytes(const char *data)
{
	uint32_t limit = permanent_of(data)->bytes;
	uint32_t n = 0;

	while (n + 1 < limit && __atomic_load_n(&data[n], __ATOMIC_RELAXED))
		n++;
	return n + 1;
}

/* Hold this file's lock across every fork(): see region_watch_forks(). */
void permanent_watch_forks(void);

#endif
