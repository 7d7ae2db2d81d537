/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/* Test steps of a walk that need no call-frame information: frame pointers and signal frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "tests/unit/unwind-fixture.h"

/* Generated code lies between two functions of a module. */
static void test_frame_pointers_where_nothing_covers_the_pc(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[FP] = (uintptr_t)(stack + 4);
	stack[0] = NO_MODULE + 0x10;
	stack[4] = (uintptr_t)(stack + 8);
	stack[5] = NO_MODULE + 0x20;
	stack[8] = 0;
	stack[9] = text + 8;
	put_call(stack[5]);
	stack[10] = text + 0x48; /* sp of the function that called: fp + 16 */
	check_end(walk(), 5, WIRE_END_ROOT);
	check_frame(0, 0);
	assert_int_equal(frames[1], WIRE_FRAME(0, NO_MODULE + 0xf));
	assert_int_equal(frames[2], WIRE_FRAME(0, NO_MODULE + 0x1f) | WIRE_FRAME_BY_FP);
	assert_int_equal(frames[3], WIRE_FRAME(9, IMAGE_CODE + 7) | WIRE_FRAME_BY_FP);
	check_frame(4, 0x47);
}

static void test_a_leaf_in_generated_code(void **state)
{
	(void)state;
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = NO_MODULE;
	registers.r[FP] = (uintptr_t)(stack + 4);
	stack[5] = text + 0x48;
	put_call(stack[5]);
	check_end(walk(), 2, WIRE_END_ROOT);
	assert_int_equal(frames[0], WIRE_FRAME(0, NO_MODULE));
	assert_int_equal(frames[1], WIRE_FRAME(9, IMAGE_CODE + 0x47) | WIRE_FRAME_BY_FP);
}

static void test_frame_pointers_that_are_none(void **state)
{
	const uintptr_t wrong[] = {(uintptr_t)stack + 33, (uintptr_t)stack - 8,
		(uintptr_t)(stack + 63), (uintptr_t)(stack + 64), UINTPTR_MAX - 7};

	(void)state;
	finish();
	registers.r[PC] = NO_MODULE;
	for (unsigned i = 0; i < 64; i++)
		stack[i] = NO_MODULE;
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		registers.r[FP] = wrong[i];
		check_end(walk(), 1, WIRE_END_LOST);
	}
	/* The return address is 0, but the record has a caller's frame pointer. */
	stack[33] = 0;
	registers.r[FP] = (uintptr_t)(stack + 32);
	check_end(walk(), 1, WIRE_END_LOST);
	assert_int_equal(reads, 0);
}

/*
 * Code without call-frame information may use the frame-pointer register for data. The first record
 * is used only if its return address follows a call, and no record may lead to memory that is not
 * code.
 */
static void test_records_that_lead_behind_no_call(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = NO_MODULE;
	registers.r[FP] = (uintptr_t)(stack + 4);
	stack[4] = (uintptr_t)(stack + 8);
	stack[5] = NO_MODULE + 0x20;
	stack[9] = text + 0x48;
	check_end(walk(), 1, WIRE_END_LOST);
	put_call(stack[5]);
	/* Only the first frame record must have a return address that follows a call. */
	check_end(walk(), 3, WIRE_END_ROOT);
	code_end = text;
	check_end(walk(), 2, WIRE_END_LOST);
	code_end = NO_MODULE;
	check_end(walk(), 1, WIRE_END_LOST);
	code_end = UINTPTR_MAX;
	/* Code without call-frame information, as Go's, need not have a call in front of its pc. */
	registers.r[PC] = text + 0x200;
	stack[5] = text + 0x300;
	check_end(walk(), 3, WIRE_END_ROOT);
	/* Code with call-frame information must have a call in front of its pc. */
	stack[5] = text + 0x20;
	check_end(walk(), 1, WIRE_END_LOST);
}

