/* SPDX-License-Identifier: MIT */
/*
 * Make and find intercept stubs: generated functions that call an original function (a builtin of
 * the host) and then check for ticks. There is one stub for each original, name and number of stack
 * words, for the life of the process. A stub is made without a lock. If two threads make the same
 * stub at once, one of the two is freed before its address is known outside.
 *
 * An intercept stub is a call stub (flameprof_stub.h) whose payload is the original function. After
 * the original returned, the stub reads the tick counter. If it is not 0, the stub calls the slow
 * half of the tick check, whose address all stubs of an arena share. The stub's frame stays on the
 * stack during this call, so unwinders and flameprof_lookup() name the builtin there. If no tick is
 * due, an intercept stub costs as much as a call stub. The stub's code contains the tick counter's
 * offset from the thread pointer and the registers to be saved, so both are determined again when
 * stubs are resumed.
 *
 * Intercept stubs are never freed, because a thread may be in the stub when the last pointer to it
 * is gone. No list of changed tables is kept, because stubs in tables are recognised by their
 * addresses.
 */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/stub.h"
#include "libprof/flameprof_vm.h"
#include "libprof/fnv.h"
#include "libprof/interrupt/interrupt.h"
#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/fork_lock.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/region.h"

/* ---- the table of stubs ---------------------------------------------------------------------- */
/*
 * A hash table finds the stub of an original function, name and number of stack words. An entry
 * holds only a hash and the stub's address, because the arena stores the key with the stub. Take no
 * other lock while holding the table's lock.
 */

/* The key of a stub. */
struct intercept_wanted {
	flameprof_function *original;
	const char *name; /* borrowed; ARENA_NO_NAME for NULL and "" */
	uint32_t stack_words;
	uint64_t hash;
};

#define LEAST_ROOM 64u

/* One entry of the hash table, which uses open addressing. */
struct known_stub {
	uint64_t hash;
	flameprof_function *stub; /* NULL: empty */
};

/* Protects the three variables below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_stub *known_stubs;
/* Number of entries, a power of two, or 0. Less than 3/4 of them are used. */
static size_t room;
static size_t count;

static FORK_LOCK(watch_forks, lock, (void)0)

	/* Hash the key of a stub, with the part of @name that the stub stores. */
	static uint64_t
	hash_of(flameprof_function *original, const char *name, uint32_t stack_words)
{
	uint64_t hash = FNV_BEGIN ^ (uintptr_t)original ^ (uint64_t)stack_words << 56;

	hash = fnv_text(hash * FNV_PRIME, name, FLAMEPROF_NAME_BYTES);
	return hash ^ hash >> 32;
}

static struct intercept_wanted intercept_wanted(
	flameprof_function *original, const char *name, uint32_t words)
{
	struct intercept_wanted wanted = {original, name && *name ? name : ARENA_NO_NAME, words, 0};

	wanted.hash = hash_of(original, wanted.name, words);
	return wanted;
}

static uint32_t names_of(const struct region *region)
{
	return ((const struct chunk *)region->owner)->arena->shape.stack_words;
}

/*
 * Returns 1 if @entry is the stub for @wanted. Intercept stubs are never freed, so the stub's name
 * and payload do not change while they are read.
 */
static int is_wanted(const struct known_stub *entry, const struct intercept_wanted *wanted)
{
	struct region_stub stub;

	return entry->hash == wanted->hash && !region_find_stub((uintptr_t)entry->stub, &stub) &&
	       stub.payload == (uintptr_t)wanted->original &&
	       names_of(region_find((uintptr_t)entry->stub)) == wanted->stack_words &&
	       !strncmp(stub.name, wanted->name, FLAMEPROF_NAME_BYTES);
}

/* Returns the entry for @wanted, or an empty entry. Context: lock is held, room is not 0. */
static struct known_stub *find_entry(const struct intercept_wanted *wanted)
{
	size_t at = wanted->hash & (room - 1);

	while (known_stubs[at].stub && !is_wanted(&known_stubs[at], wanted))
		at = (at + 1) & (room - 1);
	return &known_stubs[at];
}

