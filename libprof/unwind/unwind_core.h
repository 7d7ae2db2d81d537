/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: as walk.h. */
/*
 * The walk from a set of registers to the outermost frame. All functions are `static inline`. The
 * handler, the sampler from outside, the tests and the fuzzer each include this file once. Before
 * they include it, they must define (as functions, or as macros with the same parameters)
 *
 *   UNWIND_READ(void *context, uintptr_t address, uintptr_t *value) -> int
 *       see load.h
 *   UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out) -> int
 *       Find the module that contains @pc. Returns 0, or -ENOENT if there is none; the walk
 *       then uses the code itself or frame pointers.
 *
 * and may define
 *
 *   UNWIND_ASK(void *context, struct unwind_activation *at) -> int
 *       Ask a language runtime (runtime/runtime.h) for the caller of @at. Called before a step
 *       from a frame in no module or in a module that has a runtime, and at the end of a stack;
 *       at->question says which. Returns UNWIND_CALLER or UNWIND_INSIDE, with pc, sp and fp of
 *       that frame in @at; 0 if the walk must step by itself; -errno if the caller cannot be
 *       found.
 *
 *   UNWIND_RUN(void *context, const struct unwind_module *module,
 *           const struct unwind_frame *frame, uint64_t *frames, unsigned room) -> unsigned
 *       Write the frames of interpreted or compiled language functions that run in the native
 *       frame @frame, innermost first. Called after the step for each frame in no module; and,
 *       if the step succeeded, for each frame in a module that has a runtime or whose caller
 *       was found through the frame pointer. Returns the number of frames written.
 *
 * and UNWIND_IS_CODE, UNWIND_ROWCACHE, UNWIND_PARTIAL (walk.h) and UNWIND_CFI_POINTER (cfi.h).
 */
#ifndef LIBPROF_UNWIND_UNWIND_CORE_H
#define LIBPROF_UNWIND_UNWIND_CORE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "libprof/unwind/cfi_run.h"
#include "libprof/unwind/compact_row.h"
#include "libprof/unwind/expression.h"
#include "libprof/unwind/load.h"
#include "libprof/unwind/stack_depth.h"
#include "libprof/unwind/unwind.h"
#include "libprof/unwind/walk.h"

#ifndef UNWIND_RUN
static inline unsigned UNWIND_RUN(void *context, const struct unwind_module *module,
	const struct unwind_frame *frame, uint64_t *frames, unsigned room)
{
	(void)context, (void)module, (void)frame, (void)frames, (void)room;
	return 0;
}
#endif

#ifndef UNWIND_ASK
#define UNWIND_ASK(context, at) 0
#endif

/* ---- steps that recover every register ------------------------------------------------------- */
/*
 * Full steps recover every register that call-frame information describes. Few frames need them:
 * those whose CFA or return address depends on a register other than sp and fp. The walk makes
 * steps by compact rows until it reaches such a frame. Then it repeats the steps from the anchor
 * (the last frame whose registers are all known) as full steps, and moves the anchor to the caller
 * of this frame. So no frame is stepped over in full more than once.
 */

static inline int full_expression(const struct unwind_walk *walk, const struct cfi_row *row,
	int32_t offset, const uintptr_t *cfa, uintptr_t *value)
{
	struct expression_input input = {
		.registers = &walk->registers, .known = walk->known, .memory = &walk->memory};
	struct cfi_bytes bytes = cfi_expression(&walk->module, row, offset);

	return bytes.error ? bytes.error : expression_run(bytes, &input, cfa, value);
}

static inline int full_known(const struct unwind_walk *walk, unsigned reg, uintptr_t *value)
{
	if (reg >= ARCH_DWARF_REGS || !(walk->known & unwind_register_bit(reg)))
		return -ENOENT;
	*value = walk->registers.r[reg];
	return 0;
}

