/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads of the module's own mapped bytes, bounds-checked. */
/*
 * What one frame needs of call-frame information, in eight bytes: enough to go from pc, stack
 * pointer and frame pointer to the caller's. Rows that need another register are marked
 * COMPACT_COMPLEX and left to unwind_core.h.
 *
 *   63        48 47        32 31             8    6       5      4       3..0
 *   ra           fp           cfa            others  fp_at_fp  signal  kind
 *
 * ra and fp are where they are saved, as a signed offset from the CFA, cfa the CFA's offset from
 * its register; all in words. ra or fp 0: still in the register. fp_at_fp: fp counts from the frame
 * pointer instead, as in functions that align their stack. others: more registers are saved, and it
 * is not known where; for COMPACT_BY_CODE alone.
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
	COMPACT_EMPTY = 0, /* no row: never made, so that a zeroed cache is an empty one */
	COMPACT_SP,        /* CFA = sp + cfa */
	COMPACT_FP,        /* CFA = fp + cfa */
	COMPACT_FP_DEREF,  /* CFA = word at fp + cfa: an over-aligned frame */
	COMPACT_PLT,       /* CFA = sp + 8, and 8 more once pc % 16 has reached cfa */
	COMPACT_ROOT,      /* the return address is undefined: this is the outermost frame */
	COMPACT_SIGRETURN, /* a kernel signal frame: all registers are in its ucontext */
	COMPACT_COMPLEX,   /* needs all registers */
	COMPACT_NONE,      /* nothing covers this pc */
	COMPACT_BROKEN,    /* what covers this pc cannot be used */
	COMPACT_BY_CODE,   /* nothing covers it, but the code tells: CFA = sp + cfa */
	COMPACT_UNCALLED,  /* pc + 1 is a function's first byte, not behind a call */
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

/* Bytes, except that of a COMPACT_PLT row cfa is a count. */
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

/* Put @bytes as words into @bits bits at @shift. Returns false when it does not fit. */
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
 * The lazy binding stubs of a PLT: pc and stack depth in one expression,
 *   breg(sp) 8; breg(pc) 0; lit15; and; litK; ge; lit3; shl; plus
 * where K is how far into its 16 bytes a stub has pushed; it depends on the kind of PLT.
 *
 * Returns K, or 0 when @e is something else.
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

/* `breg(fp) n`, with `deref` after it when @deref. */
static inline bool compact_fp_expression(struct cfi_bytes e, bool deref, int64_t *offset)
{
	if (cfi_u8(&e) != EXPRESSION_BREG0 + ARCH_DWARF_FP)
		return false;
	*offset = cfi_sleb(&e);
	if (deref && cfi_u8(&e) != EXPRESSION_DEREF)
		return false;
	return !e.error && e.at == e.end;
}

/* The expression at @place of @row, without its length; empty and in error if it is none. */
static inline struct cfi_bytes cfi_expression(
	const struct unwind_module *module, const struct cfi_row *row, int32_t place)
{
	struct cfi_bytes bytes = {
		.at = row->base + (uintptr_t)(intptr_t)place, .end = unwind_cfi_end(module)};

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

/* The extract of @row, COMPACT_COMPLEX when it has none. Context: signal-safe. */
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
 * A row for code that no call-frame information covers, told from the code itself: what stands
 * where a function goes on leads straight to its return, or it is not known. JIT compilers and
 * CPython's trampolines, which have neither information nor frame pointers, get their callers so.
 * Code of modules, which stays what it is, is followed from anywhere to its return, once for each
 * place: assembly written by hand.
 */

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
 * The row of the code at @pc. Returns COMPACT_BY_CODE with its offsets, COMPACT_ROOT or
 * COMPACT_NONE.
 * Context: signal-safe where unwind_load() is.
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
