/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: plain loads, besides what the includer's UNWIND_* functions do. */
/*
 * The state of a walk, the choice of the row for its pc, and the steps to the caller that need no
 * call-frame information: by the code's own instructions, through a frame pointer, through a signal
 * frame of the kernel. unwind_core.h has the steps by call-frame information and the loop, and
 * describes the functions that an includer must define.
 *
 * For code without call-frame information (JIT compilers, CPython's trampolines), the instructions
 * from the pc on are decoded straight ahead: stack adjustments, pops, the return. The CPU will
 * execute exactly these, so the caller is correct. At an unknown instruction, the frame pointer is
 * used instead. If a frame itself was found through a frame pointer, its code is not decoded,
 * because its stack pointer is not exact: V8's functions pop their arguments when they return.
 *
 * Go runs C functions and parts of its runtime on a second stack of the thread, while the frame
 * pointer still points to the goroutine's stack. A frame pointer is followed out of the current
 * stack only if the calling code has no call-frame information and the record leads to such code in
 * the same module. The sampler from outside has call-frame information about Go's functions, except
 * those that switch stacks: see unwind_step_switched().
 */
#ifndef LIBPROF_UNWIND_WALK_H
#define LIBPROF_UNWIND_WALK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "libprof/unwind/cfi_run.h"
#include "libprof/unwind/compact_row.h"
#include "libprof/unwind/haskell.h"
#include "libprof/unwind/load.h"
#include "libprof/unwind/rowcache.h"
#include "libprof/unwind/unwind.h"

#ifndef UNWIND_FIND_MODULE
static inline int UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out);
#endif

/* Return 0 if @pc is known to lie in memory that is not executable, otherwise 1. */
#ifndef UNWIND_IS_CODE
#define UNWIND_IS_CODE(context, pc) 1
#endif

/* The cache of rows, or NULL for none. */
#ifndef UNWIND_ROWCACHE
static struct rowcache unwind_rowcache;
#define UNWIND_ROWCACHE (&unwind_rowcache)
#endif

/* 1: walks may begin without the frame pointer. 0: the frame pointer is taken to be known. */
#ifndef UNWIND_PARTIAL
#define UNWIND_PARTIAL 0
#endif

/* Result of a step from the outermost frame. Other steps return 0, or -errno: no caller found. */
#define UNWIND_STEP_ROOT 1

/* A function that switches stacks is assumed to begin within this many bytes of the pc. */
#define UNWIND_SWITCH_BYTES 256u

#define UNWIND_INSTRUCTION_BYTES 16u /* the longest instruction */

/* Words below a frame pointer that are searched for a return address. */
#define UNWIND_SWITCH_WORDS 256u

/* If the stack's bounds are unknown, the largest distance of a valid frame pointer from sp. */
#define UNWIND_FP_REACH (1u << 20)

/* Bit n is set if every step recovers register n. */
#define UNWIND_KNOWN_ALWAYS (1ULL << ARCH_DWARF_PC | 1ULL << ARCH_DWARF_SP | 1ULL << ARCH_DWARF_FP)

/*
 * The anchor: the last frame for which every register in `known` has its value in that frame. Steps
 * by compact rows recover only pc, sp and fp. So a full step, which needs other registers, first
 * repeats all steps from here.
 */
struct unwind_anchor {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
	uint64_t known;
	unsigned depth;
	bool exact;
};

struct unwind_walk {
	/*
	 * pc, sp and fp belong to the frame at `depth`. The other registers have the values that
	 * they had in the anchor's frame. They are valid in this frame, too, if their bits in
	 * `known` are set.
	 */
	struct arch_registers registers;
	/* Bit n is set if no frame since the anchor is known to have changed register n. */
	uint64_t known;
	unsigned depth;
	/* pc is the next instruction to execute, not a return address. */
	bool exact;
	/* This frame was found through a frame pointer. */
	bool by_fp;
	struct unwind_anchor anchor;
	/* The module that contains pc. `end` is 0 if no module does. */
	struct unwind_module module;
	struct unwind_memory memory;
};