static inline int full_cfa(
	const struct unwind_walk *walk, const struct cfi_row *row, uintptr_t *cfa)
{
	const struct cfi_rules *rules = &row->rules;

	if (rules->cfa_expression)
		return full_expression(walk, row, rules->cfa_value, NULL, cfa);

	int error = full_known(walk, rules->cfa_reg, cfa);

	if (!error)
		*cfa += (uintptr_t)(intptr_t)rules->cfa_value;
	return error;
}

/*
 * The row says that the frame pointer is saved on the stack. Has the code restored it already? gcc
 * writes such rows for the code after `leave` in functions that align their stack. The register
 * then has the caller's value, which points outside of this frame.
 */
static inline bool full_fp_restored(const struct unwind_walk *walk, const struct cfi_row *row,
	uintptr_t cfa, unsigned slot, uintptr_t address)
{
	return arch_cfi_reg(slot) == ARCH_DWARF_FP && !row->signal && unwind_fp_known(walk) &&
	       address == walk->registers.r[ARCH_DWARF_FP] &&
	       (address < walk->registers.r[ARCH_DWARF_SP] || address >= cfa);
}

/* Recover the caller's value of the register in @slot. Returns 0, or -errno if it is not known. */
static inline int full_register(const struct unwind_walk *walk, const struct cfi_row *row,
	uintptr_t cfa, unsigned slot, uintptr_t *value)
{
	int32_t rule = row->rules.register_rule[slot];
	int32_t operand = cfi_rule_value(rule);
	uintptr_t address;
	int error;

	switch (cfi_rule_kind(rule)) {
	case CFI_RULE_NONE:
	case CFI_RULE_SAME:
		/* The caller's stack pointer is the CFA, unless another rule exists. */
		if (arch_cfi_reg(slot) != ARCH_DWARF_SP)
			return full_known(walk, arch_cfi_reg(slot), value);
		*value = cfa;
		return 0;
	case CFI_RULE_OFFSET:
		return unwind_load(&walk->memory, cfa + (uintptr_t)(intptr_t)operand, value);
	case CFI_RULE_VAL_OFFSET:
		*value = cfa + (uintptr_t)(intptr_t)operand;
		return 0;
	case CFI_RULE_REGISTER:
		return operand < 0 ? -EBADMSG : full_known(walk, (unsigned)operand, value);
	case CFI_RULE_EXPRESSION:
		error = full_expression(walk, row, operand, &cfa, &address);
		if (error)
			return error;
		if (full_fp_restored(walk, row, cfa, slot, address))
			return full_known(walk, ARCH_DWARF_FP, value);
		return unwind_load(&walk->memory, address, value);
	case CFI_RULE_VAL_EXPRESSION:
		return full_expression(walk, row, operand, &cfa, value);
	default:
		return -ENOENT;
	}
}

/* Does the row say that the register in @slot has the same value in the caller? */
static inline bool full_untouched(const struct cfi_row *row, unsigned slot)
{
	enum cfi_rule_kind kind = cfi_rule_kind(row->rules.register_rule[slot]);

	return kind == CFI_RULE_NONE || kind == CFI_RULE_SAME;
}

/* Recover the caller's registers to @value[slot]. In the result, bit n is set if n is known. */
static inline uint64_t full_registers(const struct unwind_walk *walk, const struct cfi_row *row,
	uintptr_t cfa, uintptr_t value[ARCH_CFI_SLOTS])
{
	/*
	 * Keep registers that a callee may overwrite. If a row needs such a register after a call,
	 * the code relies on the callee not to change it: assembler code of libcrypto has its CFA
	 * in rax.
	 */
	uint64_t known = walk->known & ARCH_CALL_KEEPS;

	for (unsigned slot = 0; slot < ARCH_CFI_SLOTS; slot++) {
		unsigned reg = arch_cfi_reg(slot);

		if (full_register(walk, row, cfa, slot, &value[slot])) {
			known &= ~unwind_register_bit(reg);
			value[slot] = 0;
		} else if (!full_untouched(row, slot) || reg == ARCH_DWARF_SP) {
			known |= unwind_register_bit(reg);
		}
	}
	return known;
}

