/* SPDX-License-Identifier: MIT */
/*
 * Call stubs of several shapes and stop after every instruction in the stub, in its target, and in
 * arch_intercept_slow(). Include this header in only one file of a test, which defines step() to
 * walk the stack.
 */
#ifndef TESTS_UNIT_STUB_STEPS_H
#define TESTS_UNIT_STUB_STEPS_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

#include "arch/stub.h"
#include "libprof/flameprof_vm.h"
#include "tests/unit/trap-flag.h"

/* only x86 lets user code set its trap flag */
#if defined(REG_EFL)
#define STEPS_WORK 1

enum step_place {
	STEP_OUTSIDE, /* in the caller or its other callees */
	STEP_IN_STUB,
	STEP_IN_TARGET,
	STEP_IN_SLOW, /* arch_intercept_slow() */
};

/* Called before each instruction with the interrupted registers. The test defines this function. */
static void step(enum step_place place, const ucontext_t *context);

static struct flameprof_arena *step_arena;
static struct flameprof_code_info step_stub;
/* at offset i: 1 if an instruction that begins at byte i of the stub was stepped over */
static uint8_t step_seen[512];
static unsigned steps_in_stub, steps_in_target, steps_in_slow;
/* The stub's return address and the stack pointer, read at the stub's entry. */
static uintptr_t step_return, step_sp;
/* The frame pointer at the stub's entry, which is still the caller's frame pointer. */
static uintptr_t step_fp;

static __attribute__((noinline)) uint64_t step_target(uint64_t a,
	uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h)
{
	volatile uint64_t sum = a + b;

	sum += c + d + e + f;
	return sum + g + h;
}

#define STEP_FRAMES 128

struct step_stack {
	unsigned frames;
	uintptr_t pc[STEP_FRAMES]; /* to look up, innermost first */
};

/* Frames outside the stub's caller, found by the unwinding core before the stub was called. */
static struct step_stack step_outer;
static int step_outer_known;
static unsigned step_complaints;

static void step_complain(const char *who, enum step_place place, const struct step_stack *stack)
{
	if (step_complaints++ > 5)
		return;
	fprintf(stderr, "%s, %s:", who, (const char *const[]){"", "stub", "target", "slow"}[place]);
	for (unsigned i = 0; i < stack->frames; i++)
		fprintf(stderr, " %#lx", (unsigned long)stack->pc[i]);
	fprintf(stderr, "; stub at %#lx\n", (unsigned long)step_stub.start);
}

/*
 * Returns whether @pc is in @function. Call-frame information gives the start of the function at
 * @pc.
 */
static int step_is_in(uintptr_t pc, const void *function)
{
	return _Unwind_FindEnclosingFunction((void *)(pc + 1)) == function;
}

/*
 * Returns whether the stack has all its frames: the target or arch_intercept_slow() if one of them
 * runs, then the stub, its caller, and all frames outside.
 */
static int step_is_whole(enum step_place place, const struct step_stack *stack)
{
	unsigned at = 0;

	if (place == STEP_IN_TARGET && !step_is_in(stack->pc[at++], step_target))
		return 0;
	if (place == STEP_IN_SLOW && !step_is_in(stack->pc[at++], arch_intercept_slow))
		return 0;
	if (stack->pc[at++] - step_stub.start >= step_stub.bytes)
		return 0;
	if (stack->pc[at++] != step_return - 1 || stack->frames != at + step_outer.frames)
		return 0;
	return !memcmp(&stack->pc[at], step_outer.pc, step_outer.frames * sizeof(step_outer.pc[0]));
}

/*
 * Save the frames outside the caller. During the call these frames do not change, only the caller's
 * pc does.
 */
static void step_remember_outer(const struct step_stack *stack)
{
	step_outer.frames = stack->frames - 1;
	memcpy(step_outer.pc, stack->pc + 1, step_outer.frames * sizeof(step_outer.pc[0]));
	step_outer_known = 1;
}

