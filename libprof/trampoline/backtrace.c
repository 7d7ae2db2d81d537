/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: flameprof_backtrace() is for handlers, that of SIGSEGV among them. */
/*
 * flameprof_backtrace(): walk a stack without assumptions. The stack's bounds are not known, there
 * is no row cache, and the kernel reads every word of memory.
 */
#include <stddef.h>

#include "arch/stub.h"
#include "arch/syscall.h"
#include "libprof/flameprof_stub.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/region.h"
#include "libprof/unwind/memory.h"

/* Find the module or stub at @pc. Without a module number, frames are absolute addresses. */
static int find_module(uintptr_t pc, struct unwind_module *out)
{
	int error = unwind_find_object(pc, out, NULL);

	if (error)
		error = region_resolve(pc, 0, out);
	out->number = WIRE_MODULE_NONE;
	return error;
}

#define UNWIND_READ(context, address, value) unwind_window_read(context, address, value)
#define UNWIND_FIND_MODULE(context, pc, out) ((void)(context), find_module(pc, out))
#define UNWIND_ROWCACHE                      ((struct rowcache *)NULL)
#include "libprof/unwind/unwind_core.h"

/* Most frames that belong to functions of this file: flameprof_backtrace() and walk_here(). */
#define OWN_MAX 2u

_Static_assert(sizeof(struct flameprof_backtrace_frame) >= (1 + OWN_MAX) * sizeof(uint64_t),
	"the words of a walk fit where its frames will be");

/*
 * Convert @words to @frames. The words are in the memory of @frames. The loop goes from the last
 * frame to the first, so that each word is read before it is overwritten.
 */
static void fill_frames(
	const uint64_t *words, struct flameprof_backtrace_frame *frames, unsigned count)
{
	for (unsigned i = count; i-- > 0;) {
		uintptr_t pc = WIRE_FRAME_ADDRESS(words[i]);
		struct flameprof_backtrace_frame *frame = &frames[i];

		*frame = (struct flameprof_backtrace_frame){.pc = pc};
		frame->is_code = !flameprof_lookup(pc, &frame->code);
	}
}

/*
 * Returns how many of the innermost frames are functions of this file. The frame after them is
 * @caller's.
 */
static unsigned count_own(const uint64_t *words, unsigned count, uintptr_t caller)
{
	unsigned own = 0;

	while (own < count && own < OWN_MAX && WIRE_FRAME_ADDRESS(words[own]) != caller - 1)
		own++;
	return own;
}

static __attribute__((noinline)) unsigned walk_here(const void *ucontext,
	struct flameprof_backtrace_frame *frames, unsigned room, const void *caller)
{
	struct unwind_bounds unknown = {0, 0};
	struct arch_registers registers = {0};
	struct unwind_window window;
	uint64_t *words = (uint64_t *)frames;
	unsigned own = 0;
	unsigned count;

	if (!room || !frames)
		return 0;
	if (room > WIRE_MAX_DEPTH)
		room = WIRE_MAX_DEPTH;
	unwind_window_init(&window, (int)arch_syscall0(SYS_getpid));
	if (ucontext) {
		arch_registers_from_ucontext(&registers, ucontext);
		count = unwind_walk(&registers, &unknown, words, room, &window).frames;
	} else {
		arch_registers_here(&registers);
		count = unwind_walk(&registers, &unknown, words, room + OWN_MAX, &window).frames;
		own = count_own(words, count, arch_strip_pointer((uintptr_t)caller));
	}
	count -= own;
	if (count > room)
		count = room;
	fill_frames(words + own, frames, count);
	return count;
}

/*
 * If another copy of the library makes the backtrace, the result has this function as an extra
 * first frame, unless the compiler makes the call of the other copy a tail call: the other copy
 * then sees this function's caller as its own.
 */
unsigned flameprof_backtrace(
	const void *ucontext, struct flameprof_backtrace_frame *frames, unsigned room)
{
	if (other_copy.flameprof_backtrace)
		return other_copy.flameprof_backtrace(ucontext, frames, room);
	return walk_here(ucontext, frames, room, __builtin_return_address(0));
}