/* ---- a frame pointer that is not known ------------------------------------------------------- */
/*
 * Functions that do not use the frame pointer, such as libc's system calls, do not save it on the
 * stack. So a walk that began without the frame pointer cannot recover it for their callers, but a
 * caller's CFA may depend on it. The distance between frame pointer and stack pointer is computed
 * from the caller's code (stack_depth.h). A distance is accepted if the return address found with
 * it follows a call or is that of a signal handler. If several distances are accepted, none is
 * used.
 */
#if UNWIND_PARTIAL

/*
 * A cache of depths by module and pc. The value 2 means that no depth is known. Otherwise bit 0 is
 * set, bits 1 to 32 are stack_depth.least, and the bits from 33 on stack_depth.align. For code
 * without call-frame information, the value is the compact row.
 */
static struct rowcache unwind_depths;

static inline uint64_t unwind_depth_key(const struct unwind_walk *walk)
{
	return rowcache_key(unwind_lookup_pc(walk) - walk->module.row_bias, walk->module.number);
}

static inline int unwind_find_depth(
	struct unwind_walk *walk, const struct cfi_fde *fde, struct stack_depth *depth)
{
	const struct arch_text text = {
		walk->module.start, walk->module.end, code_read_word, &walk->memory};
	uintptr_t pc = walk->registers.r[ARCH_DWARF_PC];
	uint64_t key = unwind_depth_key(walk);
	uint64_t known = rowcache_get(&unwind_depths, key);
	struct cfi_row entry;

	if (!known) {
		/*
		 * Reject split-off parts (.cold): their first CFA is not that of a function's
		 * entry.
		 */
		bool is_found =
			!cfi_run_fde(&walk->module, fde, fde->begin, &entry) &&
			!entry.rules.cfa_expression && entry.rules.cfa_reg == ARCH_DWARF_SP &&
			entry.rules.cfa_value == ARCH_ENTRY_CFA &&
			!stack_depth_find(&text, fde->begin, fde->end, pc, walk->exact, depth);

		known = is_found ? 1 | (uint64_t)depth->least << 1 | (uint64_t)depth->align << 33
				 : 2;
		rowcache_put(&unwind_depths, key, known);
	}
	depth->least = (uint32_t)known >> 1;
	depth->align = (uint32_t)(known >> 33);
	return known & 1 ? 0 : -ENOENT;
}

/* Find the row of a module's code without call-frame information by following it to its returns. */
static inline uint64_t unwind_row_outward(const struct unwind_walk *walk)
{
	const struct arch_text text = {
		walk->module.start, walk->module.end, code_read_word, &walk->memory};
	uintptr_t pc = walk->registers.r[ARCH_DWARF_PC];
	uint64_t key = unwind_depth_key(walk);
	uint64_t row = rowcache_get(&unwind_depths, key);
	uintptr_t cfa, ra;
	struct arch_epilogue epilogue;

	if (!row) {
		row = stack_depth_outward(&text, pc, &epilogue) ? COMPACT_NONE
								: code_row_of(&epilogue);
		rowcache_put(&unwind_depths, key, row);
	}
	cfa = walk->registers.r[ARCH_DWARF_SP] + (uintptr_t)compact_cfa(row);
	if (compact_kind(row) == COMPACT_BY_CODE &&
		(unwind_load(&walk->memory, cfa + (uintptr_t)compact_ra(row), &ra) ||
			!unwind_is_return(walk, ra)))
		return COMPACT_NONE;
	return row;
}

