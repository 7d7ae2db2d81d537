/* SPDX-License-Identifier: MIT */
#include "libprof/trampoline/intercept_known.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/fnv.h"
#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/region.h"

#define LEAST_ROOM 64u

/* Open addressing; all that is known of a stub but its hash lies in its slot. */
struct known {
	uint64_t hash;
	flameprof_function *stub; /* NULL: nothing here */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* known, room, count */
static struct known *known;
static size_t room; /* a power of two, or 0; less than 3/4 of it is used */
static size_t count;

/* @name is hashed as far as stubs keep it. */
static uint64_t hash_of(flameprof_function *original, const char *name, uint32_t stack_words)
{
	uint64_t hash = FNV_BEGIN ^ (uintptr_t)original ^ (uint64_t)stack_words << 56;

	hash = fnv_text(hash * FNV_PRIME, name, FLAMEPROF_NAME_BYTES);
	return hash ^ hash >> 32;
}

struct intercept_wanted intercept_wanted(
	flameprof_function *original, const char *name, uint32_t words)
{
	struct intercept_wanted wanted = {original, name && *name ? name : ARENA_NO_NAME, words, 0};

	wanted.hash = hash_of(original, wanted.name, words);
	return wanted;
}

static uint32_t words_of(const struct region *region)
{
	return ((const struct chunk *)region->owner)->arena->shape.stack_words;
}

/* Stubs of intercepts do not end while this is asked: what is read of one is its own. */
static int is_wanted(const struct known *entry, const struct intercept_wanted *wanted)
{
	struct region_stub stub;

	return entry->hash == wanted->hash &&
	       !region_find_stub((uintptr_t)entry->stub, &stub) &&
	       stub.payload == (uintptr_t)wanted->original &&
	       words_of(region_find((uintptr_t)entry->stub)) == wanted->stack_words &&
	       !strncmp(stub.name, wanted->name, FLAMEPROF_NAME_BYTES);
}

/* The place of what is @wanted, or an empty one. Context: lock held, room not 0. */
static struct known *place_of(const struct intercept_wanted *wanted)
{
	size_t at = wanted->hash & (room - 1);

	while (known[at].stub && !is_wanted(&known[at], wanted))
		at = (at + 1) & (room - 1);
	return &known[at];
}

/* Room for one more. Returns 0 or -ENOMEM. Context: lock held. */
static int make_room(void)
{
	size_t larger = room ? 2 * room : LEAST_ROOM;
	struct known *entries;

	if (4 * (count + 1) < 3 * room)
		return 0;
	entries = calloc(larger, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < room; i++) {
		size_t at = known[i].hash & (larger - 1);

		if (!known[i].stub)
			continue;
		while (entries[at].stub)
			at = (at + 1) & (larger - 1);
		entries[at] = known[i];
	}
	free(known);
	known = entries;
	room = larger;
	return 0;
}

flameprof_function *intercept_known_find(const struct intercept_wanted *wanted, int *error)
{
	flameprof_function *stub = NULL;

	pthread_mutex_lock(&lock);
	*error = make_room();
	if (room)
		stub = place_of(wanted)->stub;
	pthread_mutex_unlock(&lock);
	return stub;
}

flameprof_function *intercept_known_add(
	const struct intercept_wanted *wanted, flameprof_function *stub)
{
	struct known *place = NULL;

	pthread_mutex_lock(&lock);
	if (!make_room()) {
		place = place_of(wanted);
		if (!place->stub) {
			*place = (struct known){wanted->hash, stub};
			count++;
		}
		stub = place->stub;
	}
	pthread_mutex_unlock(&lock);
	return place ? stub : NULL;
}

void intercept_forget_all(void)
{
	pthread_mutex_lock(&lock);
	if (room)
		memset(known, 0, room * sizeof(*known));
	count = 0;
	pthread_mutex_unlock(&lock);
}

void intercept_remember(flameprof_function *stub, uint32_t stack_words)
{
	struct region_stub found;
	struct intercept_wanted wanted;

	if (region_find_stub((uintptr_t)stub, &found))
		return;
	wanted = intercept_wanted((flameprof_function *)found.payload, found.name, stack_words);
	intercept_known_add(&wanted, stub);
}

void intercept_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void intercept_fork_done(void)
{
	pthread_mutex_unlock(&lock);
}