/* Grow the hash table if one more entry needs it. Returns 0 or -ENOMEM. Context: lock is held. */
static int reserve_entry(void)
{
	size_t larger = room ? 2 * room : LEAST_ROOM;
	struct known_stub *entries;

	if (4 * (count + 1) < 3 * room)
		return 0;
	entries = calloc(larger, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < room; i++) {
		size_t at = known_stubs[i].hash & (larger - 1);

		if (!known_stubs[i].stub)
			continue;
		while (entries[at].stub)
			at = (at + 1) & (larger - 1);
		entries[at] = known_stubs[i];
	}
	free(known_stubs);
	known_stubs = entries;
	room = larger;
	return 0;
}

/*
 * Returns the stub for @wanted, or NULL. Sets *@error to 0, or to -ENOMEM if the table has no room
 * for another stub.
 */
static flameprof_function *intercept_known_find(const struct intercept_wanted *wanted, int *error)
{
	flameprof_function *stub = NULL;

	pthread_mutex_lock(&lock);
	*error = reserve_entry();
	if (room)
		stub = find_entry(wanted)->stub;
	pthread_mutex_unlock(&lock);
	return stub;
}

/*
 * Put @stub for @wanted into the hash table, unless another thread has done so. Returns the stub in
 * the table, or NULL without memory.
 */
static flameprof_function *intercept_known_add(
	const struct intercept_wanted *wanted, flameprof_function *stub)
{
	struct known_stub *entry = NULL;

	pthread_mutex_lock(&lock);
	if (!reserve_entry()) {
		entry = find_entry(wanted);
		if (!entry->stub) {
			*entry = (struct known_stub){wanted->hash, stub};
			count++;
		}
		stub = entry->stub;
	}
	pthread_mutex_unlock(&lock);
	return entry ? stub : NULL;
}

/*
 * suspend.c calls these two functions, while no thread makes stubs. intercept_clear_known() empties
 * the hash table. intercept_restore_known() adds @stub, which was made again, to the table. If
 * memory runs out, the stub is missing in the table, so another one is made when it is next asked
 * for.
 */
static void intercept_clear_known(void)
{
	pthread_mutex_lock(&lock);
	if (room)
		memset(known_stubs, 0, room * sizeof(*known_stubs));
	count = 0;
	pthread_mutex_unlock(&lock);
}

static void intercept_restore_known(flameprof_function *stub, uint32_t stack_words)
{
	struct region_stub found;
	struct intercept_wanted wanted;

	if (region_find_stub((uintptr_t)stub, &found))
		return;
	wanted = intercept_wanted((flameprof_function *)found.payload, found.name, stack_words);
	intercept_known_add(&wanted, stub);
}

/* ---- making them ----------------------------------------------------------------------------- */

#define WORDS_MAX 64u

/*
 * Maximum number of arenas whose stubs have the same number of stack words. There are several,
 * because a stub should be within 4 GiB of its original: CPUs predict such calls and returns better
 * (chunk.c), and the original may be in a library that is far from the program.
 */
#define FAR_MAX	  16u
#define FAR_SHIFT 32

/* Atomic: list of arenas, linked by next_intercept. They are never freed. */
static struct flameprof_arena *arenas;
/* Atomic: enum flameprof_stub_status of the last attempt to make a stub. */
static uint32_t status;

void intercept_prepare(struct arch_stub_shape *shape)
{
	arch_intercept_prepare(interrupt_take);
	shape->ticks_at = interrupt_ticks_offset();
}

static const struct arena_owner owner = {.clear_known = intercept_clear_known,
	.prepare = intercept_prepare,
	.restore_known = intercept_restore_known};

static int is_near(const struct flameprof_arena *arena, flameprof_function *original)
{
	return (uintptr_t)arena->near >> FAR_SHIFT == (uintptr_t)original >> FAR_SHIFT;
}

/*
 * Find an arena near @original whose stubs have @words stack words. If there is none, return NULL,
 * or a far arena if FAR_MAX arenas have @words stack words.
 */
