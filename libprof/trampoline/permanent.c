/* SPDX-License-Identifier: MIT */
/*
 * Allocate permanent blocks by atomic addition from slabs. Slabs come from mmap(2) and not from
 * malloc(3): a leak checker in the program searches the heap for pointers, and would report the
 * names as leaks.
 */
#include "libprof/trampoline/permanent.h"
#include "libprof/trampoline/fork_lock.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define SLAB_BYTES  (1u << 20)
#define LEAST_BYTES 48u
#define LARGE_BYTES (SLAB_BYTES / 8)
#define MOST_BYTES  (1u << 30)

struct slab {
	/* Atomic. It may exceed SLAB_BYTES. */
	uint64_t used;
	uint64_t pad;
};

static struct slab *current; /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held to map a slab */

FORK_LOCK(permanent_watch_forks, lock, (void)0)

static void *map_pages(size_t bytes)
{
	void *memory = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void *cut_block(struct slab *slab, size_t bytes)
{
	uint64_t at;

	if (!slab)
		return NULL;
	at = __atomic_fetch_add(&slab->used, bytes, __ATOMIC_RELAXED);
	return at + bytes <= SLAB_BYTES ? (char *)slab + at : NULL;
}

static void *cut_from_new_slab(struct slab *full, size_t bytes)
{
	void *block = NULL;
	struct slab *next;

	pthread_mutex_lock(&lock);
	next = __atomic_load_n(&current, __ATOMIC_RELAXED);
	/* Check again: another thread may have mapped a slab before this thread got the lock. */
	if (next != full)
		block = cut_block(next, bytes);
	if (!block) {
		next = map_pages(SLAB_BYTES);
		if (next) {
			next->used = sizeof(*next);
			block = cut_block(next, bytes);
			__atomic_store_n(&current, next, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&lock);
	return block;
}

static size_t round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) & ~(to - 1);
}

char *permanent_reserve(char *data, size_t bytes)
{
	size_t old_bytes = data ? permanent_of(data)->bytes : 0;
	struct permanent *block;

	if (data && bytes <= old_bytes)
		return data;
	if (bytes > MOST_BYTES)
		return NULL;
	if (bytes < 2 * old_bytes)
		bytes = 2 * old_bytes;
	bytes += sizeof(*block);
	bytes = round_up(bytes < LEAST_BYTES ? LEAST_BYTES : bytes, 16);
	if (bytes > LARGE_BYTES) {
		block = map_pages(bytes);
	} else {
		struct slab *slab = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

		block = cut_block(slab, bytes);
		if (!block)
			block = cut_from_new_slab(slab, bytes);
	}
	if (!block)
		return NULL;
	block->bytes = (uint32_t)(bytes - sizeof(*block));
	return block->data;
}

int permanent_set_text(char **data, const char *text, size_t limit)
{
	size_t bytes = strnlen(text, limit);
	char *room = permanent_reserve(*data, bytes + 1);

	if (!room)
		return -ENOMEM;
	for (size_t i = 0; i < bytes; i++)
		__atomic_store_n(&room[i], text[i], __ATOMIC_RELAXED);
	__atomic_store_n(&room[bytes], '\0', __ATOMIC_RELAXED);
	*data = room;
	return 0;
}