static void test_zeroes_end_a_chain_of_frame_pointers(void **state)
{
	(void)state;
	finish();
	registers.r[PC] = NO_MODULE;
	registers.r[FP] = (uintptr_t)(stack + 32); /* a record of zeroes */
	check_end(walk(), 1, WIRE_END_ROOT);
}

/* A frame pointer of 0 ends a stack only in start code that has made a call. */
static void test_a_zero_frame_pointer(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	finish();
	registers.r[PC] = text;
	/* a module's code without call-frame information */
	stack[0] = text + 0x80;
	check_end(walk(), 2, WIRE_END_ROOT);
	/* generated code, also at the top of the stack */
	stack[0] = NO_MODULE + 0x80;
	registers.r[SP] = (uintptr_t)(stack + 62);
	stack[62] = stack[0];
	check_end(walk(), 2, WIRE_END_LOST);
	registers.r[PC] = NO_MODULE + 0x80;
	check_end(walk(), 1, WIRE_END_LOST);
	registers.r[PC] = text + 0x80; /* a leaf, such as a hand-written loop */
	check_end(walk(), 1, WIRE_END_LOST);
}

static void test_stacks_without_bounds_are_read_with_care(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_DEF_CFA, FP, 16, CFI_OFFSET | FP, 2);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[SP] = (uintptr_t)other_stack;
	registers.r[FP] = (uintptr_t)(other_stack + 4);
	other_stack[5] = text + 0x48;
	check_end(walk(), 2, WIRE_END_ROOT);
	assert_int_equal(reads, 2);
	registers.r[FP] = (uintptr_t)1 << 62; /* an unmapped address */
	check_end(walk(), 1, WIRE_END_MEMORY);
}

static void test_a_signal_frame_gives_all_registers(void **state)
{
	uintptr_t *saved = other_stack + 1 + ARCH_SIGRETURN_UCONTEXT / 8;
	uint64_t sigreturn = ARCH_SIGRETURN_WORD;

	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	/*
	 * The frame was interrupted at an instruction at which its CFA is relative to register 0.
	 */
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, 0, 16);
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();

	memcpy((void *)(text + 0x400), &sigreturn, 8); /* covered by no FDE */
	registers.r[PC] = text;
	registers.r[SP] = (uintptr_t)other_stack; /* the handler's own stack */
	other_stack[0] = text + 0x400;
	check_end(walk(), 2, WIRE_END_LOST); /* interrupted at pc 0 */
	saved[arch_ucontext_offset(0) / 8] = (uintptr_t)(stack + 2);
	saved[arch_ucontext_offset(SP) / 8] = (uintptr_t)stack;
	saved[arch_ucontext_offset(PC) / 8] = text + 0x40;
	stack[3] = text + 0x88;
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(1, 0x400);
	check_frame(2, 0x40);
	check_frame(3, 0x87);
}

/*
 * The function at `text` was called on the thread's stack by code whose own stack is another one.
 */
static void call_from_another_stack(uintptr_t caller)
{
	registers.r[PC] = text;
	stack[0] = text + 0x200;
	registers.r[FP] = (uintptr_t)(other_stack + 4);
	other_stack[4] = (uintptr_t)(other_stack + 8);
	other_stack[5] = caller;
	other_stack[8] = 0;
	other_stack[9] = 0;
}

