/* SPDX-License-Identifier: MIT */
/*
 * Intercept stubs, one for each original, name and number of stack words, for the life of the
 * process. The lock is a leaf: a stub is made without it, and one of two that were made for the
 * same at the same time is freed again before anybody knows it.
 */
#include "libprof/trampoline/intercept.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "arch/intercept.h"
#include "libprof/interrupt/ticks.h"
#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/elsewhere.h"
#include "libprof/trampoline/fork.h"
#include "libprof/trampoline/lasting.h"
#include "libprof/trampoline/region.h"

#define WORDS_MAX   64u
#define LEAST_ROOM  64u

/* Open addressing; all that is known of a stub but its hash lies in its slot. */
struct known {
	uint64_t hash;
	flameprof_function *stub; /* NULL: nothing here */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* known, room, count */
static struct known *known;
static size_t room; /* a power of two, or 0; less than 3/4 of it is used */
static size_t count;

static struct flameprof_arena *arenas[WORDS_MAX + 1]; /* atomic, by stack words; stay */
static uint32_t status; /* atomic: enum flameprof_stub_status, of the last try to make a stub */

/* What a stub is known by. */
struct wanted {
	flameprof_function *original;
	const char *name;
	uint32_t stack_words;
	uint64_t hash;
};

/* FNV-1a. @name is hashed as far as stubs keep it. */
static uint64_t hash_of(flameprof_function *original, const char *name, uint32_t stack_words)
{
	uint64_t hash = 0xcbf29ce484222325u ^ (uintptr_t)original ^ (uint64_t)stack_words << 56;

	hash *= 0x100000001b3u;
	for (size_t i = 0; name[i] && i < FLAMEPROF_NAME_BYTES; i++)
		hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3u;
	return hash ^ hash >> 32;
}

static struct wanted wanted_of(flameprof_function *original, const char *name, uint32_t words)
{
	struct wanted wanted = {original, name && *name ? name : ARENA_NO_NAME, words, 0};

