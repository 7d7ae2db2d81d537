/* SPDX-License-Identifier: MIT */
/*
 * From content to number: open addressing over entries that lie elsewhere, numbered from 1. Four
 * bytes per slot. The number of an entry fits in as many bits as the table's size has, so the rest
 * of the slot holds more of the hash, and a probe almost never looks at an entry in vain:
 *
 *	hash  home slot (`bits`) | tag
 *	slot  tag (32 - bits)    | number (bits)          0: empty
 *
 *	for (probe = lookup_begin(table, hash); (number = lookup_next(table, &probe));)
 *		if (the entry `number` is the one)
 *			return number;
 *	lookup_put(table, &probe, new number);
 *
 * Nothing is ever removed.
 */
#ifndef LIBPROF_PROFILE_LOOKUP_H
#define LIBPROF_PROFILE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

/* ---- memory of its own ----------------------------------------------------------------------- */
/*
 * Memory straight from the kernel, for what must leave the host's malloc alone: blocks, and arrays
 * that grow up to their owner's ceiling. Every mapped byte is counted.
 *
 * Context: any thread, not a handler; an account and its arrays belong to one thread at a time.
 */

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

/* ---- the table ------------------------------------------------------------------------------- */

#define LOOKUP_BITS_MAX 30

/* All zero is an empty table. */
struct lookup {
	struct pages slots; /* uint32_t[1 << bits], none while bits is 0 */
	uint32_t bits;
	uint32_t count;
};

struct lookup_probe {
	uint32_t at;
	uint32_t tag;
};

/* The multiplier is 2^64 / golden ratio: neighbouring keys land far apart in the upper half. */
static inline uint32_t lookup_hash(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32);
}

/* The hash of entry @number of @owner, asked for in rising order from 1 when the table grows. */
typedef uint32_t lookup_hash_fn(const void *owner, uint32_t number);

/* Would lookup_reserve() make the table grow? */
int lookup_wants_growth(const struct lookup *table, uint32_t more);

/* Do @more entries fit without growth, if not well? */
int lookup_has_room(const struct lookup *table, uint32_t more);

/*
 * Have room for @more entries.
 * Returns 0, -ENOSPC at the account's ceiling or beyond 2^LOOKUP_BITS_MAX slots, -ENOMEM. A failed
 * call changed nothing.
 */
int lookup_reserve(struct lookup *table, struct pages_account *account, uint32_t more,
	lookup_hash_fn *hash, const void *owner);

/* Hold the entries 1..@count again and no others; it has room for them. Cannot fail. */
void lookup_rebuild(struct lookup *table, uint32_t count, lookup_hash_fn *hash, const void *owner);

static inline struct lookup_probe lookup_begin(const struct lookup *table, uint32_t hash)
{
	if (!table->bits)
		return (struct lookup_probe){0, 0};
	return (struct lookup_probe){hash >> (32 - table->bits), hash << table->bits};
}

/* Have the slot of @hash in the cache when it is needed. The table is not empty. */
static inline void lookup_prefetch(const struct lookup *table, uint32_t hash)
{
	__builtin_prefetch((const uint32_t *)table->slots.at + lookup_begin(table, hash).at);
}

/* What lookup_next() would most likely give first; 0: nothing. The table is not empty. */
static inline uint32_t lookup_guess(const struct lookup *table, uint32_t hash)
{
	return ((const uint32_t *)table->slots.at)[lookup_begin(table, hash).at] &
		((1u << table->bits) - 1);
}

/* The next entry that may be the one; 0: there is none, and lookup_put() may put it here. */
static inline uint32_t lookup_next(const struct lookup *table, struct lookup_probe *probe)
{
	const uint32_t *slots = table->slots.at;
	uint32_t mask = (1u << table->bits) - 1;

	if (!table->bits)
		return 0;
	for (;;) {
		uint32_t slot = slots[probe->at];

		if (!slot)
			return 0;
		probe->at = (probe->at + 1) & mask;
		if ((slot & ~mask) == probe->tag)
			return slot & mask;
	}
}

/* Put entry @number where @probe ended. The caller has room from lookup_reserve(). */
static inline void lookup_put(
	struct lookup *table, const struct lookup_probe *probe, uint32_t number)
{
	((uint32_t *)table->slots.at)[probe->at] = probe->tag | number;
	table->count++;
}

#endif
