/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: loads as load.h. */
/*
 * A row for code that no call-frame information covers, told from the code itself: what stands
 * where a function goes on leads straight to its return, or it is not known. JIT compilers and
 * CPython's trampolines, which have neither information nor frame pointers, get their callers so.
 * Code of modules, which stays what it is, is followed from anywhere to its return, once for each
 * place: assembly written by hand.
 */
#ifndef LIBPROF_UNWIND_CODE_ROW_H
#define LIBPROF_UNWIND_CODE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/epilogue.h"
#include "libprof/unwind/compact_row.h"
#include "libprof/unwind/load.h"

/* Fill @code with what can be read around @pc. Words never reach into a page @pc is not in. */
static inline void code_read(
	const struct unwind_memory *memory, uintptr_t pc, bool exact, struct arch_code *code)
{
	uintptr_t start = (exact ? pc - ARCH_CODE_BEFORE : pc) & ~(sizeof(uintptr_t) - 1);
	uintptr_t word;

	code->end = 0;
	while (code->end < ARCH_CODE_BYTES) {
		if (!unwind_load(memory, start + code->end, &word)) {
			for (unsigned i = 0; i < sizeof(word); i++, word >>= 8)
				code->bytes[code->end++] = (uint8_t)word;
		} else if (!code->end && pc - start >= sizeof(word)) {
			start += sizeof(word); /* what lies before the pc is not there */
		} else {
			break;
		}
	}
	code->at = (unsigned)(pc - start);
	code->exact = exact;
}

static inline uint64_t code_row_of(const struct arch_epilogue *epilogue)
{
	uint64_t row = COMPACT_BY_CODE;

	if (!compact_put(&row, epilogue->cfa, 24, 8) ||
		!compact_put(&row, -(int64_t)epilogue->ra, 16, 48) ||
		!compact_put(&row, -(int64_t)epilogue->fp, 16, 32))
		return COMPACT_NONE;
	return epilogue->others ? row | COMPACT_OTHERS : row;
}

static int code_read_word(const void *memory, uintptr_t address, uintptr_t *word)
{
	return unwind_load((const struct unwind_memory *)memory, address, word);
}

/* As code_row(), of the module [@start, @end), from anywhere in a function. */
static __attribute__((noinline)) uint64_t code_row_in_module(
	const struct unwind_memory *memory, uintptr_t pc, uintptr_t start, uintptr_t end)
{
	const struct arch_text source = {start, end, code_read_word, memory};
	struct arch_epilogue epilogue;

	return arch_follow_code(&source, pc, &epilogue) ? COMPACT_NONE : code_row_of(&epilogue);
}

/*
 * The row of the code at @pc. Returns COMPACT_BY_CODE with its offsets, or COMPACT_NONE.
 * Context: signal-safe where unwind_load() is.
 */
static __attribute__((noinline)) uint64_t code_row(
	const struct unwind_memory *memory, uintptr_t pc, bool exact)
{
	struct arch_epilogue epilogue;
	struct arch_code code;

	code_read(memory, pc, exact, &code);
	if (code.at >= code.end || arch_find_epilogue(&code, &epilogue))
		return COMPACT_NONE;
	return code_row_of(&epilogue);
}

#endif
