/* SPDX-License-Identifier: MIT */
/*
 * Mappings. Arrays grow by mremap(2): it moves page tables, not bytes, and needs no address space
 * reserved ahead, which RLIMIT_AS and strict overcommit would charge the host for.
 */
#include "libprof/profile/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* An array grows by this part of itself. */
#define GROWTH_DIVISOR 8

size_t pages_mapped_bytes;
uint32_t pages_fail_in;

size_t pages_round(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return bytes > SIZE_MAX - page ? SIZE_MAX - page + 1 : (bytes + page - 1) & ~(page - 1);
}

static int told_to_fail(void)
{
	return __atomic_load_n(&pages_fail_in, __ATOMIC_RELAXED) &&
		__atomic_sub_fetch(&pages_fail_in, 1, __ATOMIC_RELAXED) == 0;
}

/* @old bytes at @at, or nothing at NULL, become @bytes. Returns where, or NULL. */
static void *map(void *at, size_t old, size_t bytes)
{
	void *result;

	if (told_to_fail())
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
	return map(NULL, 0, pages_round(bytes));
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
	at = map(array->at, array->bytes, wanted);
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
