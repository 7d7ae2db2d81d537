/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: as walk.h. */
/*
 * The walk from a set of registers to the outermost frame. `static inline`, to be included once by
 * each place that walks: the handler, the sampler from outside, the tests, the fuzzer. Before the
 * include they define (functions, or macros of the same shape)
 *
 *   UNWIND_READ(void *context, uintptr_t address, uintptr_t *value) -> int
 *       see load.h
 *   UNWIND_FIND_MODULE(void *context, uintptr_t pc, struct unwind_module *out) -> int
 *       the module @pc lies in. Returns 0, or -ENOENT and the walk goes on by frame pointers.
 *
 * and may define UNWIND_ROWCACHE (walk.h) and UNWIND_CFI_POINTER (cfi_bytes.h).
 */
#ifndef LIBPROF_UNWIND_UNWIND_CORE_H
#define LIBPROF_UNWIND_UNWIND_CORE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/registers.h"
#include "libprof/unwind/compact_row.h"
#include "libprof/unwind/full_step.h"
#include "libprof/unwind/load.h"
#include "libprof/unwind/unwind.h"
#include "libprof/unwind/walk.h"

static inline int unwind_compact_cfa(
	const struct unwind_walk *walk, uint64_t row, uintptr_t *cfa)
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

/* As full_fp_restored(): `fp saved where fp points`, and that is outside of this frame. */
static inline bool unwind_fp_restored(
	const struct unwind_walk *walk, uint64_t row, uintptr_t cfa)
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
	int error = unwind_compact_cfa(walk, row, &cfa);

	if (error)
		return error;
	/* A frame that still has its return address in a register may have no stack of its own. */
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
	error = unwind_arrive(walk, pc, cfa, caller_fp);
	walk->exact = compact_signal(row);
	return error;
}

/* From the frame at walk->depth, for which @row holds, to its caller. */
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
		unwind_drop_anchor(walk, walk->depth + 1);
		return step;
	case COMPACT_COMPLEX:
		return unwind_step_complex(walk);
	case COMPACT_NONE:
		return unwind_step_fp(walk);
	case COMPACT_BY_CODE:
		return unwind_step_code(walk, row);
	default:
		return -ENOENT;
	}
}

/* The frame at walk->depth as the wire has it. */
static inline uint64_t unwind_frame(const struct unwind_walk *walk, uintptr_t pc, uint64_t row)
{
	/* The code a handler returns to has called nothing: its start is looked up. */
	if (compact_kind(row) == COMPACT_SIGRETURN)
		pc = walk->registers.r[ARCH_DWARF_PC];

	uint64_t frame = WIRE_FRAME(walk->module.number, pc);

	if (walk->module.number != WIRE_MODULE_NONE)
		frame = WIRE_FRAME(walk->module.number, pc - walk->module.bias);
	return walk->by_fp ? frame | WIRE_FRAME_BY_FP : frame;
}

/*
 * Walk a stack.
 *
 * @regs            the innermost frame's, borrowed
 * @bounds          where plain loads are safe, borrowed
 * @frames          gets WIRE_FRAMEs, innermost first; room for @max_frames
 * @reader_context  passed to UNWIND_READ and UNWIND_FIND_MODULE
 *
 * Returns how many frames there are and how the stack ended; with @max_frames 0 none, and
 * WIRE_END_DEPTH.
 * Context: signal-safe where UNWIND_READ and UNWIND_FIND_MODULE are.
 */
static inline struct unwind_result unwind_walk(const struct arch_registers *regs,
	const struct unwind_bounds *bounds, uint64_t *frames, unsigned max_frames,
	void *reader_context)
{
	struct unwind_walk walk;
	int step = 0;

	walk.registers = *regs;
	walk.registers.r[ARCH_DWARF_PC] = arch_strip_pointer(regs->r[ARCH_DWARF_PC]);
	walk.known = ~0ULL;
	walk.exact = true;
	walk.by_fp = false;
	walk.module = (struct unwind_module){0};
	walk.memory.bounds = *bounds;
	walk.memory.context = reader_context;
	unwind_drop_anchor(&walk, 0);
	for (walk.depth = 0; !step && walk.depth < max_frames; walk.depth++) {
		uintptr_t pc = unwind_lookup_pc(&walk);

		unwind_enter_module(&walk, pc);

		uint64_t row = unwind_row(&walk, pc);

		frames[walk.depth] = unwind_frame(&walk, pc, row);
		step = unwind_step(&walk, row);
	}

	struct unwind_result result = {.frames = walk.depth, .end = WIRE_END_DEPTH};

	if (step == UNWIND_STEP_ROOT)
		result.end = WIRE_END_ROOT;
	else if (step)
		result.end = step == -EFAULT ? WIRE_END_MEMORY : WIRE_END_LOST;
	return result;
}

#endif
