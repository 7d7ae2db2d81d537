/* SPDX-License-Identifier: MIT */
/*
 * The unwinding core from outside. Call-frame information is read from the object's copy; what the
 * core knows of it are addresses in the target, so the copy of the module it is in at the moment is
 * kept at hand.
 */
#include "cli/outside/stackwalk.h"

#include <errno.h>
#include <stddef.h>

/* What start code has on the stack before it calls main, at most. */
#define START_BYTES 512u

/* The walk under way: UNWIND_CFI_POINTER has no context. */
static struct {
	struct stackwalk *walk;
	uintptr_t start, end; /* of the copy, as addresses in the target */
	const char *copy;
} current;

/*
 * Information lies in the copy, whole: the core has checked address and size against its bounds.
 * Anything else is code, a word of which is looked at to know a signal frame; what cannot be read
 * is none.
 */
static inline const void *walk_pointer(uintptr_t address)
{
	static uintptr_t word;

	if (address >= current.start && address < current.end)
		return current.copy + (address - current.start);
	if (memory_word(current.walk->memory, address, &word))
		word = 0;
	return &word;
}

#define UNWIND_CFI_POINTER(address) walk_pointer(address)

static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	struct stackwalk *walk = context;

	walk->last_read = address;
	return memory_word(walk->memory, address, value);
}

/* Code in no file was made by the program; code nobody has seen may have been loaded since. */
static bool is_news(const struct stackwalk *walk, uintptr_t pc)
{
	const struct mapping *mapping = maps_find(&walk->target->maps, pc);

	return !walk->is_remapped && (!mapping || !mapping->is_code);
}

int stackwalk_find(struct stackwalk *walk, uintptr_t pc, struct unwind_module *out,
	const struct object **object)
{
	int error = target_find(walk->target, walk->shared, pc, out, object);

	if (!error || !is_news(walk, pc))
		return error;
	walk->is_remapped = true;
	target_remap(walk->target, walk->shared);
	return target_find(walk->target, walk->shared, pc, out, object);
}

static inline int UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out)
{
	const struct object *object = NULL;
	int error = stackwalk_find(context, pc, out, &object);

	current.start = error ? 0 : out->cfi_start;
	current.end = error ? 0 : out->cfi_end;
	current.copy = error ? NULL : object->cfi;
	return error;
}

#include "libprof/unwind/unwind_core.h"

struct unwind_result stackwalk_run(
	struct stackwalk *walk, const struct arch_registers *registers, uint64_t *frames)
{
	const struct unwind_bounds none = {0, 0};
	uintptr_t top = walk->target->stack_top;
	struct unwind_result result;

	current.walk = walk;
	current.start = current.end = 0;
	result = unwind_walk(registers, &none, frames, WIRE_MAX_DEPTH, walk);
	/* musl has no information about the code that calls main. */
	if (result.end == WIRE_END_LOST && walk->last_read < top &&
		top - walk->last_read <= START_BYTES)
		result.end = WIRE_END_ROOT;
	return result;
}
