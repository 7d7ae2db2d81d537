/* SPDX-License-Identifier: MIT */
/*
 * Make a synthetic thread for tests of the walk: registers, a stack, a module whose call-frame
 * information the test writes, and memory that only UNWIND_READ can read: a second stack, the
 * module's code, and generated code. Include this header once, after cmocka.h.
 */
#ifndef TESTS_UNIT_UNWIND_FIXTURE_H
#define TESTS_UNIT_UNWIND_FIXTURE_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "libprof/unwind/unwind.h"

/* A second stack, outside the stack's known bounds. Reads of it are counted. */
static uintptr_t other_stack[96];
static unsigned reads, finds, code_reads;
static struct unwind_module made;
/* address of the module's code, at IMAGE_CODE */
static uintptr_t text;
static uintptr_t code_end; /* addresses from here on are not code */

/* address of generated code, in no module */
#define NO_MODULE       0x10000
#define GENERATED_BYTES 4096u

static uint8_t generated[GENERATED_BYTES];

static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	uintptr_t index = (address - (uintptr_t)other_stack) / 8;

	(void)context;
	if (address - text < sizeof(*value) * 512) {
		memcpy(value, (const void *)address, sizeof(*value));
		return 0;
	}
	if (address >= NO_MODULE && address - NO_MODULE <= GENERATED_BYTES - sizeof(*value)) {
		memcpy(value, generated + (address - NO_MODULE), sizeof(*value));
		code_reads++;
		return 0;
	}
	if (address >= NO_MODULE - GENERATED_BYTES && address < NO_MODULE + 2 * GENERATED_BYTES)
		return -EFAULT;
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

#define UNWIND_IS_CODE(context, pc) ((void)(context), (pc) < code_end)
#include "libprof/unwind/unwind_core.h"
#include "tests/unit/cfi-image.h"

#define SP ARCH_DWARF_SP
#define FP ARCH_DWARF_FP
#define RA ARCH_DWARF_RA
#define PC ARCH_DWARF_PC

static struct image image;
/* Reads of the words behind the stack fail. */
static uintptr_t stack_and_gap[128];
static uintptr_t *const stack = stack_and_gap;
static struct arch_registers registers;
static uint64_t frames[WIRE_MAX_DEPTH];
/* a preserved register other than SP and FP */
static unsigned kept __attribute__((unused));

/*
 * Add an FDE. Its CIE has the row CFA = SP + 8, return address at CFA - 8, as after a call on x86.
 */
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

/* The code must lie in the module, so the module extends beyond the image. */
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
	memset(generated, 0, sizeof(generated));
	memset(&registers, 0, sizeof(registers));
	memset(frames, 0, sizeof(frames));
	reads = finds = code_reads = 0;
	code_end = UINTPTR_MAX;
	kept = arch_cfi_reg(3);
	registers.r[SP] = (uintptr_t)stack;
	image_init(&image);
	return 0;
}

/* Write a call instruction that ends at @pc, in the module or in generated code. */
static inline void put_call(uintptr_t pc)
{
#if defined(__x86_64__)
	static const uint8_t call[] = {0xe8, 0, 0, 0, 0};
#elif defined(__aarch64__)
	static const uint8_t call[] = {0, 0, 0, 0x94};
#endif
	uint8_t *end = pc - NO_MODULE <= GENERATED_BYTES ? generated + (pc - NO_MODULE)
							 : (uint8_t *)pc;

	memcpy(end - sizeof(call), call, sizeof(call));
}

/* Write a call of @function that ends at @pc. Both are in the module. */
static inline void put_call_of(uintptr_t pc, uintptr_t function)
{
#if defined(__x86_64__)
	uint32_t distance = (uint32_t)(function - pc);
#elif defined(__aarch64__)
	uint32_t distance = 0x94000000 | ((uint32_t)((function - (pc - 4)) >> 2) & 0x3ffffff);
#endif

	put_call(pc);
	memcpy((void *)(pc - 4), &distance, sizeof(distance));
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

/*
 * Check that frame @index is at @offset of the module's code; for a caller this is the return
 * address - 1.
 */
static void check_frame(unsigned index, uint32_t offset)
{
	assert_int_equal(frames[index], WIRE_FRAME(9, IMAGE_CODE + offset));
}

#endif
