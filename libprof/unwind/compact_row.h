/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads of the module's own mapped bytes, bounds-checked. */
/*
 * A row of call-frame information, packed into eight bytes. It is enough to compute the caller's
 * pc, stack pointer and frame pointer. A row that needs other registers is COMPACT_COMPLEX, and
 * unwind_core.h steps by the full row.
 *
 *   63        48 47        32 31             8    6       5      4       3..0
 *   ra           fp           cfa            others  fp_at_fp  signal  kind
 *
 * - ra, fp: signed offsets from the CFA, in words, at which the return address and the frame
 *   pointer are saved; 0: the value is still in its register.
 * - cfa: offset, in words, from the register on which the CFA depends to the CFA.
 * - fp_at_fp: fp is an offset from the frame pointer, as in functions that align their stack.
 * - others: more registers are saved, at unknown offsets. Only in a COMPACT_BY_CODE row.
 */
#ifndef LIBPROF_UNWIND_COMPACT_ROW_H
#define LIBPROF_UNWIND_COMPACT_ROW_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/epilogue.h"
#include "arch/registers.h"
#include "libprof/unwind/cfi.h"
#include "libprof/unwind/cfi_run.h"
#include "libprof/unwind/load.h"
#include "libprof/unwind/unwind.h"

enum compact_kind {
	/* There is no row. This value is never stored, so a zeroed cache is empty. */
	COMPACT_EMPTY = 0,
	COMPACT_SP,        /* CFA = sp + cfa */
	COMPACT_FP,        /* CFA = fp + cfa */
	/* CFA = the word at fp + cfa. This is the row of a function that aligns its stack. */
	COMPACT_FP_DEREF,
	/* CFA = sp + 8, or sp + 16 if pc % 16 >= cfa. */
	COMPACT_PLT,
	/* The return address is undefined: this is the outermost frame. */
	COMPACT_ROOT,
	/* A signal frame of the kernel: all registers are in its ucontext. */
	COMPACT_SIGRETURN,
	COMPACT_COMPLEX,   /* needs all registers */
	/* No call-frame information covers this pc. */
	COMPACT_NONE,
	/* The call-frame information for this pc is invalid or not supported. */
	COMPACT_BROKEN,
	/* CFA = sp + cfa, as found by decoding the code. */
	COMPACT_BY_CODE,
	/*
	 * pc + 1 starts a function and no call is before it. As a return address, it ends the
	 * stack.
	 */
	COMPACT_UNCALLED,
};

#define COMPACT_SIGNAL   0x10u
#define COMPACT_FP_AT_FP 0x20u
#define COMPACT_OTHERS   0x40u

static inline enum compact_kind compact_kind(uint64_t row)
{
	return (enum compact_kind)(row & 0xf);
}

static inline bool compact_signal(uint64_t row)
{
	return row & COMPACT_SIGNAL;
}

static inline bool compact_fp_at_fp(uint64_t row)
{
	return row & COMPACT_FP_AT_FP;
}

static inline bool compact_others(uint64_t row)
{
	return row & COMPACT_OTHERS;
}

/*
 * Returns the CFA's offset in bytes. Do not use it for COMPACT_PLT, whose cfa has another meaning.
 */
static inline intptr_t compact_cfa(uint64_t row)
{
	return ((intptr_t)(int32_t)row >> 8) * 8;
}

static inline unsigned compact_plt(uint64_t row)
{
	return (uint32_t)row >> 8;
}

static inline intptr_t compact_fp(uint64_t row)
{
	return (intptr_t)(int16_t)(row >> 32) * 8;
}

static inline intptr_t compact_ra(uint64_t row)
{
	return (intptr_t)(int16_t)(row >> 48) * 8;
}

/* Store @bytes as words in the @bits bits at @shift. Returns false if the number does not fit. */
static inline bool compact_put(uint64_t *row, int64_t bytes, unsigned bits, unsigned shift)
{
	int64_t words = bytes >> 3;
	int64_t limit = 1LL << (bits - 1);

	if ((bytes & 7) || words >= limit || words < -limit)
		return false;
	*row |= ((uint64_t)words & ((1ULL << bits) - 1)) << shift;
	return true;
}