static void test_c_below_go(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	call_from_another_stack(text + 0x300);
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(1, 0x1ff);
	assert_int_equal(frames[2], WIRE_FRAME(9, IMAGE_CODE + 0x2ff) | WIRE_FRAME_BY_FP);
	/* A function of Go runs on the thread's stack and has a frame. */
	call_from_another_stack(text + 0x300);
	registers.r[PC] = text + 0x100;
	registers.r[FP] = (uintptr_t)(stack + 4);
	stack[4] = (uintptr_t)(other_stack + 4);
	stack[5] = text + 0x200;
	check_end(walk(), 3, WIRE_END_ROOT);
	assert_int_equal(frames[2], WIRE_FRAME(9, IMAGE_CODE + 0x2ff) | WIRE_FRAME_BY_FP);
	/* Assembly code in a C library may use the frame-pointer register for anything. */
	call_from_another_stack(text + 0x20);
	check_end(walk(), 2, WIRE_END_LOST);
	call_from_another_stack(NO_MODULE + 0x20);
	check_end(walk(), 2, WIRE_END_LOST);
	call_from_another_stack(text + 0x300);
	other_stack[4] = (uintptr_t)(other_stack + 2); /* the record does not lead outward */
	check_end(walk(), 2, WIRE_END_LOST);
	call_from_another_stack(text + 0x300);
	registers.r[FP] += 4;
	check_end(walk(), 2, WIRE_END_LOST);
	call_from_another_stack(text + 0x300);
	/* The pc is not at a call, so the frame-pointer register may hold data. */
	registers.r[PC] = text + 0x200;
	check_end(walk(), 1, WIRE_END_LOST);
}

/*
 * The function at `text` was called on the thread's stack by generated code whose frame pointers
 * are on another stack, as Erlang's are. The outermost frame has a frame pointer of 0.
 */
static void call_from_generated_code(void)
{
	registers.r[PC] = text;
	stack[0] = NO_MODULE + 0x20;
	put_call(NO_MODULE + 0x20);
	registers.r[FP] = (uintptr_t)(other_stack + 4);
	other_stack[4] = (uintptr_t)(other_stack + 8);
	other_stack[5] = NO_MODULE + 0x40;
	put_call(NO_MODULE + 0x40);
	other_stack[8] = 0;
	other_stack[9] = NO_MODULE + 0x60;
	put_call(NO_MODULE + 0x60);
}

static void test_c_below_erlang(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	finish();
	call_from_generated_code();
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(0, 0);
	assert_int_equal(frames[1], WIRE_FRAME(0, NO_MODULE + 0x1f));
	assert_int_equal(frames[2], WIRE_FRAME(0, NO_MODULE + 0x3f) | WIRE_FRAME_BY_FP);
	assert_int_equal(frames[3], WIRE_FRAME(0, NO_MODULE + 0x5f) | WIRE_FRAME_BY_FP);
	/* The register is no frame pointer, because the return address there follows no call. */
	other_stack[5] = NO_MODULE + 0x50;
	check_end(walk(), 2, WIRE_END_LOST);
	/* The record does not lead outward. */
	call_from_generated_code();
	other_stack[4] = (uintptr_t)(other_stack + 2);
	check_end(walk(), 2, WIRE_END_LOST);
	/* The innermost function may use the frame-pointer register for any data. */
	call_from_generated_code();
	registers.r[PC] = NO_MODULE + 0x20;
	check_end(walk(), 1, WIRE_END_LOST);
	registers.r[FP] = 0;
	check_end(walk(), 1, WIRE_END_LOST);
}

/* Write GHC's info table in front of the code at @code: the frame's layout and type. */
static void put_frame_table(uintptr_t code, uint32_t type, uintptr_t layout)
{
	memcpy((void *)(code - 16), &layout, sizeof(layout));
	memcpy((void *)(code - 8), &type, sizeof(type));
}

/*
 * Code at text + 0x200 without call-frame information runs on the stack of a Haskell thread, which
 * has a frame of two words with return address 0x240, one of three words with 0x280, and the
 * outermost with 0x2c0.
 */
static void run_haskell(void)
{
	registers.r[PC] = text + 0x200;
	registers.r[FP] = (uintptr_t)(other_stack + 40);
	registers.r[ARCH_DWARF_HASKELL_SP] = (uintptr_t)other_stack;
	memset(other_stack, 0, sizeof(other_stack));
	other_stack[0] = text + 0x240;
	put_frame_table(text + 0x240, HASKELL_RET_SMALL, 1);
	other_stack[2] = text + 0x280;
	put_frame_table(text + 0x280, HASKELL_UPDATE, 2);
	other_stack[5] = text + 0x2c0;
	put_frame_table(text + 0x2c0, HASKELL_STOP, 0);
}