	wanted.hash = hash_of(original, wanted.name, words);
	return wanted;
}

static uint32_t words_of(const struct region *region)
{
	return ((const struct chunk *)region->owner)->arena->shape.stack_words;
}

/* Stubs of intercepts do not end while this is asked: what is read of one is its own. */
static int is_wanted(const struct known *entry, const struct wanted *wanted)
{
	struct region_stub stub;

	return entry->hash == wanted->hash &&
	       !region_find_stub((uintptr_t)entry->stub, &stub) &&
	       stub.payload == (uintptr_t)wanted->original &&
	       words_of(region_find((uintptr_t)entry->stub)) == wanted->stack_words &&
	       !strncmp(stub.name, wanted->name, FLAMEPROF_NAME_BYTES);
}

/* The place of what is @wanted, or an empty one. Context: lock held, room not 0. */
static struct known *place_of(const struct wanted *wanted)
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

/* The stub that stands for what is @wanted; NULL: none does. Room for it, too: *@error. */
static flameprof_function *find_known(const struct wanted *wanted, int *error)
{
	flameprof_function *stub = NULL;

	pthread_mutex_lock(&lock);
	*error = make_room();
	if (room)
		stub = place_of(wanted)->stub;
	pthread_mutex_unlock(&lock);
	return stub;
}

/* @stub shall stand for what is @wanted, unless another does. Returns who does; NULL: no memory. */
static flameprof_function *add_known(const struct wanted *wanted, flameprof_function *stub)
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

void intercept_prepare(struct arch_stub_shape *shape)
{
	arch_intercept_prepare();
	shape->ticks_at = interrupt_ticks_offset();
}

/* The arena for so many words, the first time near @original. */
static int arena_for(struct flameprof_arena **out, uint32_t words, flameprof_function *original)
{
	struct arch_stub_shape shape = {.stack_words = words, .intercept = 1};
	struct flameprof_arena *arena = __atomic_load_n(&arenas[words], __ATOMIC_ACQUIRE);
	struct flameprof_arena *none = NULL;
	int error;

	if (!arena) {
		intercept_prepare(&shape);
		error = arena_new(&arena, FLAMEPROF_CODE_INTERCEPT, &shape,
			(flameprof_function *)arch_intercept_slow, original);
		if (error)
			return error;
		if (!__atomic_compare_exchange_n(&arenas[words], &none, arena, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			flameprof_arena_free(arena);
			arena = none;
		}
	}
	*out = arena;
	return 0;
}

static int error_of(enum flameprof_stub_status why)
{
	if (why == FLAMEPROF_STUBS_DENIED)
		return -EACCES;
	return why == FLAMEPROF_STUBS_SUSPENDED ? -EBUSY : -ENOMEM;
}

static int make_new(flameprof_function **out, const struct wanted *wanted)
{
	struct flameprof_arena *arena;
	flameprof_function *stub, *first;
	int error = arena_for(&arena, wanted->stack_words, wanted->original);

	if (error)
		return error;
	stub = arena_new_stub(arena, wanted->name, (uintptr_t)wanted->original);
	if (!stub)
		return error_of(flameprof_arena_status(arena));
	first = add_known(wanted, stub);
	if (first != stub)
		flameprof_stub_free(arena, stub);
	*out = first;
	return first ? 0 : -ENOMEM;
}

static void set_status(int error)
{
	enum flameprof_stub_status now = FLAMEPROF_STUBS_WORK;

	if (error == -EACCES || error == -ENOTSUP)
		now = FLAMEPROF_STUBS_DENIED;
	else if (error == -EBUSY)
		now = FLAMEPROF_STUBS_SUSPENDED;
	else if (error)
		now = FLAMEPROF_STUBS_NO_MEMORY;
	__atomic_store_n(&status, now, __ATOMIC_RELAXED);
}

static int is_possible(const struct flameprof_signature *signature)
{
	static const struct flameprof_signature zero;

	return !signature || (signature->stack_words <= WORDS_MAX &&
		!memcmp(signature->reserved, zero.reserved, sizeof(zero.reserved)));
}

int intercept_find(flameprof_function *function, flameprof_function **original)
{
	struct region_stub stub;

	if (region_find_stub((uintptr_t)function, &stub) ||
		stub.kind != FLAMEPROF_CODE_INTERCEPT || stub.start != (uintptr_t)function)
		return 0;
	*original = (flameprof_function *)stub.payload;
	return 1;
}

int intercept_make(flameprof_function **out, flameprof_function *original, const char *name,
	const struct flameprof_signature *signature)
{
	struct wanted wanted =
		wanted_of(original, name, signature ? signature->stack_words : 0);
	flameprof_function *stub;
	int error;

	if (!is_possible(signature))
		return -EINVAL;
	if (!original || intercept_find(original, &stub)) {
		*out = original;
		return 0;
	}
	trampoline_fork_register();
	stub = find_known(&wanted, &error);
	if (stub)
		error = 0;
	else if (!error)
		error = make_new(&stub, &wanted);
	set_status(error);
	if (!error)
		*out = stub;
	return error;
}

flameprof_function *flameprof_intercept(flameprof_function *original, const char *name,
	const struct flameprof_signature *signature)
{
	flameprof_function *stub;

	if (elsewhere.flameprof_intercept)
		return elsewhere.flameprof_intercept(original, name, signature);
	return intercept_make(&stub, original, name, signature) ? original : stub;
}

flameprof_function *flameprof_intercept_original(flameprof_function *function)
{
	flameprof_function *original;

	if (elsewhere.flameprof_intercept_original)
		return elsewhere.flameprof_intercept_original(function);
	return intercept_find(function, &original) ? original : function;
}

enum flameprof_stub_status flameprof_intercept_status(void)
{
	if (elsewhere.flameprof_intercept_status)
		return elsewhere.flameprof_intercept_status();
	return (enum flameprof_stub_status)__atomic_load_n(&status, __ATOMIC_RELAXED);
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
	struct wanted wanted;

	if (region_find_stub((uintptr_t)stub, &found))
		return;
	wanted = wanted_of((flameprof_function *)found.payload, found.name, stack_words);
	add_known(&wanted, stub);
}

void intercept_fork_prepare(void)
{
	pthread_mutex_lock(&lock);
}

void intercept_fork_done(void)
{
	pthread_mutex_unlock(&lock);
}