static inline uint64_t unwind_register_bit(unsigned reg)
{
	return 1ULL << reg;
}

static inline bool unwind_fp_known(const struct unwind_walk *walk)
{
	return !UNWIND_PARTIAL || (walk->known & unwind_register_bit(ARCH_DWARF_FP));
}

static inline void unwind_set_anchor(struct unwind_walk *walk, unsigned depth)
{
	walk->anchor = (struct unwind_anchor){
		.pc = walk->registers.r[ARCH_DWARF_PC],
		.sp = walk->registers.r[ARCH_DWARF_SP],
		.fp = walk->registers.r[ARCH_DWARF_FP],
		.known = walk->known,
		.depth = depth,
		.exact = walk->exact,
	};
}

/*
 * Returns the pc to look up. A call may be the last instruction of its function. Its return address
 * is then the first byte of the next function. So use the byte before a return address.
 */
static inline uintptr_t unwind_lookup_pc(const struct unwind_walk *walk)
{
	return walk->registers.r[ARCH_DWARF_PC] - !walk->exact;
}

static __attribute__((noinline)) void unwind_change_module(struct unwind_walk *walk, uintptr_t pc)
{
	struct unwind_module *module = &walk->module;

	if (UNWIND_FIND_MODULE(walk->memory.context, pc, module) || pc < module->start ||
		pc >= module->end)
		*module = (struct unwind_module){0};
}

/* Make walk->module the module that contains @pc, or an empty one. */
static inline void unwind_enter_module(struct unwind_walk *walk, uintptr_t pc)
{
	if (pc < walk->module.start || pc >= walk->module.end)
		unwind_change_module(walk, pc);
}

/*
 * Is the pc the return address of a signal handler, at code that calls rt_sigreturn(2)? The code is
 * read by unwind_load(), because on a corrupt stack the pc may be any number.
 */
static inline bool unwind_at_sigreturn(const struct unwind_walk *walk)
{
	uintptr_t code;

	return !unwind_load(&walk->memory, walk->registers.r[ARCH_DWARF_PC], &code) &&
	       code == ARCH_SIGRETURN_WORD;
}

/* Does a call instruction end at @pc? */
static inline bool unwind_follows_call(const struct unwind_walk *walk, uintptr_t pc)
{
	const struct arch_text memory = {0, UINTPTR_MAX, code_read_word, &walk->memory};

	return arch_follows_call(&memory, pc);
}

/* Can a function return to @pc? */
static inline bool unwind_is_return(const struct unwind_walk *walk, uintptr_t pc)
{
	uintptr_t code;

	pc = arch_strip_pointer(pc);
	return unwind_follows_call(walk, pc) ||
	       (!unwind_load(&walk->memory, pc, &code) && code == ARCH_SIGRETURN_WORD);
}

/*
 * Does a function begin at @pc, with no call instruction before it? Then no call has pushed @pc as
 * a return address, and the byte before @pc belongs to another function. makecontext() and other
 * code that sets up a stack write such an address as the return address of the stack's first
 * function. @error and @row are the results of cfi_find_row() for the byte before @pc.
 */
static inline bool unwind_is_uncalled(
	const struct unwind_walk *walk, uintptr_t pc, int error, const struct cfi_row *row)
{
	struct cfi_fde fde;

	if (error ? error != -ENOENT || cfi_find_fde(&walk->module, pc, &fde) || fde.begin != pc
		  : row->end != pc)
		return false;
	return !unwind_follows_call(walk, pc);
}

