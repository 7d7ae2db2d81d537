/* SPDX-License-Identifier: MIT */
/*
 * Hash table that finds an entry's number, from 1, by the entry's content. The entries themselves
 * are stored elsewhere. Open addressing, four bytes per slot. An entry's number needs only as many
 * bits as the table's size, so the other bits of a slot hold a part of the hash (the tag), and a
 * probe seldom visits a wrong entry:
 *
 *	hash  home slot (`bits`) | tag
 *	slot  tag (32 - bits)    | number (bits)          0: empty
 *
 *	for (probe = lookup_begin(table, hash); (number = lookup_next(table, &probe));)
 *		if (the entry `number` is the wanted one)
 *			return number;
 *	lookup_put(table, &probe, new number);
 *
 * Entries are never removed.
 */
#ifndef LIBPROF_PROFILE_LOOKUP_H
#define LIBPROF_PROFILE_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

/* ---- memory of its own ----------------------------------------------------------------------- */
/*
 * These functions map memory from the kernel, so that the host's malloc() is not used: blocks, and
 * arrays that grow up to their account's limit. Every mapped byte is counted.
 *
 * Context: any thread, not a handler; an account and its arrays belong to one thread at a time.
 */

/* Memory that an account's arrays use together, and its limit. */
struct pages_account {
	size_t limit_bytes;
	size_t used_bytes;
};

/* A growing array. All zero is an empty array. */
struct pages {
	void *at; /* address; changes on growth */
	size_t bytes;
};

/*
 * Returns @bytes bytes of zeroes, to be freed by pages_free() with the same size; NULL without
 * memory.
 */
void *pages_new(size_t bytes);
void pages_free(void *at, size_t bytes); /* NULL is allowed */

/*
 * Make @array at least @bytes long; new bytes are zero. Grows by more than needed if the account
 * allows, so that appending is cheap.
 * Returns 0, -ENOSPC at the limit, -ENOMEM. A failed call changes nothing.
 */
int pages_reserve(struct pages_account *account, struct pages *array, size_t bytes);

/* Free all memory of @array and make it empty. */
void pages_release(struct pages_account *account, struct pages *array);

/* Returns the memory that a block or array of @bytes takes, in whole pages. */
size_t pages_round(size_t bytes);

/* Atomic: bytes mapped by all users of this file. */
extern size_t pages_mapped_bytes __attribute__((visibility("hidden")));

/* For tests, atomic: make the N-th request from now fail; 0: none. */
extern uint32_t pages_fail_in __attribute__((visibility("hidden")));

/* ---- the table ------------------------------------------------------------------------------- */

#define LOOKUP_BITS_MAX 30

/* A hash table. All zero is an empty table. */
struct lookup {
	struct pages slots; /* uint32_t[1 << bits], none while bits is 0 */
	uint32_t bits;
	uint32_t count;
};

struct lookup_probe {
	uint32_t at;
	uint32_t tag;
};

/*
 * Returns the hash of @key. The multiplier is 2^64 / golden ratio, so that neighbouring keys get
 * very different upper halves.
 */
static inline uint32_t lookup_hash(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 32);
}

/*
 * Returns the hash of entry @number of @owner. When a table grows, this function is called for
 * entries 1, 2, 3 ... in this order.
 */
typedef uint32_t lookup_hash_fn(const void *owner, uint32_t number);

/* Returns 1 if lookup_reserve() would grow the table. */
int lookup_wants_growth(const struct lookup *table, uint32_t more);

/* Returns 1 if @more entries fit without growing, even if lookups become slower. */
int lookup_has_room(const struct lookup *table, uint32_t more);

/*
 * Make room for @more entries.
 * Returns 0, -ENOSPC at the account's limit or beyond 2^LOOKUP_BITS_MAX slots, -ENOMEM. A failed
 * call changes nothing.
 */
int lookup_reserve(struct lookup *table, struct pages_account *account, uint32_t more,
	lookup_hash_fn *hash, const void *owner);

/* Fill the table anew with the entries 1..@count, for which it has room. Cannot fail. */
void lookup_rebuild(struct lookup *table, uint32_t count, lookup_hash_fn *hash, const void *owner);

static inline struct lookup_probe lookup_begin(const struct lookup *table, uint32_t hash)
{
	if (!table->bits)
		return (struct lookup_probe){0, 0};
	return (struct lookup_probe){hash >> (32 - table->bits), hash << table->bits};
}

/* Prefetch the slot of @hash. The table must not be empty. */
static inline void lookup_prefetch(const struct lookup *table, uint32_t hash)
{
	__builtin_prefetch((const uint32_t *)table->slots.at + lookup_begin(table, hash).at);
}

/* Returns the probable first result of lookup_next(); 0: none. The table must not be empty. */
static inline uint32_t lookup_guess(const struct lookup *table, uint32_t hash)
{
	return ((const uint32_t *)table->slots.at)[lookup_begin(table, hash).at] &
		((1u << table->bits) - 1);
}

/*
 * Returns the number of the next entry with the same tag, or 0 if there is none. After 0,
 * lookup_put() may use @probe.
 */
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

/*
 * Store entry @number in the empty slot at which @probe ended. The caller has called
 * lookup_reserve().
 */
static inline void lookup_put(
	struct lookup *table, const struct lookup_probe *probe, uint32_t number)
{
	((uint32_t *)table->slots.at)[probe->at] = probe->tag | number;
	table->count++;
}

#endif