/* Would the frame at walk->depth, with @row, have a valid return address if @fp were right? */
static inline bool unwind_has_caller(
	const struct unwind_walk *walk, const struct cfi_row *row, uintptr_t fp)
{
	struct unwind_walk tried = *walk;
	uintptr_t cfa, ra;

	tried.registers.r[ARCH_DWARF_FP] = fp;
	tried.known |= unwind_register_bit(ARCH_DWARF_FP);
	return !full_cfa(&tried, row, &cfa) && cfa > fp &&
	       !full_register(&tried, row, cfa, row->ra_slot, &ra) && unwind_is_return(walk, ra);
}

/* If possible, set the frame pointer of the frame at walk->depth, whose pc and sp are known. */
static inline void unwind_learn_fp(struct unwind_walk *walk, uintptr_t pc)
{
	uintptr_t sp = walk->registers.r[ARCH_DWARF_SP], fp, end, found = 0;
	struct stack_depth depth;
	struct cfi_fde fde;
	struct cfi_row row;
	unsigned count = 0;

	if (cfi_find_fde(&walk->module, pc, &fde) || cfi_run_fde(&walk->module, &fde, pc, &row) ||
		unwind_find_depth(walk, &fde, &depth))
		return;
	fp = sp + depth.least;
	end = fp + (depth.align ? depth.align : 1);
	/* Try multiples of the ABI's stack alignment only; the code may align the stack more. */
	if (depth.align)
		fp = (fp + ARCH_STACK_ALIGN - 1) & ~(uintptr_t)(ARCH_STACK_ALIGN - 1);
	for (; fp < end; fp += ARCH_STACK_ALIGN) {
		if (!unwind_has_caller(walk, &row, fp))
			continue;
		found = fp;
		count++;
	}
	if (count != 1)
		return;
	walk->registers.r[ARCH_DWARF_FP] = found;
	walk->known |= unwind_register_bit(ARCH_DWARF_FP);
}

#endif

/* Returns true if the step by @row needs, or may need, the frame pointer. */
static inline bool unwind_needs_fp(uint64_t row)
{
	return compact_kind(row) == COMPACT_FP || compact_kind(row) == COMPACT_FP_DEREF ||
	       compact_kind(row) == COMPACT_COMPLEX || compact_fp_at_fp(row);
}

/*
 * If the frame pointer is not known, but @row needs it, try to find it. Returns the row by which to
 * step, which is another row for code without call-frame information.
 */
static inline uint64_t unwind_row_with_fp(struct unwind_walk *walk, uint64_t row, uintptr_t pc)
{
#if UNWIND_PARTIAL
	if (unwind_fp_known(walk))
		return row;
	if (compact_kind(row) == COMPACT_NONE && walk->module.end)
		return unwind_row_outward(walk);
	if (unwind_needs_fp(row))
		unwind_learn_fp(walk, pc);
#else
	(void)walk, (void)pc;
#endif
	return row;
}

static __attribute__((noinline)) int unwind_step_full(struct unwind_walk *walk, uintptr_t pc)
{
	struct cfi_row row;
	uintptr_t cfa, ra, value[ARCH_CFI_SLOTS];
	int error = cfi_find_row(&walk->module, pc, &row);

	if (error)
		return error;
	if (cfi_rule_kind(row.rules.register_rule[row.ra_slot]) == CFI_RULE_UNDEFINED)
		return UNWIND_STEP_ROOT;
	/* If the return address column is the pc, an unchanged pc is no return address. */
	bool ra_kept = full_untouched(&row, row.ra_slot);

	if (ra_kept && arch_cfi_reg(row.ra_slot) == ARCH_DWARF_PC)
		return -ENOENT;
	error = full_cfa(walk, &row, &cfa);
	if (!error)
		error = full_register(walk, &row, cfa, row.ra_slot, &ra);
	if (error)
		return error;

	uint64_t known = full_registers(walk, &row, cfa, value);
	uintptr_t sp = walk->registers.r[ARCH_DWARF_SP];
	uintptr_t caller_sp = value[arch_cfi_slot(ARCH_DWARF_SP)];
	bool ra_loaded = cfi_rule_kind(row.rules.register_rule[row.ra_slot]) == CFI_RULE_OFFSET;

	if (!(known & unwind_register_bit(ARCH_DWARF_SP)))
		return -ENOENT;
	if (!row.signal && (caller_sp < sp || (caller_sp == sp && ra_loaded)))
		return -ENOENT;
	for (unsigned slot = 0; slot < ARCH_CFI_SLOTS; slot++)
		walk->registers.r[arch_cfi_reg(slot)] = value[slot];
	walk->registers.r[ARCH_DWARF_PC] = arch_strip_pointer(ra);
	walk->known = known | unwind_register_bit(ARCH_DWARF_PC);
	walk->exact = row.signal;
	walk->by_fp = false;
	return walk->registers.r[ARCH_DWARF_PC] ? 0 : UNWIND_STEP_ROOT;
}