/*
 * Recognise the CFA expression of a PLT's lazy binding stubs. This expression computes the stack
 * depth from the pc:
 *   breg(sp) 8; breg(pc) 0; lit15; and; litK; ge; lit3; shl; plus
 * K is the offset in the 16-byte stub after its push; it depends on the kind of PLT.
 *
 * Returns K, or 0 if @e is another expression.
 */
static inline unsigned compact_plt_threshold(struct cfi_bytes e)
{
	unsigned k;

	if (e.end - e.at != 11 || cfi_u8(&e) != EXPRESSION_BREG0 + ARCH_DWARF_SP ||
		cfi_u8(&e) != 8 || cfi_u8(&e) != EXPRESSION_BREG0 + ARCH_DWARF_PC ||
		cfi_u8(&e) != 0 || cfi_u8(&e) != EXPRESSION_LIT0 + 15 ||
		cfi_u8(&e) != EXPRESSION_AND)
		return 0;
	k = cfi_u8(&e) - EXPRESSION_LIT0;
	if (k > 15 || cfi_u8(&e) != EXPRESSION_GE || cfi_u8(&e) != EXPRESSION_LIT0 + 3 ||
		cfi_u8(&e) != EXPRESSION_SHL || cfi_u8(&e) != EXPRESSION_PLUS)
		return 0;
	return k;
}

/* Is @e the expression `breg(fp) n`, followed by `deref` if @deref? If so, sets *offset to n. */
static inline bool compact_fp_expression(struct cfi_bytes e, bool deref, int64_t *offset)
{
	if (cfi_u8(&e) != EXPRESSION_BREG0 + ARCH_DWARF_FP)
		return false;
	*offset = cfi_sleb(&e);
	if (deref && cfi_u8(&e) != EXPRESSION_DEREF)
		return false;
	return !e.error && e.at == e.end;
}

/* Returns @row's expression at @offset, without its length. On failure its `error` is set. */
static inline struct cfi_bytes cfi_expression(
	const struct unwind_module *module, const struct cfi_row *row, int32_t offset)
{
	struct cfi_bytes bytes = {
		.at = row->base + (uintptr_t)(intptr_t)offset, .end = unwind_cfi_end(module)};

	if (bytes.at < unwind_cfi_start(module) || bytes.at >= unwind_cfi_end(module))
		return (struct cfi_bytes){.error = -EBADMSG};

	uint64_t length = cfi_uleb(&bytes);
	struct cfi_bytes rest = bytes;

	cfi_skip(&rest, length);
	bytes.end = rest.at;
	bytes.error = rest.error;
	return bytes;
}

static inline uint64_t compact_put_cfa(
	const struct unwind_module *module, const struct cfi_row *row)
{
	const struct cfi_rules *rules = &row->rules;
	uint64_t packed = 0;
	int64_t offset;

	if (rules->cfa_expression) {
		struct cfi_bytes e = cfi_expression(module, row, rules->cfa_value);
		unsigned k = compact_plt_threshold(e);

		if (k)
			return COMPACT_PLT | k << 8;
		if (compact_fp_expression(e, true, &offset) && compact_put(&packed, offset, 24, 8))
			return COMPACT_FP_DEREF | packed;
		return COMPACT_COMPLEX;
	}
	if (!compact_put(&packed, rules->cfa_value, 24, 8))
		return COMPACT_COMPLEX;
	if (rules->cfa_reg == ARCH_DWARF_SP)
		return COMPACT_SP | packed;
	return rules->cfa_reg == ARCH_DWARF_FP ? COMPACT_FP | packed : COMPACT_COMPLEX;
}

