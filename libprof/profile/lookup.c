/* SPDX-License-Identifier: MIT */
/*
 * Growing a table: twice the slots, all entries put anew.
 */
#include "libprof/profile/lookup.h"

#include <errno.h>
#include <string.h>

#define BITS_MIN 10

/* Entries a table takes when it may grow, and when the ceiling does not let it. */
static uint64_t comfortable(uint32_t bits)
{
	return bits ? (1ULL << bits) / 4 * 3 : 0;
}

static uint64_t crowded(uint32_t bits)
{
	return bits ? (1ULL << bits) / 16 * 15 : 0;
}

/* Entries come in order of their numbers and differ, so the first empty slot is theirs. */
static void fill(struct lookup *table, uint32_t count, lookup_hash_fn *hash, const void *owner)
{
	const uint32_t *slots = table->slots.at;
	uint32_t mask = (1u << table->bits) - 1;

	table->count = 0;
	for (uint32_t number = 1; number <= count; number++) {
		struct lookup_probe probe = lookup_begin(table, hash(owner, number));

		while (slots[probe.at])
			probe.at = (probe.at + 1) & mask;
		lookup_put(table, &probe, number);
	}
}

static int grow(struct lookup *table, struct pages_account *account, uint32_t bits,
	lookup_hash_fn *hash, const void *owner)
{
	struct lookup larger = {.bits = bits};
	int error;

	if (bits > LOOKUP_BITS_MAX)
		return -ENOSPC;
	error = pages_reserve(account, &larger.slots, (size_t)4 << bits);
	if (error)
		return error;
	fill(&larger, table->count, hash, owner);
	pages_release(account, &table->slots);
	*table = larger;
	return 0;
}

int lookup_wants_growth(const struct lookup *table, uint32_t more)
{
	return (uint64_t)table->count + more > comfortable(table->bits);
}

int lookup_has_room(const struct lookup *table, uint32_t more)
{
	return (uint64_t)table->count + more <= crowded(table->bits);
}

int lookup_reserve(struct lookup *table, struct pages_account *account, uint32_t more,
	lookup_hash_fn *hash, const void *owner)
{
	uint64_t needed = (uint64_t)table->count + more;
	uint32_t bits = table->bits < BITS_MIN ? BITS_MIN : table->bits;
	int error;

	if (!lookup_wants_growth(table, more))
		return 0;
	while (needed > comfortable(bits) && bits <= LOOKUP_BITS_MAX)
		bits++;
	error = grow(table, account, bits, hash, owner);
	return error && lookup_has_room(table, more) ? 0 : error;
}

void lookup_rebuild(struct lookup *table, uint32_t count, lookup_hash_fn *hash, const void *owner)
{
	if (!table->bits)
		return;
	memset(table->slots.at, 0, (size_t)4 << table->bits);
	fill(table, count, hash, owner);
}