static void test_haskell(void **state)
{
	uintptr_t size = 2;

	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	finish();
	run_haskell();
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(0, 0x200);
	check_frame(1, 0x240);
	check_frame(2, 0x280);
	/* The Haskell code has called a C function on the thread's own stack. */
	registers.r[PC] = text;
	stack[0] = text + 0x208;
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(0, 0);
	check_frame(1, 0x207);
	check_frame(2, 0x240);
	/* The size of a frame may also be in a bitmap behind the code or in the frame itself. */
	run_haskell();
	put_frame_table(text + 0x280, HASKELL_RET_BIG, 0x20);
	memcpy((void *)(text + 0x2a0), &size, sizeof(size));
	check_end(walk(), 3, WIRE_END_ROOT);
	put_frame_table(text + 0x280, HASKELL_RET_FUN, 0);
	other_stack[3] = 0;
	check_end(walk(), 3, WIRE_END_ROOT);
	put_frame_table(text + 0x280, HASKELL_UNDERFLOW, 0);
	other_stack[3] = (uintptr_t)(other_stack + 10);
	other_stack[12] = (uintptr_t)(other_stack + 20);
	other_stack[20] = text + 0x2c0;
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(2, 0x280);
}

static void test_what_is_no_stack_of_haskell(void **state)
{
	(void)state;
	finish();
	run_haskell();
	put_frame_table(text + 0x240, HASKELL_RET_BCO, 1);
	check_end(walk(), 1, WIRE_END_LOST);
	run_haskell();
	/* A single valid frame is not accepted. */
	put_frame_table(text + 0x280, 0x90909090, 2);
	check_end(walk(), 1, WIRE_END_LOST);
	run_haskell();
	put_frame_table(text + 0x2c0, HASKELL_STOP, 1);
	check_end(walk(), 2, WIRE_END_LOST);
	run_haskell();
	put_frame_table(text + 0x280, HASKELL_RET_FUN, 0);
	other_stack[3] = UINTPTR_MAX - 2;
	check_end(walk(), 1, WIRE_END_LOST);
	run_haskell();
	other_stack[0]++;
	check_end(walk(), 1, WIRE_END_LOST);
	/* In a circular stack the walk ends when the array of frames is full. */
	run_haskell();
	put_frame_table(text + 0x280, HASKELL_UNDERFLOW, 0);
	other_stack[3] = (uintptr_t)(other_stack + 10);
	other_stack[12] = (uintptr_t)other_stack;
	assert_int_equal(walk().end, WIRE_END_DEPTH);
}

/*
 * As Go's runtime.systemstack does, code at text + 0x300 without call-frame information has called
 * a function at `text` on another stack than its caller's. Words of the caller's stack:
 *
 * 21  return address into the outermost function, at 0x100
 * 20  <- frame pointer: saved by the function at 0x80
 * 15  return address into that function, whose frame has six words including these two
 */
static void call_on_another_stack(void)
{
	const uint8_t row[] = {CFI_DEF_CFA_OFFSET, 48, CFI_OFFSET | FP, 2};
	const uint8_t small[] = {CFI_DEF_CFA_OFFSET, 24, CFI_OFFSET | FP, 2};

	ADD_FDE(0, 0x40, CFI_NOP);
	add_fde(0x80, 0x40, row, sizeof(row));
	add_fde(0xc0, 0x40, small, sizeof(small));
	ADD_FDE(0x100, 0x40, CFI_UNDEFINED, RA);
	ADD_FDE(0x140, 0x40, CFI_NOP);
	finish();
	registers.r[PC] = text;
	stack[0] = text + 0x320;
	registers.r[FP] = (uintptr_t)(other_stack + 20);
	other_stack[21] = text + 0x120;
	put_call_of(text + 0x120, text + 0x80);
	other_stack[15] = text + 0x90;
	put_call_of(text + 0x90, text + 0x300);
}

