/* SPDX-License-Identifier: MIT */
/*
 * Memory straight from the kernel, for what must leave the host's malloc alone: blocks, and arrays
 * that grow up to their owner's ceiling. Every mapped byte is counted.
 *
 * Context: any thread, not a handler; an account and its arrays belong to one thread at a time.
 */
#ifndef LIBPROF_PROFILE_PAGES_H
#define LIBPROF_PROFILE_PAGES_H

#include <stddef.h>
#include <stdint.h>

/* What one owner has, and the most it may have. */
struct pages_account {
	size_t limit_bytes;
	size_t used_bytes;
};

/* An array that grows. All zero is an empty one. */
struct pages {
	void *at; /* moves when the array grows */
	size_t bytes;
};

/*
 * @bytes of zeroes, owned by the caller, who gives the same number back to pages_free().
 * Returns NULL when the kernel has no memory.
 */
void *pages_new(size_t bytes);
void pages_free(void *at, size_t bytes); /* NULL is fine */

/*
 * Make @array at least @bytes long; what is new is zero. It grows by more than was asked for where
 * the account allows, so that appending costs little.
 * Returns 0, -ENOSPC at the ceiling, -ENOMEM. A failed call changed nothing.
 */
int pages_reserve(struct pages_account *account, struct pages *array, size_t bytes);

/* Give all of @array back; it is empty then. */
void pages_release(struct pages_account *account, struct pages *array);

/* How much memory a block or array of @bytes really takes. */
size_t pages_round(size_t bytes);

/* Atomic: bytes that all of this file's users have now. */
extern size_t pages_mapped_bytes __attribute__((visibility("hidden")));

/* For tests, atomic: the how-manieth request from now fails; 0 is none. */
extern uint32_t pages_fail_in __attribute__((visibility("hidden")));

#endif
