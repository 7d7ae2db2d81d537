/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: relaxed atomic loads and stores, nobody waits. */
/*
 * A cache of compact rows by pc and module number. The handlers of all threads share the cache and
 * write it without locks. An entry has two words: the row, and a check that is computed from key
 * and row. If two writers, or a writer and a reader, mix words of two rows, the check matches no
 * key and the read is a miss. Module numbers are never reused, so rows of an unloaded module are
 * never found again.
 */
#ifndef LIBPROF_UNWIND_ROWCACHE_H
#define LIBPROF_UNWIND_ROWCACHE_H

#include <stdbool.h>
#include <stdint.h>

#define ROWCACHE_SET_BITS 12
#define ROWCACHE_SETS     (1u << ROWCACHE_SET_BITS)
#define ROWCACHE_WAYS     2u

struct rowcache_entry {
	uint64_t check; /* key ^ rowcache_mix(row) */
	uint64_t row;   /* 0: no row */
};

struct rowcache_set {
	struct rowcache_entry way[ROWCACHE_WAYS];
};

struct rowcache {
	struct rowcache_set set[ROWCACHE_SETS];
};

/* Mix every bit of the row into the whole check. Otherwise similar rows could have equal checks. */
static inline uint64_t rowcache_mix(uint64_t row)
{
	row = (row ^ row >> 32) * 0x9e3779b97f4a7c15ULL;
	return (row ^ row >> 29) * 0xbf58476d1ce4e5b9ULL;
}

/* Make a key from @pc, of which user space uses 48 bits, and the module number (not 0). */
static inline uint64_t rowcache_key(uintptr_t pc, uint32_t number)
{
	return (uint64_t)number << 48 | (pc & 0xffffffffffffULL);
}

static inline struct rowcache_set *rowcache_set(struct rowcache *cache, uint64_t key)
{
	return &cache->set[(key * 0x9e3779b97f4a7c15ULL) >> (64 - ROWCACHE_SET_BITS)];
}

/* Returns the row stored under @key, or 0. Context: signal-safe, any thread. */
static inline uint64_t rowcache_get(struct rowcache *cache, uint64_t key)
{
	struct rowcache_set *set = rowcache_set(cache, key);

	for (unsigned way = 0; way < ROWCACHE_WAYS; way++) {
		struct rowcache_entry *entry = &set->way[way];
		uint64_t row = __atomic_load_n(&entry->row, __ATOMIC_RELAXED);
		uint64_t check = __atomic_load_n(&entry->check, __ATOMIC_RELAXED);

		if (row && (check ^ rowcache_mix(row)) == key)
			return row;
	}
	return 0;
}

/*
 * Store @row (not 0) under @key in the first way of the key's set. The older entry moves to the
 * next way. The entry in the last way is lost. Context: signal-safe, any thread.
 */
static inline void rowcache_put(struct rowcache *cache, uint64_t key, uint64_t row)
{
	struct rowcache_set *set = rowcache_set(cache, key);
	uint64_t check = key ^ rowcache_mix(row);

	for (unsigned way = 0; way < ROWCACHE_WAYS; way++) {
		struct rowcache_entry *entry = &set->way[way];

		uint64_t old_row = __atomic_load_n(&entry->row, __ATOMIC_RELAXED);
		uint64_t old_check = __atomic_load_n(&entry->check, __ATOMIC_RELAXED);

		__atomic_store_n(&entry->row, row, __ATOMIC_RELAXED);
		__atomic_store_n(&entry->check, check, __ATOMIC_RELAXED);
		row = old_row;
		check = old_check;
	}
}

#endif
