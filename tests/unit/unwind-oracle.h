/* SPDX-License-Identifier: MIT */
/*
 * Compare the unwinding core with libunwind: both walk from the same ucontext and must find the
 * same frames. Only one file of a test may include this header.
 */
#ifndef TESTS_UNIT_UNWIND_ORACLE_H
#define TESTS_UNIT_UNWIND_ORACLE_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "libprof/unwind/memory.h"

#define ORACLE_FRAMES  256
#define ORACLE_MODULES 64

/* Modules are numbered in the order in which they are found, as the sampler numbers them. */
static const struct link_map *oracle_modules[ORACLE_MODULES];
static uintptr_t oracle_bias[ORACLE_MODULES];

static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	return unwind_window_read(context, address, value);
}

static inline int UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out)
{
	const struct link_map *map;
	int error = unwind_find_object(pc, out, &map);

	(void)context;
	for (unsigned i = 0; !error && i < ORACLE_MODULES; i++) {
		if (!oracle_modules[i]) {
			oracle_modules[i] = map;
			oracle_bias[i] = out->bias;
		}
		if (oracle_modules[i] == map) {
			out->number = i + 1;
			break;
		}
	}
	return error;
}

#include "libprof/unwind/unwind_core.h"

struct oracle_stack {
	unsigned frames;
	enum wire_end end;
	/* Addresses for symbol lookup, innermost first: a return address is stored less 1. */
	uintptr_t pc[ORACLE_FRAMES];
	bool by_fp[ORACLE_FRAMES];
};

/* Bounds of the calling thread's stack. Cached, because getting them is slow and takes locks. */
static __thread struct unwind_bounds oracle_bounds;

static inline void oracle_learn_bounds(void)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &bytes);
	pthread_attr_destroy(&attributes);
	oracle_bounds = (struct unwind_bounds){(uintptr_t)low, (uintptr_t)low + bytes};
}

static inline void oracle_walk_core(const ucontext_t *context, struct oracle_stack *stack)
{
	uint64_t frames[ORACLE_FRAMES];
	struct arch_registers registers;
	struct unwind_window window;

	arch_registers_from_ucontext(&registers, context);
	unwind_window_init(&window, getpid());

	struct unwind_result result =
		unwind_walk(&registers, &oracle_bounds, frames, ORACLE_FRAMES, &window);

	stack->frames = result.frames;
	stack->end = result.end;
	for (unsigned i = 0; i < result.frames; i++) {
		unsigned number = WIRE_FRAME_MODULE(frames[i]);

		stack->pc[i] = WIRE_FRAME_ADDRESS(frames[i]);
		stack->pc[i] += number ? oracle_bias[number - 1] : 0;
		stack->by_fp[i] = frames[i] & WIRE_FRAME_BY_FP;
	}
}

/*
 * Walk with libunwind. As unwind_walk() does, store the address of the call instead of the return
 * address. unw_is_signal_frame() is false for signal trampolines that libunwind left by call-frame
 * information, so recognize trampolines by their code.
 */
static inline void oracle_walk_libunwind(ucontext_t *context, struct oracle_stack *stack)
{
	unw_cursor_t cursor;
	bool exact = true;

	stack->frames = 0;
	unw_init_local2(&cursor, (unw_context_t *)context, UNW_INIT_SIGNAL_FRAME);
	do {
		unw_word_t pc = 0;

		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc < 4096)
			break;

		uint64_t code;

		memcpy(&code, (const void *)pc, sizeof(code));
		bool trampoline = code == ARCH_SIGRETURN_WORD;

		stack->pc[stack->frames++] = exact || trampoline ? pc : pc - 1;
		exact = trampoline;
	} while (stack->frames < ORACLE_FRAMES && unw_step(&cursor) > 0);
}

/* Return the index of the first frame in which @a and @b differ, or -1. */
static inline int oracle_difference(const struct oracle_stack *a, const struct oracle_stack *b)
{
	unsigned shared = a->frames < b->frames ? a->frames : b->frames;

	for (unsigned i = 0; i < shared; i++) {
		if (a->pc[i] != b->pc[i])
			return (int)i;
	}
	return a->frames == b->frames ? -1 : (int)shared;
}

static inline void oracle_print(const char *title, const struct oracle_stack *stack)
{
	fprintf(stderr, "%s: %u frames, end %d\n", title, stack->frames, stack->end);
	for (unsigned i = 0; i < stack->frames; i++) {
		struct unwind_module module = {0};
		const struct link_map *map = NULL;

		unwind_find_object(stack->pc[i], &module, &map);
		fprintf(stderr, "  %2u %#lx%s %s+%#lx\n", i, (unsigned long)stack->pc[i],
			stack->by_fp[i] ? " fp" : "", map ? map->l_name : "?",
			(unsigned long)(stack->pc[i] - module.bias));
	}
}

#endif
