/* SPDX-License-Identifier: MIT */
/*
 * Walk stacks by hostile call-frame information. The input is a module and a stack, and says where
 * in the module its .eh_frame_hdr is. No read may leave the module and the stack, and every walk
 * must end.
 *
 *	clang-14 -g -O1 -std=gnu11 -D_GNU_SOURCE -I. -Iarch/x86_64 \
 *		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
 *		-o fuzz-cfi tests/fuzz/fuzz-cfi.c && ./fuzz-cfi -max_total_time=120
 *
 * Input: 2 bytes offset of the header; 1 byte distance between the addresses at which walks begin;
 * 1 byte number of stack words; 1 byte mask of the registers that are known; the stack; the module,
 * which is all code.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/unwind/unwind.h"

#define FRAMES      64u
#define HEAD	    5u
#define STACK_WORDS 255u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct unwind_module fuzzed;

/*
 * Read a word of the module. Outside the module, every second block of 64 bytes is readable. A word
 * there has a value that is computed from its address.
 */
static inline int UNWIND_READ(void *context, uintptr_t address, uintptr_t *value)
{
	(void)context;
	if (address >= fuzzed.start && address < fuzzed.end) {
		if (fuzzed.end - address < sizeof(*value))
			return -EFAULT;
		memcpy(value, (const void *)address, sizeof(*value));
		return 0;
	}
	if (address & 64)
		return -EFAULT;
	*value = address * 3;
	return 0;
}

static inline int UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out)
{
	(void)context;
	if (pc < fuzzed.start || pc >= fuzzed.end)
		return -ENOENT;
	*out = fuzzed;
	return 0;
}

#define UNWIND_ROWCACHE ((struct rowcache *)NULL)
#define UNWIND_PARTIAL 1
#include "libprof/unwind/unwind_core.h"

static void walk_from(const struct arch_registers *registers, uint64_t known,
	const struct unwind_bounds *bounds)
{
	uint64_t frames[FRAMES];
	struct unwind_result result =
		unwind_walk_known(registers, known, bounds, frames, FRAMES, NULL);

	if (result.frames == 0 || result.frames > FRAMES || result.end >= WIRE_END_COUNT)
		abort();
	if (result.end == WIRE_END_DEPTH && result.frames != FRAMES)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < HEAD)
		return 0;

	size_t header = data[0] | (size_t)data[1] << 8;
	size_t stack_bytes = (data[3] % STACK_WORDS) * sizeof(uintptr_t);

	if (size - HEAD < stack_bytes || size - HEAD - stack_bytes == 0)
		return 0;

	/*
	 * Copy module and stack to blocks of their exact sizes, so that the sanitizer reports reads
	 * beyond them.
	 */
	size_t module_bytes = size - HEAD - stack_bytes;
	uint8_t *module = malloc(module_bytes);
	uint8_t *stack = malloc(stack_bytes + 1);

	memcpy(module, data + HEAD + stack_bytes, module_bytes);
	memcpy(stack, data + HEAD, stack_bytes);
	fuzzed = (struct unwind_module){
		.start = (uintptr_t)module,
		.end = (uintptr_t)module + module_bytes,
		.bias = (uintptr_t)module,
		.eh_frame_hdr = (uintptr_t)module + header % (module_bytes + 1),
		.number = 1,
	};

	/* Turn small stack words into addresses: below 2^16 in the module, others in the stack. */
	for (size_t i = 0; i + sizeof(uintptr_t) <= stack_bytes; i += sizeof(uintptr_t)) {
		uintptr_t word;

		memcpy(&word, stack + i, sizeof(word));
		if (word >> 16 == 0)
			word += fuzzed.start;
		else if (word >> 32 == 0)
			word = (uintptr_t)stack + (word & 0x7ff);
		memcpy(stack + i, &word, sizeof(word));
	}

	struct unwind_bounds bounds = {(uintptr_t)stack, (uintptr_t)stack + stack_bytes};
	struct arch_registers registers;
	/*
	 * Repeat the 8 bits of one input byte for all registers. Program counter and stack pointer
	 * are always known.
	 */
	uint64_t known = data[4] * 0x0101010101010101ULL | 1ULL << ARCH_DWARF_PC |
			 1ULL << ARCH_DWARF_SP;

	memset(&unwind_depths, 0, sizeof(unwind_depths));
	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++)
		registers.r[reg] = (uintptr_t)stack + 8 * reg;
	registers.r[ARCH_DWARF_SP] = (uintptr_t)stack;
	for (size_t pc = 0; pc < module_bytes; pc += 1 + data[2]) {
		registers.r[ARCH_DWARF_PC] = fuzzed.start + pc;
		walk_from(&registers, known, &bounds);
	}
	free(module);
	free(stack);
	return 0;
}
