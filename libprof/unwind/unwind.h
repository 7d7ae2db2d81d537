/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * Types that the unwinding core and its users share: a module, the bounds of a stack, a frame, the
 * result of a walk. The core itself is unwind_core.h.
 */
#ifndef LIBPROF_UNWIND_UNWIND_H
#define LIBPROF_UNWIND_UNWIND_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/wire.h"

/* The module that contains a pc. UNWIND_FIND_MODULE fills it in. */
struct unwind_module {
	/* The mapped range that this structure describes is [start, end). */
	uintptr_t start;
	uintptr_t end;
	/* The load bias: address - bias = ELF virtual address. */
	uintptr_t bias;
	/* The address of .eh_frame_hdr in memory; 0 if there is none. */
	uintptr_t eh_frame_hdr;
	/* Number for WIRE_FRAME. Another module at the same addresses gets another number. */
	uint32_t number;
	/* The range of generated code's call-frame information; both 0: it is in [start, end). */
	uintptr_t cfi_start;
	uintptr_t cfi_end;
	/*
	 * The row cache finds a row by module number and pc - row_bias. If this difference is equal
	 * for equal pieces of code (copies of a stub, one file mapped in many processes), these
	 * share their rows.
	 */
	uintptr_t row_bias;
	/* The number of the language runtime in this module; 0: none. */
	uint32_t runtime;
};

/* Is [@address, @address + @bytes) within the module's mapped range? */
static inline int unwind_module_covers(
	const struct unwind_module *module, uintptr_t address, uint64_t bytes)
{
	return address >= module->start && address < module->end && bytes <= module->end - address;
}

static inline uintptr_t unwind_cfi_start(const struct unwind_module *module)
{
	return module->cfi_end ? module->cfi_start : module->start;
}

static inline uintptr_t unwind_cfi_end(const struct unwind_module *module)
{
	return module->cfi_end ? module->cfi_end : module->end;
}

/* The bounds of the stack that is walked: plain loads are safe in [lo, hi). */
struct unwind_bounds {
	uintptr_t lo;
	uintptr_t hi;
};

/* Why a walk asks a language runtime for the caller of a frame. */
enum unwind_question {
	UNWIND_GENERATED, /* code in no module */
	UNWIND_OWN_CODE, /* code in a runtime's module */
	/* The stack ends at this frame. It may be the stack of a coroutine. */
	UNWIND_STACK_END
};

/* A frame whose caller a language runtime may know. The answer replaces pc, sp and fp. */
struct unwind_activation {
	uintptr_t pc, sp, fp;
	enum unwind_question question;
	int has_fp; /* fp is known */
	/* All registers, if a signal or the profiler interrupted this frame; otherwise NULL. */
	const struct arch_registers *innermost;
};

/*
 * Answers of a runtime, besides 0 (the frame is unknown) and -errno (the caller cannot be found).
 */
#define UNWIND_CALLER 1 /* pc, sp and fp are the caller's now */
/* pc, sp and fp are now those of the frame, in a module, that runs the generated code. */
#define UNWIND_INSIDE 2

/* A native frame from which the walk has just stepped, or tried to step, to the caller. */
struct unwind_frame {
	uintptr_t pc, sp;
	uintptr_t caller_sp, caller_pc; /* 0: no caller found */
	/* The frame pointer, if the caller was found through it; otherwise 0. */
	uintptr_t fp;
	/* Generated code runs in this frame. If the frame is in a module, its pc is not exact. */
	int is_generated;
	/* For the thread's innermost frame all registers, borrowed for the walk; otherwise NULL. */
	const struct arch_registers *innermost;
	/*
	 * Write the frame's registers to @out, as far as call-frame information recovers them.
	 * Returns a set in which bit n stands for a known register n. Takes about a microsecond.
	 * NULL: not available.
	 */
	uint64_t (*registers)(const struct unwind_frame *frame, struct arch_registers *out);
	const void *walk; /* for registers(), borrowed */
};

struct unwind_result {
	unsigned frames;
	enum wire_end end;
};

#endif
