/* SPDX-License-Identifier: MIT */
/*
 * Intercept stubs, one for each original, name and number of stack words, for the life of the
 * process (intercept_known.h). A stub is made with no lock held, and one of two that were made for
 * the same at the same time is freed again before anybody knows it.
 */
#include "libprof/trampoline/intercept.h"

#include <errno.h>
#include <string.h>

#include "arch/intercept.h"
#include "libprof/interrupt/ticks.h"
#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/elsewhere.h"
#include "libprof/trampoline/fork.h"
#include "libprof/trampoline/intercept_known.h"
#include "libprof/trampoline/region.h"

#define WORDS_MAX 64u

/*
 * How many arenas there may be for functions that are far from each other. CPUs predict a call and
 * its return within 4 GiB better (chunk.c), and a builtin and the program may be in two libraries.
 */
#define FAR_MAX	  16u
#define FAR_SHIFT 32

static struct flameprof_arena *arenas; /* atomic; by next_intercept; they stay */
static uint32_t status; /* atomic: enum flameprof_stub_status, of the last try to make a stub */

void intercept_prepare(struct arch_stub_shape *shape)
{
	arch_intercept_prepare();
	shape->ticks_at = interrupt_ticks_offset();
}

static int is_near(const struct flameprof_arena *arena, flameprof_function *original)
{
	return (uintptr_t)arena->near >> FAR_SHIFT == (uintptr_t)original >> FAR_SHIFT;
}

/* An arena for so many words, near @original if there are not too many; NULL: there is none. */
static struct flameprof_arena *find_arena(uint32_t words, flameprof_function *original)
{
	struct flameprof_arena *arena = __atomic_load_n(&arenas, __ATOMIC_ACQUIRE);
	struct flameprof_arena *far = NULL;
	unsigned count = 0;

	for (; arena; arena = arena->next_intercept) {
		if (arena->shape.stack_words != words)
			continue;
		if (is_near(arena, original))
			return arena;
		far = arena;
		count++;
	}
	return count < FAR_MAX ? NULL : far;
}

/* Of two that are made at the same time both are used. */
static int arena_for(struct flameprof_arena **out, uint32_t words, flameprof_function *original)
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

static int make_new(flameprof_function **out, const struct intercept_wanted *wanted)
{
	struct flameprof_arena *arena;
	flameprof_function *stub, *first;
	int error = arena_for(&arena, wanted->stack_words, wanted->original);

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
	struct intercept_wanted wanted = intercept_wanted(
		original, name, signature ? signature->stack_words : 0);
	flameprof_function *stub;
	int error;

	if (!is_possible(signature))
		return -EINVAL;
	if (!original || intercept_find(original, &stub)) {
		*out = original;
		return 0;
	}
	trampoline_fork_register();
	stub = intercept_known_find(&wanted, &error);
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
	enum flameprof_stub_status now;

	if (elsewhere.flameprof_intercept_status)
		return elsewhere.flameprof_intercept_status();
	if (image_is_suspended())
		return FLAMEPROF_STUBS_SUSPENDED;
	now = __atomic_load_n(&status, __ATOMIC_RELAXED);
	return now == FLAMEPROF_STUBS_SUSPENDED ? FLAMEPROF_STUBS_WORK : now;
}
