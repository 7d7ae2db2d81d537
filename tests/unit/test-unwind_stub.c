/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * After stubs are registered, nongnu libunwind walks at every instruction of stubs and of their
 * target.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "tests/unit/stub-steps.h"

#ifdef STEPS_WORK

static void walk_libunwind(const ucontext_t *context, struct step_stack *stack)
{
	unw_context_t copy = *(const unw_context_t *)context;
	unw_cursor_t cursor;
	unw_word_t pc;

	stack->frames = 0;
	unw_init_local2(&cursor, &copy, UNW_INIT_SIGNAL_FRAME);
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc)
			stack->pc[stack->frames] = pc - (stack->frames != 0);
		stack->frames += pc != 0;
	} while (stack->frames < STEP_FRAMES && unw_step(&cursor) > 0);
}

static void step(enum step_place place, const ucontext_t *context)
{
	struct step_stack stack;

	if (place == STEP_OUTSIDE && step_outer_known)
		return;
	walk_libunwind(context, &stack);
	if (place == STEP_OUTSIDE)
		step_remember_outer(&stack);
	else if (!step_is_whole(place, &stack))
		step_complain("libunwind", place, &stack);
}

static int teardown(void **state)
{
	(void)state;
	flameprof_arena_free(step_arena);
	step_arena = NULL;
	return 0;
}

static void test_every_shape(void **state)
{
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_LIBUNWIND), 0);
	for (unsigned i = 0; i < STEP_SHAPES; i++) {
		const struct step_shape *shape = &step_shapes[i];

		assert_int_equal(steps_through(shape), shape->instructions);
		assert_true(steps_in_target >= 8);
		assert_true(step_slow_is_whole(shape));
		assert_int_equal(step_complaints, 0);
		step_outer_known = 0;
		teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_every_shape, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 0;
}

#endif