/*
 * Step from the anchor to the frame at depth @end by full steps.
 *
 * Returns 0, UNWIND_STEP_ROOT or -errno. Afterwards walk->registers belong to the frame at *depth.
 * Context: signal-safe.
 */
static __attribute__((noinline)) int unwind_steps_full(
	struct unwind_walk *walk, unsigned end, unsigned *depth)
{
	const struct unwind_anchor *anchor = &walk->anchor;
	int step = 0;

	walk->registers.r[ARCH_DWARF_PC] = anchor->pc;
	walk->registers.r[ARCH_DWARF_SP] = anchor->sp;
	walk->registers.r[ARCH_DWARF_FP] = anchor->fp;
	walk->known = anchor->known;
	walk->exact = anchor->exact;
	walk->by_fp = false;
	for (*depth = anchor->depth; !step && *depth < end; ++*depth) {
		uintptr_t pc = unwind_lookup_pc(walk);

		unwind_enter_module(walk, pc);

		uint64_t row = unwind_row(walk, pc);

		row = unwind_row_with_fp(walk, row, pc);
		if (compact_kind(row) == COMPACT_NONE)
			step = unwind_step_uncovered(walk);
		else if (compact_kind(row) == COMPACT_BY_CODE)
			step = unwind_step_code(walk, row);
		else
			step = unwind_step_full(walk, pc);
	}
	return step;
}

/* Step from the frame at walk->depth by a full step. Returns 0, UNWIND_STEP_ROOT or -errno. */
static inline int unwind_step_complex(struct unwind_walk *walk)
{
	unsigned depth;
	int step = unwind_steps_full(walk, walk->depth + 1, &depth);

	unwind_set_anchor(walk, depth);
	return step;
}

/* Recover the registers of the frame at walk->depth. Implements unwind_frame.registers. */
static inline uint64_t unwind_frame_registers(
	const struct unwind_frame *frame, struct arch_registers *out)
{
	struct unwind_walk again = *(const struct unwind_walk *)frame->walk;
	unsigned depth;

	if (again.anchor.depth > again.depth || unwind_steps_full(&again, again.depth, &depth))
		return 0;
	*out = again.registers;
	return again.known;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static inline int unwind_compact_cfa(const struct unwind_walk *walk, uint64_t row, uintptr_t *cfa)
{
	uintptr_t sp = walk->registers.r[ARCH_DWARF_SP];
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP];

	switch (compact_kind(row)) {
	case COMPACT_SP:
		*cfa = sp + (uintptr_t)compact_cfa(row);
		return 0;
	case COMPACT_FP:
		*cfa = fp + (uintptr_t)compact_cfa(row);
		return 0;
	case COMPACT_FP_DEREF:
		return unwind_load(&walk->memory, fp + (uintptr_t)compact_cfa(row), cfa);
	default: /* COMPACT_PLT */
		*cfa = sp + 8;
		if ((walk->registers.r[ARCH_DWARF_PC] & 15) >= compact_plt(row))
			*cfa += 8;
		return 0;
	}
}

