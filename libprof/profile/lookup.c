/* SPDX-License-Identifier: MIT */
/*
 * Map memory from the kernel, and grow hash tables: a table gets twice the slots, and all entries
 * are inserted again.
 */
#include "libprof/profile/lookup.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory of its own ----------------------------------------------------------------------- */
/*
 * Arrays grow by mremap(2), because that moves page tables instead of bytes and needs no reserved
 * address space, which RLIMIT_AS and strict overcommit would charge to the host.
 */

/* An array grows by 1/8 of its size, if the account's limit allows that. */
#define GROWTH_DIVISOR 8

size_t pages_mapped_bytes;
uint32_t pages_fail_in;

size_t pages_round(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return bytes > SIZE_MAX - page ? SIZE_MAX - page + 1 : (bytes + page - 1) & ~(page - 1);
}

static int must_fail(void)
{
	return __atomic_load_n(&pages_fail_in, __ATOMIC_RELAXED) &&
		__atomic_sub_fetch(&pages_fail_in, 1, __ATOMIC_RELAXED) == 0;
}

/* Resize the mapping of @old bytes at @at (NULL: a new one). Returns its address or NULL. */
static void *map_pages(void *at, size_t old, size_t bytes)
{
	void *result;

	if (must_fail())
		return NULL;
	if (at)
		result = mremap(at, old, bytes, MREMAP_MAYMOVE);
	else
		result = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (result == MAP_FAILED)
		return NULL;
	__atomic_fetch_add(&pages_mapped_bytes, bytes - old, __ATOMIC_RELAXED);
	return result;
}

void *pages_new(size_t bytes)
{
	return map_pages(NULL, 0, pages_round(bytes));
}

void pages_free(void *at, size_t bytes)
{
	if (!at)
		return;
	munmap(at, pages_round(bytes));
	__atomic_fetch_sub(&pages_mapped_bytes, pages_round(bytes), __ATOMIC_RELAXED);
}

int pages_reserve(struct pages_account *account, struct pages *array, size_t bytes)
{
	size_t others, room, least, wanted;
	void *at;

	if (bytes <= array->bytes)
		return 0;
	others = account->used_bytes - array->bytes;
	room = account->limit_bytes > others ? account->limit_bytes - others : 0;
	least = pages_round(bytes);
	wanted = pages_round(array->bytes + array->bytes / GROWTH_DIVISOR);
	if (least > room)
		return -ENOSPC;
	if (wanted < least || wanted > room)
		wanted = least;
	at = map_pages(array->at, array->bytes, wanted);
	if (!at)
		return -ENOMEM;
	array->at = at;
	array->bytes = wanted;
	account->used_bytes = others + wanted;
	return 0;
}

void pages_release(struct pages_account *account, struct pages *array)
{
	pages_free(array->at, array->bytes);
	account->used_bytes -= array->bytes;
	*array = (struct pages){NULL, 0};
}

/* ---- the table ------------------------------------------------------------------------------- */

#define BITS_MIN 10

/*
 * A table grows when it has more entries than entries_before_growth(). If the memory limit forbids
 * growth, the table is filled up to entries_max().
 */
static uint64_t entries_before_growth(uint32_t bits)
{
	return bits ? (1ULL << bits) / 4 * 3 : 0;
}

static uint64_t entries_max(uint32_t bits)
{
	return bits ? (1ULL << bits) / 16 * 15 : 0;
}

/* Insert all entries into empty slots without comparing them, because all entries differ. */
static void insert_all(
	struct lookup *table, uint32_t count, lookup_hash_fn *hash, const void *owner)
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

static int grow_table(struct lookup *table, struct pages_account *account, uint32_t bits,
	lookup_hash_fn *hash, const void *owner)
{
	struct lookup larger = {.bits = bits};
	int error;

	if (bits > LOOKUP_BITS_MAX)
		return -ENOSPC;
	error = pages_reserve(account, &larger.slots, (size_t)4 << bits);
	if (error)
		return error;
	insert_all(&larger, table->count, hash, owner);
	pages_release(account, &table->slots);
	*table = larger;
	return 0;
}

int lookup_wants_growth(const struct lookup *table, uint32_t more)
{
	return (uint64_t)table->count + more > entries_before_growth(table->bits);
}

int lookup_has_room(const struct lookup *table, uint32_t more)
{
	return (uint64_t)table->count + more <= entries_max(table->bits);
}

int lookup_reserve(struct lookup *table, struct pages_account *account, uint32_t more,
	lookup_hash_fn *hash, const void *owner)
{
	uint64_t needed = (uint64_t)table->count + more;
	uint32_t bits = table->bits < BITS_MIN ? BITS_MIN : table->bits;
	int error;

	if (!lookup_wants_growth(table, more))
		return 0;
	while (needed > entries_before_growth(bits) && bits <= LOOKUP_BITS_MAX)
		bits++;
	error = grow_table(table, account, bits, hash, owner);
	return error && lookup_has_room(table, more) ? 0 : error;
}

void lookup_rebuild(struct lookup *table, uint32_t count, lookup_hash_fn *hash, const void *owner)
{
	if (!table->bits)
		return;
	memset(table->slots.at, 0, (size_t)4 << table->bits);
	insert_all(table, count, hash, owner);
}