static struct flameprof_arena *find_arena(uint32_t words, flameprof_function *original)
{
	struct flameprof_arena *arena = __atomic_load_n(&arenas, __ATOMIC_ACQUIRE);
	struct flameprof_arena *far = NULL;
	unsigned fitting = 0;

	for (; arena; arena = arena->next_intercept) {
		if (arena->shape.stack_words != words)
			continue;
		if (is_near(arena, original))
			return arena;
		far = arena;
		fitting++;
	}
	return fitting < FAR_MAX ? NULL : far;
}

/* Find or make an arena. If two threads make an arena at once, both arenas are used. */
static int get_arena(struct flameprof_arena **out, uint32_t words, flameprof_function *original)
{
	struct arch_stub_shape shape = {.stack_words = words, .intercept = 1};
	struct flameprof_arena *arena = find_arena(words, original);
	int error;

	if (!arena) {
		intercept_prepare(&shape);
		error = arena_new(&arena, FLAMEPROF_CODE_INTERCEPT, &shape,
			(flameprof_function *)arch_intercept_slow, original);
		if (error)
			return error;
		arena->owner = &owner;
		arena->next_intercept = __atomic_load_n(&arenas, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(&arenas, &arena->next_intercept, arena, 0,
			__ATOMIC_RELEASE, __ATOMIC_RELAXED))
			;
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

static int new_stub(flameprof_function **out, const struct intercept_wanted *wanted)
{
	struct flameprof_arena *arena;
	flameprof_function *stub, *first;
	int error = get_arena(&arena, wanted->stack_words, wanted->original);

	if (error)
		return error;
	stub = arena_new_stub(arena, wanted->name, (uintptr_t)wanted->original);
	if (!stub)
		return error_of(flameprof_arena_status(arena));
	first = intercept_known_add(wanted, stub);
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

static int is_valid_signature(const struct flameprof_signature *signature)
{
	static const struct flameprof_signature zero;

	return !signature ||
	       (signature->stack_words <= WORDS_MAX &&
		       !memcmp(signature->reserved, zero.reserved, sizeof(zero.reserved)));
}

int intercept_find(flameprof_function *function, flameprof_function **original)
{
	struct region_stub stub;

	if (region_find_stub((uintptr_t)function, &stub) || stub.kind != FLAMEPROF_CODE_INTERCEPT ||
		stub.start != (uintptr_t)function)
		return 0;
	*original = (flameprof_function *)stub.payload;
	return 1;
}

int intercept_make(flameprof_function **out, flameprof_function *original, const char *name,
	const struct flameprof_signature *signature)
{
	struct intercept_wanted wanted =
		intercept_wanted(original, name, signature ? signature->stack_words : 0);
	flameprof_function *stub;
	int error;

	if (!is_valid_signature(signature))
		return -EINVAL;
	if (!original || intercept_find(original, &stub)) {
		*out = original;
		return 0;
	}
	watch_forks();
	stub = intercept_known_find(&wanted, &error);
	if (stub)
		error = 0;
	else if (!error)
		error = new_stub(&stub, &wanted);
	set_status(error);
	if (!error)
		*out = stub;
	return error;
}

flameprof_function *flameprof_intercept(
	flameprof_function *original, const char *name, const struct flameprof_signature *signature)
{
	flameprof_function *stub;

	if (other_copy.flameprof_intercept)
		return other_copy.flameprof_intercept(original, name, signature);
	return intercept_make(&stub, original, name, signature) ? original : stub;
}

flameprof_function *flameprof_intercept_original(flameprof_function *function)
{
	flameprof_function *original;

	if (other_copy.flameprof_intercept_original)
		return other_copy.flameprof_intercept_original(function);
	return intercept_find(function, &original) ? original : function;
}

enum flameprof_stub_status flameprof_intercept_status(void)
{
	enum flameprof_stub_status now;

	if (other_copy.flameprof_intercept_status)
		return other_copy.flameprof_intercept_status();
	if (arenas_are_suspended())
		return FLAMEPROF_STUBS_SUSPENDED;
	now = __atomic_load_n(&status, __ATOMIC_RELAXED);
	return now == FLAMEPROF_STUBS_SUSPENDED ? FLAMEPROF_STUBS_WORK : now;
}
