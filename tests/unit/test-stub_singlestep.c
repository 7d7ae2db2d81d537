/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Walk the stack at every instruction of stubs and of their targets: by the unwinding core with
 * call-frame information, by frame pointers if their chain is complete, by flameprof_backtrace(),
 * and by libgcc after the stubs are registered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "tests/unit/stub-steps.h"

#ifdef STEPS_WORK

#include "tests/unit/own-core.h"

static unsigned chains;

static struct unwind_result walk_core(const ucontext_t *context, struct step_stack *stack)
{
	struct unwind_bounds unknown = {0, 0};
	struct arch_registers registers;
	struct unwind_window window;
	uint64_t frames[STEP_FRAMES];

	arch_registers_from_ucontext(&registers, context);
	unwind_window_init(&window, getpid());

	struct unwind_result result =
		unwind_walk(&registers, &unknown, frames, STEP_FRAMES, &window);

	stack->frames = result.frames;
	for (unsigned i = 0; i < result.frames; i++) {
		stack->pc[i] = WIRE_FRAME_ADDRESS(frames[i]);
		if (frames[i] & WIRE_FRAME_BY_FP)
			result.end = WIRE_END_COUNT;
	}
	return result;
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *unwind, void *argument)
{
	struct step_stack *stack = argument;
	int exact;
	uintptr_t pc = _Unwind_GetIPInfo(unwind, &exact);

	/* libgcc's last step, out of the program's start code, returns a frame with pc 0. */
	if (pc && stack->frames < STEP_FRAMES)
		stack->pc[stack->frames++] = exact ? pc : pc - 1;
	return _URC_NO_REASON;
}

/* Walk with libgcc. It starts in this handler, so skip its frames up to the interrupted one. */
static void walk_libgcc(const ucontext_t *context, struct step_stack *stack)
{
	uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	unsigned skip = 0;

	stack->frames = 0;
	_Unwind_Backtrace(on_frame, stack);
	while (skip < stack->frames && stack->pc[skip] != pc)
		skip++;
	stack->frames -= skip;
	memmove(stack->pc, stack->pc + skip, stack->frames * sizeof(stack->pc[0]));
}

static void walk_ours(const ucontext_t *context, struct step_stack *stack)
{
	struct flameprof_backtrace_frame frames[STEP_FRAMES];

	stack->frames = flameprof_backtrace(context, frames, STEP_FRAMES);
	for (unsigned i = 0; i < stack->frames; i++) {
		stack->pc[i] = frames[i].pc;
		if (frames[i].is_code && strcmp(frames[i].code.name, "stepped"))
			stack->frames = 0;
	}
}

/*
 * If the interrupted code has set up rbp, follow the frame pointers: [rbp] is the next rbp, [rbp +
 * 8] the return address.
 */
static void check_frame_pointers(enum step_place place, const ucontext_t *context)
{
	uintptr_t rsp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	uintptr_t *rbp = (uintptr_t *)context->uc_mcontext.gregs[REG_RBP];
	struct step_stack none = {0};

	/* The stub's frame record lies directly below its return address. */
	if (place >= STEP_IN_TARGET && (uintptr_t)rbp != step_sp - 8)
		rbp = (uintptr_t *)*rbp;
	if ((uintptr_t)rbp != step_sp - 8)
		return;
	if (rsp > (uintptr_t)rbp || rbp[1] != step_return || rbp[0] != step_fp)
		step_complain("frame pointers", place, &none);
	else
		chains++;
}

static void step(enum step_place place, const ucontext_t *context)
{
	struct step_stack stack;
	struct unwind_result result;

	if (place == STEP_OUTSIDE && step_outer_known)
		return;
	result = walk_core(context, &stack);
	if (place == STEP_OUTSIDE) {
		step_remember_outer(&stack);
		return;
	}
	if (result.end != WIRE_END_ROOT || !step_is_whole(place, &stack))
		step_complain("core", place, &stack);
	walk_ours(context, &stack);
	if (!step_is_whole(place, &stack))
		step_complain("flameprof_backtrace", place, &stack);
	walk_libgcc(context, &stack);
	if (!step_is_whole(place, &stack))
		step_complain("libgcc", place, &stack);
	check_frame_pointers(place, context);
}

static int setup(void **state)
{
	(void)state;
	step_complaints = chains = 0;
	step_outer_known = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	flameprof_arena_free(step_arena);
	step_arena = NULL;
	return 0;
}

static void check_shape(const struct step_shape *shape)
{
	assert_int_equal(steps_through(shape), shape->instructions);
	assert_int_equal(steps_in_stub, shape->instructions);
	assert_true(steps_in_target >= 8);
	assert_true(step_slow_is_whole(shape));
	assert_int_equal(step_complaints, 0);
	/*
	 * The chain of frame pointers is complete at all instructions except `ret` and the three
	 * before rbp is set.
	 */
	assert_true(chains >= shape->instructions - 4 + steps_in_target - 2);
	step_outer_known = 0;
}

static void test_every_shape(void **state)
{
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_UNWINDERS), 0);
	for (unsigned i = 0; i < STEP_SHAPES; i++) {
		check_shape(&step_shapes[i]);
		teardown(state);
	}
}

/* Step through other stubs with the same code. They share cached unwind rows but not frames. */
static void test_other_stubs_of_the_same_rows(void **state)
{
	for (unsigned i = 0; i < 3; i++) {
		check_shape(&step_shapes[0]);
		teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_shape, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_other_stubs_of_the_same_rows, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
