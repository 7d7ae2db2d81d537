/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: permanent_bytes() and permanent_copy() are for handlers. */
/*
 * Memory that a handler may still be reading when its owner writes something else into it: names of
 * stubs that end, tables of code that goes away. It is never unmapped; a block stays with its
 * owner, who writes over it as long as it is large enough. Each new block is twice as large as the
 * one it replaces, so that the blocks left behind are together no larger than the one in use.
 */
#ifndef LIBPROF_TRAMPOLINE_PERMANENT_H
#define LIBPROF_TRAMPOLINE_PERMANENT_H

#include <stddef.h>
#include <stdint.h>

struct permanent {
	uint32_t bytes; /* of data; never changes */
	uint32_t pad;
	char data[];
};

static inline struct permanent *permanent_of(const char *data)
{
	return (struct permanent *)(data - offsetof(struct permanent, data));
}

/*
 * At least @bytes (up to 1 GiB), 16-byte aligned, zeroed when new.
 *
 * @data  what permanent_reserve() gave before, or NULL; when it is too small it is left behind
 *
 * Returns the data, or NULL without memory: @data is what it was.
 * Context: any thread, not a handler; takes no lock but for each megabyte.
 */
char *permanent_reserve(char *data, size_t bytes);

/*
 * Write @text, cut at @limit bytes, over the data of *@data, with relaxed stores: handlers may
 * read. Returns 0, or -ENOMEM with *@data as it was. Context: as permanent_reserve().
 */
int permanent_set_text(char **data, const char *text, size_t limit);

/*
 * Copy the text in @data, which may change meanwhile, into @out, cut at @room - 1 bytes.
 * Returns bytes with the NUL. Context: signal-safe.
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

/* Bytes of the text in @data with its NUL, which may change meanwhile. Context: signal-safe. */
static inline uint32_t permanent_text_bytes(const char *data)
{
	uint32_t limit = permanent_of(data)->bytes;
	uint32_t n = 0;

	while (n + 1 < limit && __atomic_load_n(&data[n], __ATOMIC_RELAXED))
		n++;
	return n + 1;
}

/*
 * From now on no fork child finds our lock held by a thread that it does not have. To be called
 * before the lock is taken first, and before others watch for a lock that they hold around it.
 * Does its work once. Context: not a handler.
 */
void permanent_watch_forks(void);

#endif
