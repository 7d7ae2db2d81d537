/* SPDX-License-Identifier: MIT */
/* Checked also: emulated. */
/*
 * Walk through code without call-frame information: trampolines, and code that cannot be decoded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libprof/unwind/unwind.h"

/* set if the runtime knows that the caller of generated code is two words up the stack */
static int knows_callers;

static int leave_made(void *context, struct unwind_activation *at)
{
	(void)context;
	if (!knows_callers || at->question != UNWIND_GENERATED)
		return 0;
	at->pc = ((const uintptr_t *)at->sp)[1];
	at->sp += 2 * sizeof(uintptr_t);
	return UNWIND_CALLER;
}

#define UNWIND_ASK leave_made
#include "tests/unit/unwind-fixture.h"

#if defined(__x86_64__)

/* `add $8,%rsp; ret`, and `pop %rbx; ret`, which moves sp in the same way but changes rbx. */
static const uint8_t way_out[] = {0x48, 0x83, 0xc4, 8, 0xc3};
static const uint8_t popping[] = {0x5b, 0xc3};
/* `dec %rcx; jne` back to it, `ret`; and the same with `pop %rbx` before `ret`. */
static const uint8_t loop[] = {0x48, 0xff, 0xc9, 0x75, 0xfb, 0xc3};
static const uint8_t popping_loop[] = {0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5b, 0xc3};

#elif defined(__aarch64__)

#define I(word) (word) & 0xff, (word) >> 8 & 0xff, (word) >> 16 & 0xff, (word) >> 24

/* ldp x29, x30, [sp], #16; ret. And ldp x19, x30 instead. */
static const uint8_t way_out[] = {I(0xa8c17bfd), I(0xd65f03c0)};
static const uint8_t popping[] = {I(0xa8c17bf3), I(0xd65f03c0)};
/* `subs x1, x1, #1; b.ne` back to it, `ret`; and the same with `ldp x19, x30` before `ret`. */
static const uint8_t loop[] = {I(0xf1000421), I(0x54ffffe1), I(0xd65f03c0)};
static const uint8_t popping_loop[] = {I(0xf1000421), I(0x54ffffe1), I(0xa8c17bf3), I(0xd65f03c0)};

#endif

static void put_code(unsigned at, const uint8_t *code, unsigned bytes)
{
	memcpy(generated + at, code, bytes);
}

#define PUT_CODE(at, code) put_code(at, code, sizeof(code))

/*
 * Write the frame of a trampoline at word @at of the stack: two words, and the return address @ra.
 * On CPUs whose trampolines save the frame pointer, the lower word holds it.
 */
static unsigned put_trampoline(unsigned at, uintptr_t ra)
{
	stack[at] = registers.r[FP];
	stack[at + 1] = ra;
	return at + 2;
}

/*
 * A function calls a trampoline, which calls a function, three times. None of them uses frame
 * pointers.
 */
static void test_nested_trampolines(void **state)
{
	unsigned at = 0;

	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text + 4;
	/* The walk must not need the frame pointer, so the register holds an invalid address. */
	registers.r[FP] = 0x1234567;
	for (unsigned i = 0; i < 3; i++) {
		/*
		 * The offset is a multiple of 4, the largest alignment of instructions on these
		 * CPUs.
		 */
		PUT_CODE(0x100 * i + 0x24, way_out);
		stack[at++] = NO_MODULE + 0x100 * i + 0x24;
		at = put_trampoline(at, text + 0x10 + 4 * i);
	}
	stack[at] = text + 0x48;
	check_end(walk(), 8, WIRE_END_ROOT);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(frames[2 * i + 1], WIRE_FRAME(0, NO_MODULE + 0x100 * i + 0x23));
		check_frame(2 * i + 2, 0xf + 4 * i);
	}
	check_frame(7, 0x47);
	assert_int_equal(reads, 0);
}

static void test_code_that_tells_nothing_is_left_to_the_frame_pointer(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[FP] = (uintptr_t)(stack + 8);
	stack[0] = NO_MODULE + 0x20;
	/* This would be the return address if the code could be decoded. */
	stack[2] = text + 0x10;
	stack[9] = text + 0x48;
	put_call(stack[9]);
	for (unsigned i = 0; i < 2; i++) {
		/* In the first round the code is zeros, in the second it cannot be read. */
		stack[0] = i ? NO_MODULE - 0x20 : NO_MODULE + 0x20;
		check_end(walk(), 3, WIRE_END_ROOT);
		assert_int_equal(frames[2], WIRE_FRAME(9, IMAGE_CODE + 0x47) | WIRE_FRAME_BY_FP);
	}
	/* If the code can be decoded, the caller is found. */
	PUT_CODE(0x20, way_out);
	stack[0] = NO_MODULE + 0x20;
	stack[1] = registers.r[FP];
	stack[3] = text + 0x48;
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(2, 0xf);
}

/*
 * In a frame that was found through a frame pointer, the stack pointer is not exact, so the code is
 * not decoded.
 */
