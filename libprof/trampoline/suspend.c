/* SPDX-License-Identifier: MIT */
/*
 * Suspend and resume all stubs, for hosts that save an image of the process. Suspending copies the
 * stubs' descriptions to plain memory and frees their code. Resuming makes new code. In between, no
 * address of the library's arenas is executable, and no tool knows such an address, so a copy of
 * the process's memory is a complete image.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/permanent.h"

/* Suspended stubs of one arena, in the order of their slots. */
struct arena_suspended {
	size_t count;
	struct suspended_stub {
		/* Points to the name, which is stored after the array. */
		const char *name;
		uintptr_t payload;
		flameprof_function *stub;
		/* The stub's address before it was suspended. Set when it is resumed. */
		flameprof_function *before;
	} stub[];
};

typedef int (*resume_visitor)(void *context, const struct flameprof_stub_record *stub,
	flameprof_function *before);

/*
 * Returns the first arena. The lock is not held while the list is used, because no other thread may
 * use arenas between suspend and resume.
 */
static struct flameprof_arena *all_arenas(void)
{
	struct flameprof_arena *first;

	arenas_lock(&first);
	arenas_unlock();
	return first;
}

/* Call @visit for each stub of @arena until it returns non-zero. Returns its last result. */
static int each_slot(struct flameprof_arena *arena,
	int (*visit)(void *context, const struct region_slot *slot, uintptr_t address),
	void *context)
{
	int error = 0;

	for (uint32_t i = 0; i < arena->chunks; i++) {
		struct chunk *chunk = arena->chunk[i];

		for (uint32_t k = 0; k < chunk->region.slots && !error; k++) {
			if (__atomic_load_n(&chunk->slot[k].space, __ATOMIC_ACQUIRE))
				error = visit(context, &chunk->slot[k],
					chunk->region.start + (uintptr_t)k * chunk->region.stride);
		}
	}
	return error;
}

struct sizes {
	size_t count;
	size_t name_bytes;
};

static int add_sizes(void *context, const struct region_slot *slot, uintptr_t address)
{
	struct sizes *sizes = context;

	(void)address;
	sizes->count++;
	sizes->name_bytes += permanent_text_bytes(slot->name);
	return 0;
}

struct saving {
	struct arena_suspended *list;
	char *names;
};

static int save_slot(void *context, const struct region_slot *slot, uintptr_t address)
{
	struct saving *saving = context;
	uint32_t name_bytes = permanent_text_bytes(slot->name);

	saving->list->stub[saving->list->count++] = (struct suspended_stub){
		.name = saving->names,
		.payload = slot->payload,
		.stub = (flameprof_function *)address,
	};
	saving->names += permanent_copy(slot->name, saving->names, name_bytes);
	return 0;
}

/* Save all stubs of @arena. Returns 0 or -ENOMEM. */
static int save_stubs(struct flameprof_arena *arena)
{
	struct sizes sizes = {0};
	struct saving saving;

	each_slot(arena, add_sizes, &sizes);
	saving.list = malloc(sizeof(*saving.list) + sizes.count * sizeof(saving.list->stub[0]) +
			     sizes.name_bytes);
	if (!saving.list)
		return -ENOMEM;
	saving.list->count = 0;
	saving.names = (char *)&saving.list->stub[sizes.count];
	each_slot(arena, save_slot, &saving);
	arena->suspended = saving.list;
	return 0;
}

static void free_saved(void)
{
	for (struct flameprof_arena *arena = all_arenas(); arena; arena = arena->next) {
		free(arena->suspended);
		arena->suspended = NULL;
	}
}

static struct flameprof_stub_record record_of(
	struct flameprof_arena *arena, const struct suspended_stub *stub)
{
	return (struct flameprof_stub_record){
		.arena = arena->kind == FLAMEPROF_CODE_INTERCEPT ? NULL : arena,
		.name = stub->name,
		.payload = stub->payload,
		.stub = stub->stub,
		.target = arena_plain(arena, stub->payload),
	};
}

int flameprof_arenas_suspend(
	int (*visit)(void *context, const struct flameprof_stub_record *stub), void *context)
{
	struct flameprof_arena *arena;
	int error = 0;

	if (other_copy.flameprof_arenas_suspend)
		return other_copy.flameprof_arenas_suspend(visit, context);
	if (arenas_are_suspended())
		return -EALREADY;
	for (arena = all_arenas(); arena && !error; arena = arena->next)
		error = save_stubs(arena);
	for (arena = all_arenas(); arena && !error; arena = arena->next) {
		for (size_t i = 0; i < arena->suspended->count && !error; i++) {
			struct flameprof_stub_record record =
				record_of(arena, &arena->suspended->stub[i]);

			error = visit ? visit(context, &record) : 0;
		}
	}
	if (error) {
		free_saved();
		return error;
	}
	arenas_suspend(1);
	for (arena = all_arenas(); arena; arena = arena->next) {
		arena_set_status(arena, FLAMEPROF_STUBS_SUSPENDED);
		arena_drop_chunks(arena);
	}
	for (arena = all_arenas(); arena; arena = arena->next)
		if (arena->owner)
			arena->owner->clear_known();
	return 0;
}

static void restore_stubs(struct flameprof_arena *arena)
{
	struct arena_suspended *list = arena->suspended;

	/*
	 * Prepare the shape again, because the CPU's features and the offset of the tick counter
	 * may differ in this process.
	 */
	if (arena->owner) {
		arena->owner->prepare(&arena->shape);
		arch_stub_prepare(&arena->shape, &arena->stub);
	}
	for (size_t i = 0; list && i < list->count; i++) {
		struct suspended_stub *stub = &list->stub[i];

		stub->before = stub->stub;
		stub->stub = flameprof_stub_new(arena, stub->name, stub->payload);
		if (arena->owner)
			arena->owner->restore_known(stub->stub, arena->shape.stack_words);
	}
}

static int visit_restored(struct flameprof_arena *arena, resume_visitor visit, void *context)
{
	struct arena_suspended *list = arena->suspended;
	int error = 0;

	for (size_t i = 0; list && i < list->count && !error; i++) {
		struct flameprof_stub_record record = record_of(arena, &list->stub[i]);

		error = visit(context, &record, list->stub[i].before);
	}
	return error;
}

int flameprof_arenas_resume(resume_visitor visit, void *context)
{
	int error = 0;

	if (other_copy.flameprof_arenas_resume)
		return other_copy.flameprof_arenas_resume(visit, context);
	if (!arenas_suspend(0))
		return -EALREADY;
	for (struct flameprof_arena *arena = all_arenas(); arena; arena = arena->next) {
		arena_set_status(arena, FLAMEPROF_STUBS_WORK);
		restore_stubs(arena);
	}
	for (struct flameprof_arena *arena = all_arenas(); visit && arena && !error;
		arena = arena->next)
		error = visit_restored(arena, visit, context);
	free_saved();
	return error;
}
