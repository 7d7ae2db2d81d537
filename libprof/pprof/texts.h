/* SPDX-License-Identifier: MIT */
/*
 * Texts with numbers, counted from 0: equal ones have one. Memory is the kernel's, so that a
 * host's malloc() is left alone.
 */
#ifndef LIBPROF_PPROF_TEXTS_H
#define LIBPROF_PPROF_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/lookup.h"

/* All zero is an empty table. */
struct texts {
	struct pages_account account;
	struct pages bytes;  /* NUL-terminated each */
	struct pages starts; /* uint32_t by number: offset in bytes */
	uint32_t used;	     /* of bytes */
	uint32_t count;
	struct lookup lookup;
};

/*
 * The number of the text that is @head followed by @tail_bytes of @tail; copied when it is new.
 * Returns 0 and *@number; -ENOSPC beyond 4 GiB in all, -ENOMEM. A failed call changed nothing that
 * is seen.
 */
int texts_add(struct texts *texts, const char *head, const char *tail, size_t tail_bytes,
	uint32_t *number);

/* Valid until the next texts_add(). */
static inline char *texts_at(const struct texts *texts, uint32_t number)
{
	return (char *)texts->bytes.at + ((const uint32_t *)texts->starts.at)[number];
}

void texts_release(struct texts *texts);

#endif