static void test_not_behind_a_frame_pointer(void **state)
{
	unsigned leaf_reads;

	(void)state;
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	PUT_CODE(0x20, way_out);
	memcpy((void *)(text + 0x200), way_out, sizeof(way_out));
	registers.r[PC] = NO_MODULE + 0x200;
	registers.r[FP] = (uintptr_t)(stack + 2);
	stack[2] = (uintptr_t)(stack + 12);
	stack[4] = stack[2];
	stack[5] = NO_MODULE + 0x300;
	stack[13] = text + 0x48;
	put_call(text + 0x200);
	put_call(NO_MODULE + 0x20);
	walk_up_to(1);
	for (unsigned i = 0; i < 2; i++) {
		/*
		 * Only the leaf's code is read, whether the leaf's caller is generated code or code
		 * of a module.
		 */
		stack[3] = i ? text + 0x200 : NO_MODULE + 0x20;
		code_reads = 0;
		walk_up_to(1);
		leaf_reads = code_reads;
		code_reads = 0;
		check_end(walk(), 3, WIRE_END_ROOT);
		assert_int_equal(frames[2], WIRE_FRAME(9, IMAGE_CODE + 0x47) | WIRE_FRAME_BY_FP);
		assert_int_equal(code_reads, leaf_reads);
	}
}

/*
 * A loop in a leaf function changes neither sp nor fp. Using its caller's frame pointer would skip
 * the caller.
 */
static void test_a_loop_is_followed_to_its_return(void **state)
{
	unsigned first_reads;

	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	PUT_CODE(0x20, loop);
	registers.r[PC] = NO_MODULE + 0x20;
	registers.r[FP] = (uintptr_t)(stack + 8);
	registers.r[RA] = ARCH_ENTRY_CFA ? registers.r[RA] : text + 0x10;
	stack[0] = ARCH_ENTRY_CFA ? text + 0x10 : text + 0x48;
	stack[1] = text + 0x48;
	stack[8] = stack[9] = text + 0x50;
	put_call(text + 0x10);
	put_call(text + 0x50);
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(1, 0xf);
	first_reads = code_reads;
	code_reads = 0;
	check_end(walk(), 3, WIRE_END_ROOT);
	assert_true(code_reads < first_reads); /* the row was cached */
	/* Other code is now at the address, so the cached row must not be used. */
	PUT_CODE(0x20, popping_loop);
	stack[1] = text + 0x10;
	stack[2] = text + 0x48;
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(1, 0xf);
	/*
	 * The return address that was found does not follow a call, so the frame pointer is used.
	 */
	stack[1] = text + 0x18;
	check_end(walk(), 2, WIRE_END_ROOT);
	assert_int_equal(frames[1], WIRE_FRAME(9, IMAGE_CODE + 0x4f) | WIRE_FRAME_BY_FP);
}

/*
 * The code of a generated frame is read only if the runtime (UNWIND_ASK) does not know the frame's
 * caller.
 */
static void test_an_innermost_frame_that_somebody_knows(void **state)
{
	(void)state;
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	PUT_CODE(0x20, way_out);
	registers.r[PC] = NO_MODULE + 0x20;
	registers.r[FP] = 1;
	put_trampoline(0, text + 0x48);
	code_reads = 0;
	knows_callers = 1;
	check_end(walk(), 2, WIRE_END_ROOT);
	check_frame(1, 0x47);
	assert_int_equal(code_reads, 0);
	knows_callers = 0;
	check_end(walk(), 2, WIRE_END_ROOT);
	check_frame(1, 0x47);
	assert_true(code_reads);
}

/* Refuse a trampoline whose frame would end outside the stack. */
static void test_not_beyond_the_stack(void **state)
{
	(void)state;
	finish();
	PUT_CODE(0x20, way_out);
	registers.r[PC] = NO_MODULE + 0x20;
	registers.r[FP] = 1;
	registers.r[SP] = (uintptr_t)(stack + 63);
	stack[64] = text;
	check_end(walk(), 1, WIRE_END_LOST);
	registers.r[SP] = (uintptr_t)stack + 4; /* not aligned */
	check_end(walk(), 1, WIRE_END_LOST);
	assert_int_equal(reads, 0);
	registers.r[SP] = (uintptr_t)(stack + 62);
	check_end(walk(), 1, WIRE_END_ROOT); /* returns to 0 */
}

/* The code of a module without call-frame information is decoded once, then the row is cached. */
static void test_in_a_module(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	memcpy((void *)(text + 0x200), way_out, sizeof(way_out));
	registers.r[PC] = text;
	registers.r[FP] = 1;
	stack[0] = text + 0x200;
	put_trampoline(1, text + 0x48);
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(1, 0x1ff);
	check_frame(2, 0x47);
	memset((void *)(text + 0x200), 0, sizeof(way_out));
	check_end(walk(), 3, WIRE_END_ROOT);
}

/*
 * Registers that the trampoline does not pop stay known, so an unwind row that needs one of them
 * can be used.
 */
static void test_registers_behind_a_trampoline(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, (uint8_t)kept, 16);
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();
	PUT_CODE(0x20, way_out);
	registers.r[PC] = text;
	registers.r[FP] = 1;
	registers.r[kept] = (uintptr_t)(stack + 20);
	stack[0] = NO_MODULE + 0x20;
	put_trampoline(1, text + 0x48);
	stack[21] = text + 0x88;
	check_end(walk(), 4, WIRE_END_ROOT);
	check_frame(2, 0x47);
	check_frame(3, 0x87);
	PUT_CODE(0x20, popping);
	check_end(walk(), 3, WIRE_END_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nested_trampolines, setup),
		cmocka_unit_test_setup(
			test_code_that_tells_nothing_is_left_to_the_frame_pointer, setup),
		cmocka_unit_test_setup(test_not_behind_a_frame_pointer, setup),
		cmocka_unit_test_setup(test_a_loop_is_followed_to_its_return, setup),
		cmocka_unit_test_setup(test_an_innermost_frame_that_somebody_knows, setup),
		cmocka_unit_test_setup(test_not_beyond_the_stack, setup),
		cmocka_unit_test_setup(test_in_a_module, setup),
		cmocka_unit_test_setup(test_registers_behind_a_trampoline, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