/*
 * The row says that the frame pointer is saved at the address in the frame pointer. Is this address
 * outside of the frame? Then the code has restored the register already: see full_fp_restored().
 */
static inline bool unwind_fp_restored(const struct unwind_walk *walk, uint64_t row, uintptr_t cfa)
{
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP];

	return !compact_fp(row) && !compact_signal(row) &&
	       (fp < walk->registers.r[ARCH_DWARF_SP] || fp >= cfa);
}

static inline int unwind_step_compact(struct unwind_walk *walk, uint64_t row)
{
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP];
	uintptr_t caller_fp = fp;
	uintptr_t cfa, pc;
	int error;

	if (!unwind_fp_known(walk) && unwind_needs_fp(row))
		return -ENOENT;
	error = unwind_compact_cfa(walk, row, &cfa);
	if (error)
		return error;
	/* Only a frame with its return address in a register may have no bytes on the stack. */
	if (cfa <= walk->registers.r[ARCH_DWARF_SP] && !compact_signal(row) &&
		(cfa < walk->registers.r[ARCH_DWARF_SP] || compact_ra(row)))
		return -ENOENT;
	if (compact_ra(row))
		error = unwind_load(&walk->memory, cfa + (uintptr_t)compact_ra(row), &pc);
	else if (walk->known & unwind_register_bit(ARCH_DWARF_RA))
		pc = walk->registers.r[ARCH_DWARF_RA];
	else
		return -ENOENT;
	if (!error && compact_fp_at_fp(row) && !unwind_fp_restored(walk, row, cfa))
		error = unwind_load(&walk->memory, fp + (uintptr_t)compact_fp(row), &caller_fp);
	else if (!error && !compact_fp_at_fp(row) && compact_fp(row))
		error = unwind_load(&walk->memory, cfa + (uintptr_t)compact_fp(row), &caller_fp);
	if (error)
		return error;
	if (UNWIND_PARTIAL && compact_fp(row))
		walk->known |= unwind_register_bit(ARCH_DWARF_FP);
	error = unwind_set_caller(walk, pc, cfa, caller_fp);
	walk->exact = compact_signal(row);
	return error;
}

/* Step by @row from the frame at walk->depth to its caller. */
static inline int unwind_step(struct unwind_walk *walk, uint64_t row)
{
	int step;

	switch (compact_kind(row)) {
	case COMPACT_SP:
	case COMPACT_FP:
	case COMPACT_FP_DEREF:
	case COMPACT_PLT:
		return unwind_step_compact(walk, row);
	case COMPACT_ROOT:
		return UNWIND_STEP_ROOT;
	case COMPACT_SIGRETURN:
		step = unwind_step_sigreturn(walk);
		unwind_set_anchor(walk, walk->depth + 1);
		return step;
	case COMPACT_UNCALLED:
		/* If pc + 1 is a return address, no call has pushed it: the stack begins here. */
		if (!walk->exact)
			return UNWIND_STEP_ROOT;
		/* fall through */
	case COMPACT_COMPLEX:
		return unwind_step_complex(walk);
	case COMPACT_NONE:
		return unwind_step_uncovered(walk);
	case COMPACT_BY_CODE:
		return unwind_step_code(walk, row);
	default:
		return -ENOENT;
	}
}

/*
 * Continue the walk at @at, the frame in which the generated code runs. Registers other than pc, sp
 * and fp stay known only if the anchor is this frame, because full steps cannot be repeated across
 * generated code.
 */
static inline void unwind_enter_outer(struct unwind_walk *walk, const struct unwind_activation *at)
{
	if (walk->anchor.depth != walk->depth)
		walk->known &= UNWIND_KNOWN_ALWAYS;
	walk->registers.r[ARCH_DWARF_PC] = at->pc;
	walk->registers.r[ARCH_DWARF_SP] = at->sp;
	walk->exact = true;
	walk->by_fp = false;
	unwind_set_anchor(walk, walk->depth);
	unwind_enter_module(walk, at->pc);
}

