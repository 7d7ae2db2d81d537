/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Walk synthetic stacks: values of frames, ends of stacks, the CFA expression of a PLT, unwind rows
 * that need other registers, and values that must not be followed. test-unwind_walk.c tests frame
 * pointers and signal frames.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/unwind-fixture.h"

static void test_frames_are_module_relative_and_before_the_call(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	/* The return address is the end of the first function, so the call is in this function. */
	stack[0] = text + 0x40;
	stack[1] = text + 0x50;
	put_call(stack[0]);
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(0, 0);
	check_frame(1, 0x3f);
	check_frame(2, 0x4f);
	assert_int_equal(reads, 0);
	assert_int_equal(finds, 1);
}

/*
 * The return address of a stack's first function does not follow a call: it is the start of the
 * next function, directly behind another function or behind padding.
 */
static void test_a_function_that_nothing_called(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x30, CFI_NOP);
	ADD_FDE(0x80, 0x40, CFI_NOP);
	finish();
	for (uint32_t entry = 0x40; entry <= 0x80; entry += 0x40) {
		registers.r[PC] = text;
		stack[0] = text + entry;
		/* This word would be the next return address if a call had made the frame. */
		stack[1] = text + 0x10;
		check_end(walk(), 2, WIRE_END_ROOT);
		check_frame(1, entry);
	}
	registers.r[PC] = text + 0x3f; /* the byte before it executes */
	stack[0] = text + 0x90;
	stack[1] = 0;
	check_end(walk(), 2, WIRE_END_ROOT);
	check_frame(0, 0x3f);
	check_frame(1, 0x8f);
}

static void test_depth(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	for (unsigned i = 0; i < 8; i++)
		stack[i] = text + 0x10;
	stack[8] = text + 0x50;
	check_end(walk_up_to(0), 0, WIRE_END_DEPTH);
	check_end(walk_up_to(1), 1, WIRE_END_DEPTH);
	check_end(walk_up_to(9), 9, WIRE_END_DEPTH);
	check_end(walk_up_to(10), 10, WIRE_END_ROOT);
	check_end(walk_up_to(11), 10, WIRE_END_ROOT);
}

static void test_ends(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	finish();
	registers.r[PC] = text;
	stack[0] = 0; /* no return address */
	check_end(walk(), 1, WIRE_END_ROOT);
	/* The code has no call-frame information, and the frame pointer is invalid. */
	stack[0] = NO_MODULE;
	registers.r[FP] = 0x1234;
	check_end(walk(), 2, WIRE_END_LOST);
	for (unsigned i = 0; i < 64; i++)
		stack[i] = text + 0x10;
	check_end(walk(), 65, WIRE_END_MEMORY); /* off the end of the stack */
}

/* A CFA that is not above the stack pointer is refused, because the walk might not end. */
static void test_frames_that_lead_down_or_nowhere(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_DEF_CFA_SF, SP, 2);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA_EXPRESSION, 2, EXPRESSION_BREG0 + SP, 0x70);
	ADD_FDE(0x80, 0x40, CFI_DEF_CFA_SF, SP, 0);
	finish();
	registers.r[SP] = (uintptr_t)(stack + 32);
	for (unsigned i = 0; i < 64; i++)
		stack[i] = text + 0x10;
	for (unsigned offset = 0; offset < 0xc0; offset += 0x40) {
		registers.r[PC] = text + offset;
		check_end(walk(), 1, WIRE_END_LOST);
	}
	assert_int_equal(reads, 0);
}

static void test_broken_information(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, 0x3f);
	finish();
	registers.r[PC] = text;
	/* The frame pointer is valid, but it must not be used after a malformed row. */
	registers.r[FP] = (uintptr_t)(stack + 4);
	stack[5] = text;
	check_end(walk(), 1, WIRE_END_LOST);
}

static void test_frame_pointer_rows(void **state)
{
	(void)state;
	/* The row of a function's body after push fp; mov sp, fp. */
	ADD_FDE(0, 0x40, CFI_DEF_CFA, FP, 16, CFI_OFFSET | FP, 2);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[FP] = (uintptr_t)(stack + 10);
	stack[10] = (uintptr_t)(stack + 20);
	stack[11] = text + 8;
	stack[20] = 0;
	stack[21] = text + 0x48;
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(1, 7);
	check_frame(2, 0x47);
}