static __attribute__((noinline)) uint64_t unwind_make_row(
	const struct unwind_walk *walk, uintptr_t pc)
{
	uintptr_t at = walk->registers.r[ARCH_DWARF_PC];
	struct cfi_row row;
	int error = cfi_find_row(&walk->module, pc, &row);
	bool is_uncalled = unwind_is_uncalled(walk, pc + 1, error, &row);
	uint64_t by_code;

	if ((error || row.signal || is_uncalled) && unwind_at_sigreturn(walk))
		return COMPACT_SIGRETURN;
	if (is_uncalled)
		return COMPACT_UNCALLED;
	if (error == -ENOENT) {
		by_code = code_row(&walk->memory, at, walk->exact);
		return by_code != COMPACT_NONE ? by_code
			: code_row_in_module(
				&walk->memory, at, walk->module.start, walk->module.end);
	}
	if (error)
		return COMPACT_BROKEN;
	return compact_from_row(&walk->module, &row);
}

/* Returns the compact row for @pc. If the code belongs to a module, the row is cached. */
static inline uint64_t unwind_row(const struct unwind_walk *walk, uintptr_t pc)
{
	struct rowcache *cache = UNWIND_ROWCACHE;
	uint32_t number = walk->module.number;
	uint64_t key, row;

	/*
	 * Generated code is decoded each time, because other code may have replaced it. If the
	 * frame was found through a frame pointer, no row is made, because its stack pointer is not
	 * exact: see unwind_step_code().
	 */
	if (!walk->module.end)
		return walk->by_fp ? COMPACT_NONE
				   : code_row(&walk->memory, walk->registers.r[ARCH_DWARF_PC],
					     walk->exact);
	/* Several modules share each of these numbers, so do not cache their rows. */
	if (!cache || number == WIRE_MODULE_NONE || number == WIRE_MODULE_OVER)
		return unwind_make_row(walk, pc);
	key = rowcache_key(pc - walk->module.row_bias, number);
	row = rowcache_get(cache, key);
	if (!row) {
		row = unwind_make_row(walk, pc);
		rowcache_put(cache, key, row);
	}
	return row;
}

/* Can @bytes bytes at @address belong to a frame: aligned, not below sp, on the same stack? */
static inline bool unwind_plausible(
	const struct unwind_walk *walk, uintptr_t address, uintptr_t bytes)
{
	const struct unwind_bounds *bounds = &walk->memory.bounds;
	uintptr_t sp = walk->registers.r[ARCH_DWARF_SP];

	if ((address & (sizeof(uintptr_t) - 1)) || address < sp)
		return false;
	if (sp >= bounds->lo && sp < bounds->hi)
		return address <= bounds->hi && bounds->hi - address >= bytes;
	return address - sp <= UNWIND_FP_REACH;
}

/*
 * Finish a step: make the caller, with its @pc, @sp and @fp, the current frame. All steps but the
 * full step use this function. Returns 0, or UNWIND_STEP_ROOT if @pc is 0.
 */
static inline int unwind_set_caller(
	struct unwind_walk *walk, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	pc = arch_strip_pointer(pc);
	if (!pc)
		return UNWIND_STEP_ROOT;
	walk->registers.r[ARCH_DWARF_PC] = pc;
	walk->registers.r[ARCH_DWARF_SP] = sp;
	walk->registers.r[ARCH_DWARF_FP] = fp;
	walk->known &= ARCH_CALL_KEEPS;
	walk->exact = false;
	walk->by_fp = false;
	return 0;
}

/*
 * Does code without call-frame information have a frame pointer that points to another stack? Go's
 * runtime.asmcgocall and runtime.systemstack run C and parts of Go on a stack of the thread and
 * keep their caller's frame pointer. Erlang's generated code calls the virtual machine in the same
 * way. Other code may use the register for anything. So the frame record counts only if the frame
 * pointer in it is higher. If the calling code is in a module, the record must lead to code without
 * call-frame information in the same module.
 */