/*
 * Ask a runtime for the caller of a frame that is in no module, or in a module that has a runtime.
 * Returns 0 or -errno. *has_stepped is set if the walk is at the caller. Otherwise the caller of
 * this function must step, possibly from another frame than before (UNWIND_INSIDE).
 */
static inline int unwind_step_generated(struct unwind_walk *walk, bool *has_stepped)
{
	struct unwind_activation at = {
		.pc = walk->registers.r[ARCH_DWARF_PC],
		.sp = walk->registers.r[ARCH_DWARF_SP],
		.fp = walk->registers.r[ARCH_DWARF_FP],
		.question = walk->module.end ? UNWIND_OWN_CODE : UNWIND_GENERATED,
		.has_fp = unwind_fp_known(walk),
		.innermost = walk->exact && walk->known == ~0ULL ? &walk->registers : NULL,
	};
	int answer = UNWIND_ASK(walk->memory.context, &at), step;

	*has_stepped = answer == UNWIND_CALLER;
	if (answer <= 0)
		return answer ? -ENOENT : 0;
	if (answer == UNWIND_INSIDE) {
		unwind_enter_outer(walk, &at);
		return walk->module.end ? 0 : -ENOENT;
	}
	step = unwind_set_caller(walk, at.pc, at.sp, at.fp);
	/*
	 * Generated code may change callee-saved registers, which the ABI forbids. So forget them.
	 */
	walk->known &= UNWIND_KNOWN_ALWAYS;
	unwind_set_anchor(walk, walk->depth + 1);
	return step;
}

/* Call UNWIND_RUN for the frame @left. @step: 0 if the step from @left found its caller. */
static inline unsigned unwind_run(const struct unwind_walk *walk, struct unwind_frame *left,
	int step, uint64_t *frames, unsigned room)
{
	if (!step) {
		left->caller_sp = walk->registers.r[ARCH_DWARF_SP];
		left->caller_pc = walk->registers.r[ARCH_DWARF_PC];
		left->fp = walk->by_fp ? left->caller_sp - 2 * sizeof(uintptr_t) : 0;
	}
	left->registers = unwind_frame_registers;
	left->walk = walk;
	return UNWIND_RUN(walk->memory.context, &walk->module, left, frames, room);
}

/*
 * At the end of a stack, in the frame at @pc: if it is the stack of a coroutine, step to the frame
 * that resumed the coroutine. Skip this on a stack of one or two frames, because a coroutine that
 * has just started has not stored yet which frame resumed it. Returns 0, or UNWIND_STEP_ROOT.
 */
static __attribute__((noinline)) int unwind_step_resumed(
	struct unwind_walk *walk, uintptr_t pc, uintptr_t sp)
{
	struct unwind_activation at = {.pc = pc, .sp = sp, .question = UNWIND_STACK_END};
	int step;

	if (walk->depth < 2 || UNWIND_ASK(walk->memory.context, &at) <= 0)
		return UNWIND_STEP_ROOT;
	walk->known = UNWIND_KNOWN_ALWAYS;
	step = unwind_set_caller(walk, at.pc, at.sp, at.fp);
	unwind_set_anchor(walk, walk->depth + 1);
	return step;
}

/* Returns the frame at walk->depth in the format of struct wire_sample. */
static inline uint64_t unwind_wire_frame(const struct unwind_walk *walk, uintptr_t pc, uint64_t row)
{
	/* The pc of these two rows does not follow a call, so use it and not the byte before it. */
	if (compact_kind(row) == COMPACT_SIGRETURN || compact_kind(row) == COMPACT_UNCALLED)
		pc = walk->registers.r[ARCH_DWARF_PC];

	uint64_t frame = WIRE_FRAME(walk->module.number, pc);

	if (walk->module.number != WIRE_MODULE_NONE)
		frame = WIRE_FRAME(walk->module.number, pc - walk->module.bias);
	return walk->by_fp ? frame | WIRE_FRAME_BY_FP : frame;
}