/* a CPU whose calls push the return address and that has such PLT stubs */
#if ARCH_DWARF_RA == ARCH_DWARF_PC
static void check_plt(unsigned k)
{
	setup(NULL);
	ADD_FDE(0, 0x40, CFI_DEF_CFA_EXPRESSION, 11, EXPRESSION_BREG0 + SP, 8,
		EXPRESSION_BREG0 + PC, 0, EXPRESSION_LIT0 + 15, EXPRESSION_AND,
		(uint8_t)(EXPRESSION_LIT0 + k), EXPRESSION_GE, EXPRESSION_LIT0 + 3, EXPRESSION_SHL,
		EXPRESSION_PLUS);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();
	stack[0] = text + 0x48;
	stack[1] = text + 0x88;
	for (unsigned offset = 0; offset < 16; offset++) {
		registers.r[PC] = text + 0x10 + offset;
		check_end(walk(), 2, WIRE_END_ROOT);
		check_frame(1, offset < k ? 0x47 : 0x87);
		assert_int_equal(compact_kind(rowcache_get(&unwind_rowcache,
					 rowcache_key(registers.r[PC], 9))),
			COMPACT_PLT);
	}
}

static void test_plt_stubs(void **state)
{
	(void)state;
	check_plt(11);
	check_plt(9);
	check_plt(1);
}
#else
static void check_link_register(bool leaf)
{
	setup(NULL);
	/* return address in its register */
	ADD_FDE(0, 0x40, CFI_DEF_CFA_OFFSET, 0, CFI_SAME_VALUE, RA);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA_OFFSET, 16, CFI_OFFSET | RA, 1);
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = leaf ? text + 4 : text + 0x44;
	registers.r[RA] = (text + 0x88) | 0x00aa000000000000; /* with an authentication code */
	stack[1] = text + 4;
	if (leaf)
		check_end(walk(), 2, WIRE_END_ROOT);
	else
		check_end(walk(), 2, WIRE_END_LOST); /* lr is valid only in a leaf */
	check_frame(1, leaf ? 0x87 : 3);
}

static void test_link_register(void **state)
{
	(void)state;
	check_link_register(true);
	check_link_register(false);
}
#endif

static void test_rows_that_need_another_register(void **state)
{
	(void)state;
	/*
	 * The CFA of the outer frame depends on a register that the innermost frame, two frames
	 * before, has saved.
	 */
	ADD_FDE(0, 0x40, CFI_DEF_CFA_OFFSET, 24, CFI_OFFSET_EXTENDED, (uint8_t)kept, 2);
	ADD_FDE(0x40, 0x40, CFI_NOP);
	ADD_FDE(0x80, 0x40, CFI_DEF_CFA, (uint8_t)kept, 16);
	ADD_FDE(0xc0, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[kept] = 1; /* the walk must not use this value */
	stack[1] = (uintptr_t)(stack + 30);
	stack[2] = text + 0x48;
	stack[3] = text + 0x88;
	stack[31] = text + 0xc8;
	for (unsigned round = 0; round < 2; round++) {
		check_end(walk(), 4, WIRE_END_ROOT);
		check_frame(1, 0x47);
		check_frame(2, 0x87);
		check_frame(3, 0xc7);
	}
}

/* The walk undoes its steps over the frame in between and repeats them with all registers. */
static void test_going_back_for_other_registers(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_DEF_CFA, FP, 16, CFI_OFFSET | FP, 2, CFI_OFFSET_EXTENDED,
		(uint8_t)kept, 3);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, (uint8_t)kept, 16, CFI_OFFSET | FP, 2);
	ADD_FDE(0x80, 0x40, CFI_DEF_CFA, FP, 16);
	ADD_FDE(0xc0, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[FP] = (uintptr_t)(stack + 10);
	stack[9] = (uintptr_t)(stack + 20); /* kept, fp, return address */
	stack[10] = 0x1234;
	stack[11] = text + 0x48;
	stack[20] = (uintptr_t)(stack + 30);
	stack[21] = text + 0x88;
	stack[31] = text + 0xc8;
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(1, 0x47);
	check_frame(2, 0x87);
	check_frame(3, 0xc7);
}