static inline bool unwind_switches_stack(const struct unwind_walk *walk)
{
	const struct unwind_module *module = &walk->module;
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP];
	uintptr_t caller_fp, pc;
	struct cfi_row row;

	if (walk->exact || (fp & (sizeof(uintptr_t) - 1)) ||
		unwind_load(&walk->memory, fp, &caller_fp) ||
		unwind_load(&walk->memory, fp + sizeof(uintptr_t), &pc))
		return false;
	pc = arch_strip_pointer(pc);
	if (caller_fp <= fp || caller_fp - fp > UNWIND_FP_REACH)
		return false;
	if (!module->end)
		return unwind_follows_call(walk, pc);
	return pc > module->start && pc < module->end &&
	       cfi_find_row(module, pc - 1, &row) == -ENOENT;
}

/* Returns the target of the direct call that ends at @pc in the walk's module, or 0. */
static uintptr_t unwind_called(const struct unwind_walk *walk, uintptr_t pc)
{
	const struct arch_text module = {
		walk->module.start, walk->module.end, code_read_word, &walk->memory};
	uint8_t code[ARCH_CALL_BYTES];

	if (pc <= walk->module.start + sizeof(code) || pc >= walk->module.end ||
		arch_text_read(&module, pc - sizeof(code), code, sizeof(code)) < sizeof(code))
		return 0;
	return arch_called(code, pc - sizeof(code));
}

/*
 * Does the code from @entry lead straight ahead, without a return, to the walk's pc? Jumps to
 * addresses shortly before the pc are followed, because some functions enter another function by a
 * jump (runtime.morestack_noctxt).
 */
static bool unwind_reaches_pc(const struct unwind_walk *walk, uintptr_t entry)
{
	const struct arch_text module = {
		walk->module.start, walk->module.end, code_read_word, &walk->memory};
	uintptr_t here = walk->registers.r[ARCH_DWARF_PC];
	uint8_t code[UNWIND_INSTRUCTION_BYTES];

	if (entry - (here - UNWIND_SWITCH_BYTES) > 2 * UNWIND_SWITCH_BYTES)
		return false;
	for (unsigned left = UNWIND_SWITCH_BYTES; left && entry != here; left--) {
		struct arch_instruction instruction = arch_decode(
			code, arch_text_read(&module, entry, code, sizeof(code)));
		uintptr_t target;

		if (!instruction.bytes || instruction.effect == ARCH_EFFECT_RETURN)
			return false;
		entry += instruction.bytes;
		target = entry + (uintptr_t)(intptr_t)instruction.value;
		if (instruction.effect == ARCH_EFFECT_JUMP && here - target <= UNWIND_SWITCH_BYTES)
			entry = target;
	}
	return entry == here;
}

/*
 * Does the call that ends at @pc call a function with call-frame information other than the walk's
 * current function? If so, @pc is the return address of that other function. The current code has
 * then not set the frame pointer, and its frame record is that function's.
 */
static bool unwind_calls_another(const struct unwind_walk *walk, uintptr_t pc)
{
	uintptr_t called = unwind_called(walk, pc);
	struct cfi_fde fde;

	return called && !cfi_find_fde(&walk->module, called, &fde) && fde.begin == called &&
	       !unwind_reaches_pc(walk, called);
}

/*
 * Can @pc, which was read through a frame pointer, be a return address? Code without call-frame
 * information may use the register for anything. So the first record of a chain is accepted only if
 * @pc follows a call that may have called that code. For Go this is not required, because Go pushes
 * the address of interrupted code as if that code had made a call.
 */
static __attribute__((noinline)) bool unwind_accepts_fp(
	const struct unwind_walk *walk, uintptr_t pc)
{
	bool is_same_module = pc - 1 >= walk->module.start && pc - 1 < walk->module.end;
	struct cfi_row row;

	if (walk->by_fp && is_same_module)
		return true;
	if (!UNWIND_IS_CODE(walk->memory.context, pc - 1))
		return false;
	return walk->by_fp ||
	       (is_same_module && cfi_find_row(&walk->module, pc - 1, &row) == -ENOENT) ||
	       (unwind_is_return(walk, pc) && !unwind_calls_another(walk, pc));
}

