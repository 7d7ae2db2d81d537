/* SPDX-License-Identifier: MIT */
/*
 * Walks over hand-made stacks and modules: the PLT's expression, frame pointers, how stacks end,
 * rows that need other registers, and what must not be followed.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprof/unwind/unwind.h"

/* One more stack besides the one in bounds, read word by word and counted. */
static uintptr_t other_stack[96];
static unsigned reads, finds;
static struct unwind_module made;
static uintptr_t text; /* the module's code: IMAGE_CODE after its start */

static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	uintptr_t index = (address - (uintptr_t)other_stack) / 8;

	(void)context;
	reads++;
	if (address < (uintptr_t)other_stack || index >= 96)
		return -EFAULT;
	*value = other_stack[index];
	return 0;
}

static inline int UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out)
{
	(void)context;
	finds++;
	if (pc < made.start || pc >= made.end)
		return -ENOENT;
	*out = made;
	return 0;
}

#include "libprof/unwind/unwind_core.h"
#include "tests/unit/cfi-image.h"

#define SP ARCH_DWARF_SP
#define FP ARCH_DWARF_FP
#define RA ARCH_DWARF_RA
#define PC ARCH_DWARF_PC

#define NO_MODULE 0x10000 /* generated code: in no module */

static struct image image;
/* What lies behind the stack proper is not readable at all. */
static uintptr_t stack_and_gap[128];
static uintptr_t *const stack = stack_and_gap;
static struct arch_registers registers;
static uint64_t frames[WIRE_MAX_DEPTH];
static unsigned kept; /* a preserved register that is neither sp nor fp */

/* CFA = sp + 8, return address at CFA - 8: a function that has pushed nothing, as x86 has it. */
static void add_fde(uint32_t begin, uint32_t bytes, const uint8_t *program, unsigned program_bytes)
{
	static const uint8_t relative[] = {CFI_PTR_PCREL | CFI_PTR_SDATA4};
	static const uint8_t initial[] = {CFI_DEF_CFA, SP, 8, CFI_OFFSET_EXTENDED, RA, 1};
	struct image_cie cie = {
		.version = 1,
		.augmentation = "zR",
		.augmentation_data = relative,
		.augmentation_bytes = 1,
		.encoding = relative[0],
		.code_align = 1,
		.data_align = -8,
		.ra_reg = RA,
		.program = initial,
		.program_bytes = sizeof(initial),
	};

	image_fde(&image, image_cie(&image, &cie), &cie, begin, bytes, program, program_bytes);
}

#define ADD_FDE(begin, bytes, ...)                                                                 \
	do {                                                                                       \
		const uint8_t program_[] = {__VA_ARGS__};                                          \
		add_fde(begin, bytes, program_, sizeof(program_));                                 \
	} while (0)

/* Code has to lie inside the module: the image is followed by nothing, so widen the range. */
static uint8_t image_room[IMAGE_CODE + 0x1000] __attribute__((aligned(16)));

static void finish(void)
{
	struct unwind_module small = image_finish(&image, CFI_PTR_DATAREL | CFI_PTR_SDATA4);

	memcpy(image_room, (const void *)small.start, image.used);
	made = (struct unwind_module){
		.start = (uintptr_t)image_room,
		.end = (uintptr_t)image_room + sizeof(image_room),
		.bias = (uintptr_t)image_room,
		.eh_frame_hdr = (uintptr_t)image_room,
		.number = 9,
	};
	text = made.start + IMAGE_CODE;
	memset(&unwind_rowcache, 0, sizeof(unwind_rowcache));
}

static int setup(void **state)
{
	(void)state;
	memset(image_room, 0, sizeof(image_room));
	memset(stack_and_gap, 0, sizeof(stack_and_gap));
	memset(other_stack, 0, sizeof(other_stack));
	memset(&registers, 0, sizeof(registers));
	memset(frames, 0, sizeof(frames));
	reads = finds = 0;
	kept = arch_cfi_reg(3);
	registers.r[SP] = (uintptr_t)stack;
	image_init(&image);
	return 0;
}

static struct unwind_result walk_up_to(unsigned max_frames)
{
	struct unwind_bounds bounds = {(uintptr_t)stack, (uintptr_t)(stack + 64)};

	return unwind_walk(&registers, &bounds, frames, max_frames, NULL);
}

static struct unwind_result walk(void)
{
	return walk_up_to(WIRE_MAX_DEPTH);
}

static void check_end(struct unwind_result result, unsigned count, enum wire_end end)
{
	assert_int_equal(result.frames, count);
	assert_int_equal(result.end, end);
}

/* The frame is at @offset of the module's code, as an address to look up. */
static void check_frame(unsigned index, uint32_t offset)
{
	assert_int_equal(frames[index], WIRE_FRAME(9, IMAGE_CODE + offset));
}

static void test_frames_are_module_relative_and_before_the_call(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	stack[0] = text + 0x40; /* returns to the end of the first function: still belongs to it */
	stack[1] = text + 0x50;
	check_end(walk(), 3, WIRE_END_ROOT);
	check_frame(0, 0);
	check_frame(1, 0x3f);
	check_frame(2, 0x4f);
	assert_int_equal(reads, 0);
	assert_int_equal(finds, 1);
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
	stack[0] = NO_MODULE; /* no information, and a frame pointer that is none */
	registers.r[FP] = 0x1234;
	check_end(walk(), 2, WIRE_END_LOST);
	for (unsigned i = 0; i < 64; i++)
		stack[i] = text + 0x10;
	check_end(walk(), 65, WIRE_END_MEMORY); /* off the end of the stack */
}

