/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: loads as load.h. */
/*
 * A row for code that no call-frame information covers, told from the code itself: what stands
 * where a function goes on leads straight to its return, or it is not known. JIT compilers and
 * CPython's trampolines, which have neither information nor frame pointers, get their callers so.
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

/*
 * The row of the code at @pc. Returns COMPACT_BY_CODE with its offsets, or COMPACT_NONE.
 * Context: signal-safe where unwind_load() is.
 */
static __attribute__((noinline)) uint64_t code_row(
	const struct unwind_memory *memory, uintptr_t pc, bool exact)
{
	struct arch_epilogue epilogue;
	struct arch_code code;
	uint64_t row = COMPACT_BY_CODE;

	code_read(memory, pc, exact, &code);
	if (code.at >= code.end || arch_find_epilogue(&code, &epilogue) ||
		!compact_put(&row, epilogue.cfa, 24, 8) ||
		!compact_put(&row, -(int64_t)epilogue.ra, 16, 48) ||
		!compact_put(&row, -(int64_t)epilogue.fp, 16, 32))
		return COMPACT_NONE;
	return epilogue.others ? row | COMPACT_OTHERS : row;
}

#endif