static inline bool compact_put_fp(
	const struct unwind_module *module, const struct cfi_row *row, uint64_t *packed)
{
	int32_t rule = row->rules.register_rule[arch_cfi_slot(ARCH_DWARF_FP)];
	int64_t offset;

	switch (cfi_rule_kind(rule)) {
	case CFI_RULE_NONE:
	case CFI_RULE_SAME:
		return true;
	case CFI_RULE_OFFSET:
		return cfi_rule_value(rule) && compact_put(packed, cfi_rule_value(rule), 16, 32);
	case CFI_RULE_EXPRESSION:
		*packed |= COMPACT_FP_AT_FP;
		return compact_fp_expression(
			       cfi_expression(module, row, cfi_rule_value(rule)), false, &offset) &&
		       compact_put(packed, offset, 16, 32);
	default:
		return false;
	}
}

/* Pack @row. Returns COMPACT_COMPLEX if it does not fit. Context: signal-safe. */
static inline uint64_t compact_from_row(
	const struct unwind_module *module, const struct cfi_row *row)
{
	int32_t ra = row->rules.register_rule[row->ra_slot];
	enum cfi_rule_kind ra_kind = cfi_rule_kind(ra);
	bool ra_kept = ra_kind == CFI_RULE_NONE || ra_kind == CFI_RULE_SAME;
	uint64_t packed = compact_put_cfa(module, row);

	if (ra_kind == CFI_RULE_UNDEFINED)
		return COMPACT_ROOT;
	if (row->signal)
		packed |= COMPACT_SIGNAL;
	if (compact_kind(packed) == COMPACT_COMPLEX)
		return packed;
	if (ra_kept ? arch_cfi_reg(row->ra_slot) != ARCH_DWARF_RA || ARCH_DWARF_RA == ARCH_DWARF_PC
		    : ra_kind != CFI_RULE_OFFSET || !cfi_rule_value(ra) ||
			      !compact_put(&packed, cfi_rule_value(ra), 16, 48))
		return COMPACT_COMPLEX | (packed & COMPACT_SIGNAL);
	if (cfi_rule_kind(row->rules.register_rule[arch_cfi_slot(ARCH_DWARF_SP)]) !=
			CFI_RULE_NONE ||
		!compact_put_fp(module, row, &packed))
		return COMPACT_COMPLEX | (packed & COMPACT_SIGNAL);
	return packed;
}

/* ---- a row from the code itself -------------------------------------------------------------- */
/*
 * Rows for code that no call-frame information covers, computed from its instructions. There is a
 * row only if the instructions from the pc on lead straight to the return. Such code comes from JIT
 * compilers and CPython's trampolines, which have neither call-frame information nor frame
 * pointers. The code of a module never changes, so it is also followed over branches, once for each
 * pc; this covers assembly that was written by hand.
 */

/* Fill @code with the bytes around @pc that are readable without a gap. */
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
			/* The word before the pc is not readable, so start at the next word. */
			start += sizeof(word);
		} else {
			break;
		}
	}
	code->at = (unsigned)(pc - start);
	code->exact = exact;
}

/* Pack @epilogue into a COMPACT_BY_CODE row. Returns COMPACT_NONE if it does not fit. */
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

/* Compute the row for @pc in the code [@start, @end) by following all branches to the return. */
static __attribute__((noinline)) uint64_t code_row_in_module(
	const struct unwind_memory *memory, uintptr_t pc, uintptr_t start, uintptr_t end)
{
	const struct arch_text source = {start, end, code_read_word, memory};
	struct arch_epilogue epilogue;

	return arch_follow_code(&source, pc, &epilogue) ? COMPACT_NONE : code_row_of(&epilogue);
}

/*
 * Compute the row for @pc by decoding the instructions straight ahead. Returns a COMPACT_BY_CODE
 * row, COMPACT_ROOT or COMPACT_NONE.
 * Context: signal-safe if unwind_load() is.
 */
static __attribute__((noinline)) uint64_t code_row(
	const struct unwind_memory *memory, uintptr_t pc, bool exact)
{
	struct arch_epilogue epilogue;
	struct arch_code code;

	code_read(memory, pc, exact, &code);
	if (code.at < code.end && arch_is_outermost(&code))
		return COMPACT_ROOT;
	if (code.at >= code.end || arch_find_epilogue(&code, &epilogue))
		return COMPACT_NONE;
	return code_row_of(&epilogue);
}

#endif
