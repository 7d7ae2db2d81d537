/* SPDX-License-Identifier: MIT */
/*
 * Making and freeing stubs. The code is there: a stub becomes one when its slot's `space` is set,
 * after everything else, and ends when that is 0. Whoever reads a slot meanwhile reads `space`
 * before and after (region_find_stub()).
 */
#include <errno.h>

#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/elsewhere.h"
#include "libprof/trampoline/lasting.h"
#include "libprof/trampoline/publish.h"
#include "libprof/trampoline/region.h"

static uintptr_t stub_address(const struct chunk *chunk, const struct region_slot *slot)
{
	return chunk->region.start + (uintptr_t)(slot - chunk->slot) * chunk->region.stride;
}

flameprof_function *arena_new_stub(
	struct flameprof_arena *arena, const char *name, uintptr_t payload)
{
	struct region_slot *slot;
	struct chunk *chunk;
	char *text;

	if (flameprof_arena_status(arena) == FLAMEPROF_STUBS_SUSPENDED)
		return NULL;
	slot = arena_take_slot(arena, &chunk);
	if (!slot)
		return NULL;
	text = (char *)slot->name;
	/* What is written from here on may not be seen before the end of the slot's last stub. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (lasting_set_text(&text, name && *name ? name : ARENA_NO_NAME, FLAMEPROF_NAME_BYTES)) {
		arena_give_slot(arena, chunk, slot);
		return NULL;
	}
	__atomic_store_n(&slot->name, text, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->payload, payload, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->published, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->space, region_space_new(chunk->region.stride), __ATOMIC_RELEASE);
	publish_add_slot(&chunk->region, (uint32_t)(slot - chunk->slot));
	return (flameprof_function *)stub_address(chunk, slot);
}

flameprof_function *flameprof_stub_new(
	struct flameprof_arena *arena, const char *name, uintptr_t payload)
{
	flameprof_function *stub;

	if (elsewhere.flameprof_stub_new)
		return elsewhere.flameprof_stub_new(arena, name, payload);
	stub = arena_new_stub(arena, name, payload);
	return stub ? stub : arena_plain(arena, payload);
}

/* The slot of the stub at @address, if it is one of @arena's. */
static struct region_slot *find_slot(
	struct flameprof_arena *arena, uintptr_t address, struct chunk **chunk)
{
	const struct region *region = region_find(address);
	uintptr_t offset;

	if (!region || region->kind == FLAMEPROF_CODE_HOST)
		return NULL;
	*chunk = region->owner;
	offset = address - region->start;
	if ((*chunk)->arena != arena || offset % region->stride)
		return NULL;
	return &(*chunk)->slot[offset / region->stride];
}

void flameprof_stub_free(struct flameprof_arena *arena, flameprof_function *stub)
{
	struct region_slot *slot;
	struct chunk *chunk;

	if (elsewhere.flameprof_stub_free) {
		elsewhere.flameprof_stub_free(arena, stub);
		return;
	}
	if (!stub || stub == arena->target)
		return;
	slot = find_slot(arena, (uintptr_t)stub, &chunk);
	/* Freed twice: one of them gives the slot back. */
	if (!slot || !__atomic_exchange_n(&slot->space, 0, __ATOMIC_ACQ_REL))
		return;
	publish_remove_slot(&chunk->region, (uint32_t)(slot - chunk->slot));
	arena_give_slot(arena, chunk, slot);
}