/*
 * Walk a stack.
 *
 * @regs            registers of the innermost frame, borrowed
 * @known           bit n is set if register n is valid. pc and sp must be; the frame pointer, too,
 *                  unless UNWIND_PARTIAL is 1
 * @bounds          range in which plain loads are safe, borrowed
 * @frames          gets WIRE_FRAMEs, innermost first; has room for @max_frames
 * @reader_context  passed to the UNWIND_ functions
 *
 * Returns the number of frames and how the stack ended. If @max_frames is 0, returns no frames and
 * WIRE_END_DEPTH.
 * Context: signal-safe if UNWIND_READ and UNWIND_FIND_MODULE are.
 */
static inline struct unwind_result unwind_walk_known(const struct arch_registers *regs,
	uint64_t known, const struct unwind_bounds *bounds, uint64_t *frames, unsigned max_frames,
	void *reader_context)
{
	struct unwind_walk walk;
	unsigned count = 0;
	bool has_stepped;
	int step = 0;

	walk.registers = *regs;
	walk.registers.r[ARCH_DWARF_PC] = arch_strip_pointer(regs->r[ARCH_DWARF_PC]);
	walk.known = known;
	walk.exact = true;
	walk.by_fp = false;
	walk.module = (struct unwind_module){0};
	walk.memory.bounds = *bounds;
	walk.memory.context = reader_context;
	unwind_set_anchor(&walk, 0);
	for (walk.depth = 0; !step && count < max_frames; walk.depth++) {
		uintptr_t pc = unwind_lookup_pc(&walk), sp = walk.registers.r[ARCH_DWARF_SP];

		unwind_enter_module(&walk, pc);

		/* Decode generated code only if no runtime knows the frame's caller. */
		bool is_generated = !walk.module.end;
		uint64_t row = is_generated ? COMPACT_NONE : unwind_row(&walk, pc);
		uint64_t frame = unwind_wire_frame(&walk, pc, row);

		has_stepped = false;
		if (is_generated || walk.module.runtime)
			step = unwind_step_generated(&walk, &has_stepped);
		if (is_generated && walk.module.end)
			pc = unwind_lookup_pc(&walk);
		if (!has_stepped && !step) {
			sp = walk.registers.r[ARCH_DWARF_SP];
			row = unwind_row_with_fp(
				&walk, is_generated ? unwind_row(&walk, pc) : row, pc);
			step = unwind_step(&walk, row);
		}
		if (!walk.module.end || ((walk.module.runtime || walk.by_fp) && !step)) {
			struct unwind_frame left = {.pc = pc,
				.sp = sp,
				.is_generated = is_generated,
				.innermost = !walk.depth && known == ~0ULL ? regs : NULL};

			count += unwind_run(&walk, &left, step, frames + count, max_frames - count);
		}
		if (step == UNWIND_STEP_ROOT)
			step = unwind_step_resumed(&walk, pc, sp);
		if (count < max_frames)
			frames[count++] = frame;
	}

	struct unwind_result result = {.frames = count, .end = WIRE_END_DEPTH};

	if (step == UNWIND_STEP_ROOT)
		result.end = WIRE_END_ROOT;
	else if (step)
		result.end = step == -EFAULT ? WIRE_END_MEMORY : WIRE_END_LOST;
	return result;
}

/* Walk a stack if all registers are known: see unwind_walk_known(). */
static inline struct unwind_result unwind_walk(const struct arch_registers *regs,
	const struct unwind_bounds *bounds, uint64_t *frames, unsigned max_frames,
	void *reader_context)
{
	return unwind_walk_known(regs, ~0ULL, bounds, frames, max_frames, reader_context);
}

#endif
