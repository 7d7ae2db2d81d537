/* SPDX-License-Identifier: MIT */
/*
 * Calls through stubs of several shapes, stopped after every instruction: what the trap handler
 * sees of each. For tests that include it once, from one file, and walk the stack in step().
 */
#ifndef TESTS_UNIT_STUB_STEPS_H
#define TESTS_UNIT_STUB_STEPS_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "libprof/flameprof_stub.h"

#if defined(REG_EFL) /* the only trap flag user code can set itself is x86's */
#define STEPS_WORK 1

enum step_place {
	STEP_OUTSIDE, /* the caller, or what it calls besides */
	STEP_IN_STUB,
	STEP_IN_TARGET,
};

/* Supplied by the test: all registers are the interrupted code's. */
static void step(enum step_place place, const ucontext_t *context);

static struct flameprof_arena *step_arena;
static struct flameprof_code_info step_stub;
static uint8_t step_seen[512]; /* offsets of the stub's instructions that were met */
static unsigned steps_in_stub, steps_in_target;
/* Where the stub returns to, read when it is entered; and the stack pointer then. */
static uintptr_t step_return, step_sp;
/* The frame pointer at that moment, which is the caller's. */
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

/* What is above the stub's caller, as the core saw it before the call. */
static struct step_stack step_outer;
static int step_outer_known;
static unsigned step_complaints;

static void step_complain(const char *who, enum step_place place, const struct step_stack *stack)
{
	if (step_complaints++ > 5)
		return;
	fprintf(stderr, "%s, %s:", who, place == STEP_IN_STUB ? "stub" : "target");
	for (unsigned i = 0; i < stack->frames; i++)
		fprintf(stderr, " %#lx", (unsigned long)stack->pc[i]);
	fprintf(stderr, "; stub at %#lx\n", (unsigned long)step_stub.start);
}

/* [target,] stub, caller, and everything outside of it. */
static int step_is_whole(enum step_place place, const struct step_stack *stack)
{
	unsigned at = 0;

	if (place == STEP_IN_TARGET && stack->pc[at++] - (uintptr_t)step_target >= 512)
		return 0;
	if (stack->pc[at++] - step_stub.start >= step_stub.bytes)
		return 0;
	if (stack->pc[at++] != step_return - 1 || stack->frames != at + step_outer.frames)
		return 0;
	return !memcmp(&stack->pc[at], step_outer.pc, step_outer.frames * sizeof(step_outer.pc[0]));
}

/* Frames of the caller outwards are the same before the call; its own pc moves. */
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
	} else if (pc - (uintptr_t)step_target < 512 && step_return) {
		place = STEP_IN_TARGET;
		steps_in_target++;
	}
	if (pc == step_stub.start) {
		step_sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
		step_fp = (uintptr_t)context->uc_mcontext.gregs[REG_RBP];
		step_return = *(uintptr_t *)step_sp;
	}
	step(place, context);
}

static inline __attribute__((always_inline)) void step_begin(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* spare the red zone */
			 "pushfq\n\t"
			 "orq $0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 ::: "memory", "cc");
}

static inline __attribute__((always_inline)) void step_end(void)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "popfq\n\t"
			 "lea 128(%%rsp), %%rsp"
			 ::: "memory", "cc");
}

/* Go through one call of a stub of this shape; returns how many of its instructions were met. */
static __attribute__((noinline)) unsigned steps_through(
	enum flameprof_stub_kind kind, const struct flameprof_signature *signature)
{
	struct sigaction action = {.sa_sigaction = step_on_trap, .sa_flags = SA_SIGINFO};
	uint64_t (*stub)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
		uint64_t);
	unsigned met = 0;

	if (flameprof_arena_new(&step_arena, kind, (flameprof_function *)step_target, signature))
		return 0;
	stub = (__typeof__(stub))flameprof_stub_new(step_arena, "stepped", 1);
	flameprof_lookup((uintptr_t)stub, &step_stub);
	memset(step_seen, 0, sizeof(step_seen));
	steps_in_stub = steps_in_target = 0;
	sigaction(SIGTRAP, &action, NULL);
	step_begin();
	stub(1, 2, 3, 4, 5, 6, 7, 8);
	step_end();
	for (unsigned i = 0; i < sizeof(step_seen); i++)
		met += step_seen[i];
	return met;
}

/* Shapes, and how many instructions their stubs have. */
static const struct step_shape {
	enum flameprof_stub_kind kind;
	struct flameprof_signature signature;
	unsigned instructions;
} step_shapes[] = {
	{FLAMEPROF_STUB_CALL, {.stack_words = 0}, 8},
	{FLAMEPROF_STUB_CALL, {.stack_words = 1}, 8},
	{FLAMEPROF_STUB_CALL, {.stack_words = 2}, 10},
	{FLAMEPROF_STUB_CALL, {.stack_words = 20}, 28},
	{FLAMEPROF_STUB_BIND, {.stack_words = 0}, 14},
	{FLAMEPROF_STUB_BIND, {.stack_words = 3, .integer_arguments = 9}, 16},
	{FLAMEPROF_STUB_BIND, {.integer_arguments = 2, .memory_result = 1}, 10},
};

#define STEP_SHAPES (sizeof(step_shapes) / sizeof(step_shapes[0]))

#endif
#endif