/* A CFA that does not lie above the stack pointer could go on for ever. */
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
	registers.r[FP] = (uintptr_t)(stack + 4); /* would do, but what is there is not trusted */
	stack[5] = text;
	check_end(walk(), 1, WIRE_END_LOST);
}

static void test_frame_pointer_rows(void **state)
{
	(void)state;
	/* push fp; mov sp, fp and the row of the body */
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

#if ARCH_DWARF_RA == ARCH_DWARF_PC /* a CPU whose calls push, and that has such PLT stubs */
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
	ADD_FDE(0, 0x40, CFI_DEF_CFA_OFFSET, 0, CFI_SAME_VALUE, RA); /* as called */
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA_OFFSET, 16, CFI_OFFSET | RA, 1);
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = leaf ? text + 4 : text + 0x44;
	registers.r[RA] = (text + 0x88) | 0x00aa000000000000; /* signed */
	stack[1] = text + 4;
	if (leaf)
		check_end(walk(), 2, WIRE_END_ROOT);
	else
		check_end(walk(), 2, WIRE_END_LOST); /* only a leaf's lr is its own */
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
	/* The outer one's CFA hangs on a register that the inner one saved, two frames before. */
	ADD_FDE(0, 0x40, CFI_DEF_CFA_OFFSET, 24, CFI_OFFSET_EXTENDED, (uint8_t)kept, 2);
	ADD_FDE(0x40, 0x40, CFI_NOP);
	ADD_FDE(0x80, 0x40, CFI_DEF_CFA, (uint8_t)kept, 16);
	ADD_FDE(0xc0, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[PC] = text;
	registers.r[kept] = 1; /* not this one */
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

static void test_caller_saved_registers_are_lost_in_callers(void **state)
{
	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, 0, 16); /* register 0 is nobody's to keep */
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();
	registers.r[0] = (uintptr_t)(stack + 2);
	stack[0] = text + 0x48;
	stack[3] = text + 0x88;
	registers.r[PC] = text;
	check_end(walk(), 2, WIRE_END_LOST);
	registers.r[PC] = text + 0x48; /* but a leaf's is known */
	check_end(walk(), 2, WIRE_END_ROOT);
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
	/* kept becomes stack + 9, fp stack + 7; the second frame's CFA is stack + 13 */
	check_end(walk(), 3, WIRE_END_LOST);
	check_frame(1, 0x47);
	assert_int_equal(frames[2], WIRE_FRAME(0, (uintptr_t)(stack + 7) - 1));
}

/* Generated code between two functions of a module. */
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
	stack[33] = 0; /* no return address, though a caller's record */
	registers.r[FP] = (uintptr_t)(stack + 32);
	check_end(walk(), 1, WIRE_END_LOST);
	assert_int_equal(reads, 0);
}

static void test_zeroes_end_a_chain_of_frame_pointers(void **state)
{
	(void)state;
	finish();
	registers.r[PC] = NO_MODULE;
	registers.r[FP] = (uintptr_t)(stack + 32); /* a record of zeroes */
	check_end(walk(), 1, WIRE_END_ROOT);
	registers.r[FP] = 0; /* near the top of the stack */
	check_end(walk(), 1, WIRE_END_ROOT);
	registers.r[SP] = (uintptr_t)other_stack; /* not known to be */
	check_end(walk(), 1, WIRE_END_LOST);
	registers.r[PC] = text; /* start code of a module, not covered */
	check_end(walk(), 1, WIRE_END_ROOT);
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
	registers.r[FP] = (uintptr_t)(other_stack + 96);
	check_end(walk(), 1, WIRE_END_MEMORY);
}

static void test_a_signal_frame_gives_all_registers(void **state)
{
	uintptr_t *saved = other_stack + 1 + ARCH_SIGRETURN_UCONTEXT / 8;
	uint64_t sigreturn = ARCH_SIGRETURN_WORD;

	(void)state;
	ADD_FDE(0, 0x40, CFI_NOP);
	ADD_FDE(0x40, 0x40, CFI_DEF_CFA, 0, 16); /* interrupted where register 0 has the CFA */
	ADD_FDE(0x80, 0x40, CFI_UNDEFINED, RA);
	finish();

	memcpy((void *)(text + 0x400), &sigreturn, 8); /* in no FDE */
	registers.r[PC] = text;
	registers.r[SP] = (uintptr_t)other_stack; /* the handler's, another than what it interrupted */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_frames_are_module_relative_and_before_the_call, setup),
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
		cmocka_unit_test_setup(test_caller_saved_registers_are_lost_in_callers, setup),
		cmocka_unit_test_setup(test_register_and_expression_rules, setup),
		cmocka_unit_test_setup(test_frame_pointers_where_nothing_covers_the_pc, setup),
		cmocka_unit_test_setup(test_a_leaf_in_generated_code, setup),
		cmocka_unit_test_setup(test_frame_pointers_that_are_none, setup),
		cmocka_unit_test_setup(test_zeroes_end_a_chain_of_frame_pointers, setup),
		cmocka_unit_test_setup(test_stacks_without_bounds_are_read_with_care, setup),
		cmocka_unit_test_setup(test_a_signal_frame_gives_all_registers, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
