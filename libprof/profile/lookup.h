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

#include <stdint.h>

#include "libprof/profile/pages.h"

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