static void check_switched(void)
{
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(1, 0x31f);
	check_frame(2, 0x8f);
	check_frame(3, 0x11f);
}

static void test_go_on_its_system_stack(void **state)
{
	(void)state;
	call_on_another_stack();
	check_switched();
	/*
	 * Another word of that stack is an old return address of a function with a smaller frame.
	 */
	other_stack[18] = text + 0xd0;
	put_call_of(text + 0xd0, text + 0x300);
	check_switched();
	/* Another word is an old return address of the same function, in another frame. */
	other_stack[17] = text + 0x90;
	check_switched();
	/* Calls of another function are ignored. Without a match, the caller is not found. */
	put_call_of(text + 0x90, text + 0x280);
	memcpy((void *)(text + 0x290), (const uint8_t[]){0xc3, 0x00, 0x00, 0x00}, 4);
	memcpy((void *)(text + 0x294), (const uint8_t[]){0xc0, 0x03, 0x5f, 0xd6}, 4);
	check_end(walk(), 2, WIRE_END_LOST);
}

/* The function has no frame yet, because it is calling for more stack. */
static void test_go_grows_a_stack(void **state)
{
	(void)state;
	call_on_another_stack();
	other_stack[15] = text + 0x90;
	put_call_of(text + 0x90, text + 0x140);
	other_stack[14] = text + 0x150;
	put_call_of(text + 0x150, text + 0x300);
	check_end(walk(), 5, WIRE_END_ROOT);
	check_frame(2, 0x14f);
	check_frame(3, 0x8f);
	check_frame(4, 0x11f);
}

/* Since Go 1.21 the function that switches stacks has its own frame record. */
static void test_go_with_its_own_record(void **state)
{
	(void)state;
	call_on_another_stack();
	registers.r[FP] = (uintptr_t)(other_stack + 14);
	other_stack[14] = (uintptr_t)(other_stack + 20);
	check_switched();
}

static void test_a_hole_between_segments_is_not_touched(void **state)
{
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(hole, MAP_FAILED);
	ADD_FDE(0, 0x40, CFI_NOP);
	finish();
	assert_true((uintptr_t)hole > made.start);
	made.end = (uintptr_t)hole + 4096;
	registers.r[PC] = text;
	registers.r[SP] = (uintptr_t)other_stack;
	other_stack[0] = (uintptr_t)hole + 16;
	assert_int_equal(walk().frames, 2);
	munmap(hole, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_frame_pointers_where_nothing_covers_the_pc, setup),
		cmocka_unit_test_setup(test_a_leaf_in_generated_code, setup),
		cmocka_unit_test_setup(test_frame_pointers_that_are_none, setup),
		cmocka_unit_test_setup(test_records_that_lead_behind_no_call, setup),
		cmocka_unit_test_setup(test_zeroes_end_a_chain_of_frame_pointers, setup),
		cmocka_unit_test_setup(test_a_zero_frame_pointer, setup),
		cmocka_unit_test_setup(test_stacks_without_bounds_are_read_with_care, setup),
		cmocka_unit_test_setup(test_a_signal_frame_gives_all_registers, setup),
		cmocka_unit_test_setup(test_c_below_go, setup),
		cmocka_unit_test_setup(test_c_below_erlang, setup),
		cmocka_unit_test_setup(test_haskell, setup),
		cmocka_unit_test_setup(test_what_is_no_stack_of_haskell, setup),
		cmocka_unit_test_setup(test_go_on_its_system_stack, setup),
		cmocka_unit_test_setup(test_go_grows_a_stack, setup),
		cmocka_unit_test_setup(test_go_with_its_own_record, setup),
		cmocka_unit_test_setup(test_a_hole_between_segments_is_not_touched, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