/* The walk repeats the step over a frame only once, even if many outer frames need this. */
static void test_many_rows_that_need_another_register(void **state)
{
	unsigned count = 20;

	(void)state;
	ADD_FDE(0, 0x40, CFI_DEF_CFA_EXPRESSION, 2, EXPRESSION_BREG0 + SP, 16);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[SP] = (uintptr_t)other_stack;
	for (unsigned i = 0; i < count; i++)
		other_stack[2 * i + 1] = text + 8;
	other_stack[2 * count - 1] = text + 0x48;
	check_end(walk(), count + 1, WIRE_END_ROOT);
	/* Each frame needs one read for its return address and one for the rule of its pc. */
	assert_true(reads <= 2 * count);
}

static void test_offsets_that_are_no_whole_words(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_DEF_CFA_OFFSET, 12);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[SP] = (uintptr_t)stack + 4;
	stack[1] = text + 0x48;
	check_end(walk(), 2, WIRE_END_ROOT);
	check_frame(1, 0x47);
}

/*
 * A callee may overwrite register 0. But if the caller's row uses register 0, the callee has kept
 * it.
 */
static void test_rows_vouch_for_their_registers(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, 0, 16);
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[0] = (uintptr_t)(stack + 2);
	stack[0] = text + 0x48;
	stack[3] = text + 0x88;
	registers.r[PC] = text;
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(2, 0x87);
	registers.r[0] = (uintptr_t)stack - 16; /* overwritten: leads off the stack */
	check_end(walk(), 2, WIRE_END_MEMORY);
	registers.r[PC] = NO_MODULE; /* generated code has no such row */
	registers.r[FP] = (uintptr_t)(stack + 8);
	registers.r[0] = (uintptr_t)(stack + 12);
	stack[9] = text + 0x48;
	put_call(stack[9]);
	stack[13] = text + 0x88;
	check_end(walk(), 2, WIRE_END_LOST);
}

static void test_register_and_expression_rules(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_DEF_CFA_EXPRESSION, 3, EXPRESSION_BREG0 + SP, 8, EXPRESSION_DEREF,
		CFI_EXPRESSION, RA, 2, EXPRESSION_PLUS_UCONST, 16, CFI_VAL_EXPRESSION,
		(uint8_t)kept, 2, EXPRESSION_PLUS_UCONST, 8, CFI_VAL_OFFSET, FP, 1);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, (uint8_t)kept, 32, CFI_REGISTER, RA, FP);
	finish();
	registers.r[PC] = text;
	stack[1] = (uintptr_t)(stack + 8); /* CFA */
	stack[10] = text + 0x48;
	/*
	 * `kept` becomes stack + 9 and fp becomes stack + 7; the second frame's CFA is stack + 13.
	 */
	check_end(walk(), 3, WIRE_END_LOST);
	check_frame(1, 0x47);
	assert_int_equal(frames[2], WIRE_FRAME(0, (uintptr_t)(stack + 7) - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_frames_are_module_relative_and_before_the_call, setup),
		cmocka_unit_test_setup(test_a_function_that_nothing_called, setup),
		cmocka_unit_test_setup(test_depth, setup),
		cmocka_unit_test_setup(test_ends, setup),
		cmocka_unit_test_setup(test_frames_that_lead_down_or_nowhere, setup),
		cmocka_unit_test_setup(test_broken_information, setup),
		cmocka_unit_test_setup(test_frame_pointer_rows, setup),
#if ARCH_DWARF_RA == ARCH_DWARF_PC
		cmocka_unit_test_setup(test_plt_stubs, setup),
#else
		cmocka_unit_test_setup(test_link_register, setup),
#endif
		cmocka_unit_test_setup(test_rows_that_need_another_register, setup),
		cmocka_unit_test_setup(test_going_back_for_other_registers, setup),
		cmocka_unit_test_setup(test_many_rows_that_need_another_register, setup),
		cmocka_unit_test_setup(test_offsets_that_are_no_whole_words, setup),
		cmocka_unit_test_setup(test_rows_vouch_for_their_registers, setup),
		cmocka_unit_test_setup(test_register_and_expression_rules, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