/*
 * Step from GHC's code, which has no call-frame information, along the stack of a Haskell thread.
 * Other code may use GHC's stack register for anything, so the caller's frame must be valid, too. A
 * return address is the first byte of a piece of code, so no call instruction need precede it.
 */
static __attribute__((noinline)) int unwind_step_haskell(struct unwind_walk *walk)
{
	uintptr_t sp = walk->registers.r[ARCH_DWARF_HASKELL_SP], pc, caller_sp, next_pc, next_sp;
	int error;

	if (!walk->module.end ||
		!(walk->known & unwind_register_bit(ARCH_DWARF_HASKELL_SP)))
		return -ENOENT;
	error = haskell_read_frame(&walk->memory, sp, &pc, &caller_sp);
	if (error == HASKELL_OUTERMOST)
		return UNWIND_STEP_ROOT;
	if (error || haskell_read_frame(&walk->memory, caller_sp, &next_pc, &next_sp) < 0 ||
		!UNWIND_IS_CODE(walk->memory.context, pc))
		return -ENOENT;
	walk->registers.r[ARCH_DWARF_PC] = pc;
	walk->registers.r[ARCH_DWARF_HASKELL_SP] = caller_sp;
	walk->known = UNWIND_KNOWN_ALWAYS | unwind_register_bit(ARCH_DWARF_HASKELL_SP);
	walk->exact = true;
	walk->by_fp = false;
	unwind_set_anchor(walk, walk->depth + 1);
	return 0;
}

/*
 * Step through the frame record to which the frame pointer points, for code without call-frame
 * information:
 *
 *	fp + 0   the caller's frame pointer
 *	fp + 8   return address
 *	fp + 16  the caller's stack pointer has this value
 *
 * Zeroes mark the outermost frame (System V AMD64 ABI 3.4.1, AAPCS64 6.4.6).
 */
static inline int unwind_step_fp(struct unwind_walk *walk)
{
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP];
	uintptr_t caller_fp, pc;

	if (!unwind_fp_known(walk))
		return -ENOENT;
	/*
	 * A frame pointer of 0 marks the end of the stack only in start code that has made a call,
	 * and in the chain of an Erlang process. In other code the register may have any value,
	 * because JIT compilers and hand-written loops use it as a general register.
	 */
	if (fp == 0)
		return (walk->module.end && !walk->exact) || walk->by_fp ? UNWIND_STEP_ROOT
									 : -ENOENT;
	if (!unwind_plausible(walk, fp, 2 * sizeof(uintptr_t)) && !unwind_switches_stack(walk))
		return unwind_step_haskell(walk);

	int error = unwind_load(&walk->memory, fp, &caller_fp);

	if (!error)
		error = unwind_load(&walk->memory, fp + sizeof(uintptr_t), &pc);
	if (error)
		return error;
	pc = arch_strip_pointer(pc);
	if (pc ? !unwind_accepts_fp(walk, pc) : caller_fp != 0)
		return -ENOENT;
	/*
	 * Generated code may change callee-saved registers, which the ABI forbids. So forget them.
	 */
	walk->known = UNWIND_KNOWN_ALWAYS;
	error = unwind_set_caller(walk, pc, fp + 2 * sizeof(uintptr_t), caller_fp);
	walk->by_fp = true;
	return error;
}

/*
 * Step by a row that code_row() made, or through the frame pointer if the row cannot be right. If a
 * frame was found through a frame pointer, its stack pointer is not exact, because its callee may
 * have popped its arguments (V8's functions do). The row's offset from the stack pointer would be
 * wrong.
 */