static void step_on_trap(int number, siginfo_t *info, void *argument)
{
	ucontext_t *context = argument;
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	enum step_place place = STEP_OUTSIDE;

	(void)number;
	(void)info;
	if (pc == step_return)
		step_return = 0;
	if (pc - step_stub.start < step_stub.bytes) {
		place = STEP_IN_STUB;
		step_seen[pc - step_stub.start] = 1;
		steps_in_stub++;
	} else if (step_return && step_is_in(pc, step_target)) {
		place = STEP_IN_TARGET;
		steps_in_target++;
	} else if (step_return && step_is_in(pc, arch_intercept_slow)) {
		place = STEP_IN_SLOW;
		steps_in_slow++;
	}
	if (pc == step_stub.start) {
		step_sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
		step_fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
		step_return = *(uintptr_t *)step_sp;
	}
	step(place, context);
}

enum step_kind {
	STEP_CALL = FLAMEPROF_STUB_CALL,
	STEP_BIND = FLAMEPROF_STUB_BIND,
	STEP_INTERCEPT,
	STEP_INTERCEPT_TICK, /* while a tick is due */
};

/* The shapes of stubs to step through, and the number of instructions of each stub. */
struct step_shape {
	enum step_kind kind;
	struct flameprof_signature signature;
	unsigned instructions;
};

static flameprof_function *step_new_stub(const struct step_shape *shape)
{
	flameprof_interrupt_ticks = shape->kind == STEP_INTERCEPT_TICK;
	if (shape->kind >= STEP_INTERCEPT)
		return flameprof_intercept(
			(flameprof_function *)step_target, "stepped", &shape->signature);
	if (flameprof_arena_new(&step_arena, (enum flameprof_stub_kind)shape->kind,
		    (flameprof_function *)step_target, &shape->signature))
		return NULL;
	return flameprof_stub_new(step_arena, "stepped", 1);
}

/*
 * Step through a call of a stub of this shape. Returns the number of different addresses in the
 * stub at which it stopped.
 */
static __attribute__((noinline)) unsigned steps_through(const struct step_shape *shape)
{
	struct sigaction action = {.sa_sigaction = step_on_trap, .sa_flags = SA_SIGINFO};
	uint64_t (*stub)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		uint64_t);
	unsigned met = 0;

	stub = (__typeof__(stub))step_new_stub(shape);
	if (flameprof_lookup((uintptr_t)stub, &step_stub))
		return 0;
	memset(step_seen, 0, sizeof(step_seen));
	steps_in_stub = steps_in_target = steps_in_slow = 0;
	sigaction(SIGTRAP, &action, NULL);
	trap_flag_set();
	stub(1, 2, 3, 4, 5, 6, 7, 8);
	trap_flag_clear();
	for (unsigned i = 0; i < sizeof(step_seen); i++)
		met += step_seen[i];
	return met;
}

static const struct step_shape step_shapes[] = {
	{STEP_CALL, {.stack_words = 0}, 8},
	{STEP_CALL, {.stack_words = 1}, 8},
	{STEP_CALL, {.stack_words = 2}, 10},
	{STEP_CALL, {.stack_words = 20}, 28},
	{STEP_BIND, {.stack_words = 0}, 14},
	{STEP_BIND, {.stack_words = 3, .integer_arguments = 9}, 16},
	{STEP_BIND, {.integer_arguments = 2, .memory_result = 1}, 10},
	{STEP_INTERCEPT, {.stack_words = 2}, 12},
	{STEP_INTERCEPT, {.stack_words = 20}, 30},
	{STEP_INTERCEPT_TICK, {.stack_words = 2}, 13},
	{STEP_INTERCEPT_TICK, {.stack_words = 20}, 31},
};

/*
 * fewest steps in arch_intercept_slow() for one tick; code for other CPUs' formats of saved
 * registers does not run
 */
#define STEP_SLOW_LEAST 50u

static inline int step_slow_is_whole(const struct step_shape *shape)
{
	if (shape->kind == STEP_INTERCEPT_TICK)
		return steps_in_slow >= STEP_SLOW_LEAST && !flameprof_interrupt_ticks;
	return !steps_in_slow;
}

#define STEP_SHAPES (sizeof(step_shapes) / sizeof(step_shapes[0]))

#endif
#endif