static inline int unwind_step_code(struct unwind_walk *walk, uint64_t row)
{
	uintptr_t cfa = walk->registers.r[ARCH_DWARF_SP] + (uintptr_t)compact_cfa(row);
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP];
	uintptr_t pc = walk->registers.r[ARCH_DWARF_RA];
	int error = 0;

	if (walk->by_fp || !unwind_plausible(walk, cfa, 0) ||
		(!compact_ra(row) && !(walk->known & unwind_register_bit(ARCH_DWARF_RA))))
		return unwind_step_fp(walk);
	if (compact_ra(row))
		error = unwind_load(&walk->memory, cfa + (uintptr_t)compact_ra(row), &pc);
	if (!error && compact_fp(row))
		error = unwind_load(&walk->memory, cfa + (uintptr_t)compact_fp(row), &fp);
	if (error)
		return error;
	if (UNWIND_PARTIAL && compact_fp(row))
		walk->known |= unwind_register_bit(ARCH_DWARF_FP);
	if (compact_others(row))
		walk->known &= UNWIND_KNOWN_ALWAYS;
	return unwind_set_caller(walk, pc, cfa, fp);
}

/*
 * Make a row for code that is in no module and for which code_row() finds no row: follow the code
 * along branches to its return. This is slow, so rows are cached. The key is a hash of pc and code
 * bytes, because other code may replace this code.
 */
static __attribute__((noinline)) uint64_t unwind_follow_generated(const struct unwind_walk *walk)
{
	uintptr_t pc = walk->registers.r[ARCH_DWARF_PC];
	struct rowcache *cache = UNWIND_ROWCACHE;
	uint64_t key = pc, row = 0;
	struct arch_code code;

	code_read(&walk->memory, pc, false, &code);
	for (unsigned i = code.at; i < code.end; i++)
		key = (key ^ code.bytes[i]) * 0x100000001b3ULL;
	key = rowcache_key(key >> 16, WIRE_MODULE_OVER);
	if (cache)
		row = rowcache_get(cache, key);
	if (row)
		return row;
	row = code_row_in_module(&walk->memory, pc, 0, UINTPTR_MAX);
	if (cache)
		rowcache_put(cache, key, row);
	return row;
}

/*
 * Has the function at @entry (0: any function) saved its caller's frame pointer at @fp? @pc and @sp
 * are those of the function's own frame, or of a function that it calls before it saves the frame
 * pointer. Go's functions do this to get more stack.
 */
static bool unwind_saves_fp_at(const struct unwind_walk *walk, uintptr_t pc, uintptr_t sp,
	uintptr_t fp, uintptr_t entry)
{
	for (unsigned callers = 0; callers < 2; callers++) {
		struct cfi_fde fde;
		struct cfi_row row;
		int32_t saved, ra;

		if (cfi_find_fde(&walk->module, pc - 1, &fde) ||
			cfi_run_fde(&walk->module, &fde, pc - 1, &row) ||
			row.rules.cfa_expression || row.rules.cfa_reg != ARCH_DWARF_SP)
			return false;
		sp += (uintptr_t)(intptr_t)row.rules.cfa_value;
		saved = row.rules.register_rule[arch_cfi_slot(ARCH_DWARF_FP)];
		ra = row.rules.register_rule[row.ra_slot];
		if (cfi_rule_kind(saved) == CFI_RULE_OFFSET)
			return sp + (uintptr_t)(intptr_t)cfi_rule_value(saved) == fp &&
			       (!entry || entry == fde.begin);
		if (cfi_rule_kind(ra) != CFI_RULE_OFFSET ||
			unwind_load(&walk->memory,
				sp + (uintptr_t)(intptr_t)cfi_rule_value(ra), &pc))
			return false;
	}
	return false;
}

/*
 * Step to the caller of a function that has switched to another stack and has saved nothing there,
 * as Go's runtime.systemstack and runtime.mcall do. The frame pointer still points to the stack
 * from which the function came. Since Go 1.21, it points to a frame record of the function itself.
 * Before 1.21, frame pointer and record are the caller's, and the return address is below the
 * record, at the end of the caller's frame.
 *
 * Returns 0, UNWIND_STEP_ROOT, or -ENOENT if no call to this function from code with call-frame
 * information is found there.
 */
static __attribute__((noinline)) int unwind_step_switched(struct unwind_walk *walk)
{
	uintptr_t fp = walk->registers.r[ARCH_DWARF_FP], at = fp + sizeof(uintptr_t);
	const struct unwind_bounds *bounds = &walk->memory.bounds;
	uintptr_t caller_fp, entry, pc;
	struct cfi_fde fde;
	int step;

	if (!walk->module.eh_frame_hdr || walk->by_fp || !unwind_fp_known(walk) ||
		(fp >= bounds->lo && fp < bounds->hi) || (fp & (sizeof(uintptr_t) - 1)) ||
		unwind_load(&walk->memory, fp, &caller_fp) ||
		unwind_load(&walk->memory, at, &pc) || cfi_find_fde(&walk->module, pc - 1, &fde))
		return -ENOENT;
	entry = unwind_called(walk, pc);
	for (unsigned word = 0; word <= UNWIND_SWITCH_WORDS; word++, at -= sizeof(uintptr_t)) {
		if (unwind_load(&walk->memory, at, &pc))
			return -ENOENT;
		if (!unwind_reaches_pc(walk, unwind_called(walk, pc)) ||
			(at < fp && !unwind_saves_fp_at(walk, pc, at + sizeof(pc), fp, entry)))
			continue;
		walk->known = UNWIND_KNOWN_ALWAYS;
		step = unwind_set_caller(walk, pc, at + sizeof(pc), at < fp ? fp : caller_fp);
		unwind_set_anchor(walk, walk->depth + 1);
		return step;
	}
	return -ENOENT;
}

/*
 * Step from code without call-frame information for which code_row() finds no row. Generated code
 * is decoded up to its return instruction, which gives a return address. If that address does not
 * follow a call instruction, step by the frame pointer. This is the second choice, because in code
 * that sets no frame pointer it is an outer caller's, and functions would be skipped.
 */
static inline int unwind_step_uncovered(struct unwind_walk *walk)
{
	bool is_followed = !walk->module.end && !walk->by_fp;
	uint64_t row = is_followed ? unwind_follow_generated(walk) : COMPACT_NONE;
	uintptr_t cfa = walk->registers.r[ARCH_DWARF_SP] + (uintptr_t)compact_cfa(row);
	uintptr_t pc = walk->registers.r[ARCH_DWARF_RA];

	if (!unwind_step_switched(walk))
		return 0;
	if (compact_kind(row) != COMPACT_BY_CODE ||
		(compact_ra(row) &&
			unwind_load(&walk->memory, cfa + (uintptr_t)compact_ra(row), &pc)) ||
		!UNWIND_IS_CODE(walk->memory.context, arch_strip_pointer(pc) - 1) ||
		!unwind_is_return(walk, pc))
		return unwind_step_fp(walk);
	return unwind_step_code(walk, row);
}

/* Step from the return address of a signal handler to the code that the signal interrupted. */
static inline int unwind_step_sigreturn(struct unwind_walk *walk)
{
	uintptr_t ucontext = walk->registers.r[ARCH_DWARF_SP] + ARCH_SIGRETURN_UCONTEXT;

	for (unsigned reg = 0; reg < ARCH_DWARF_REGS; reg++) {
		int error = unwind_load(&walk->memory, ucontext + arch_ucontext_offset(reg),
			&walk->registers.r[reg]);

		if (error)
			return error;
	}
	if (!walk->registers.r[ARCH_DWARF_PC])
		return -ENOENT;
	walk->known = ~0ULL;
	walk->exact = true;
	walk->by_fp = false;
	return 0;
}

#endif
