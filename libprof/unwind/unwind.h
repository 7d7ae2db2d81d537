/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * Types shared by the unwinding core and its users: a module, the bounds of a stack, a frame, the
 * result of a walk. The core itself is unwind_core.h.
 */
#ifndef LIBPROF_UNWIND_UNWIND_H
#define LIBPROF_UNWIND_UNWIND_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/wire.h"

/* The module that contains a pc, as UNWIND_FIND_MODULE fills it in. */
struct unwind_module {
	/* mapped range that this structure describes */
	uintptr_t start;
	uintptr_t end;
	/* load bias: address - bias = ELF virtual address */
	uintptr_t bias;
	/* address of .eh_frame_hdr in memory, 0 if there is none */
	uintptr_t eh_frame_hdr;
	/* for WIRE_FRAME; a reused address range gets another number */
	uint32_t number;
	/* Where the call-frame information of generated code lies; both 0: in [start, end). */
	uintptr_t cfi_start;
	uintptr_t cfi_end;
	/*
	 * The cache finds a row by module number and pc - row_bias. Equal pieces of code (copies of
	 * a stub, one file mapped in many processes) share rows if that difference is equal.
	 */
	uintptr_t row_bias;
	/* number of the language runtime in this module, 0: none */
	uint32_t runtime;
};

/* Does [@address, @address + @bytes) lie in the module's mapped range? */
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

/* Bounds of the stack that is being walked: plain loads are safe in [lo, hi). */
struct unwind_bounds {
	uintptr_t lo;
	uintptr_t hi;
};

/* Why a walk asks a language's runtime for the caller of a frame. */
enum unwind_question {
	UNWIND_GENERATED, /* the frame's code is in no module */
	/* the frame's code is in the module of a runtime */
	UNWIND_OWN_CODE,
	/* the stack ends at this frame; it may be a coroutine's */
	UNWIND_STACK_END
};

/* A frame whose caller a language's runtime may know. The answer replaces pc, sp and fp. */
struct unwind_activation {
	uintptr_t pc, sp, fp;
	enum unwind_question question;
	int has_fp; /* fp is known */
	/* All registers, if the thread or a signal was interrupted in this frame; else NULL. */
	const struct arch_registers *innermost;
};

/* A runtime's answer besides 0 (the frame is unknown) and -errno (the caller cannot be found). */
#define UNWIND_CALLER 1 /* pc, sp and fp are the caller's now */
/* pc, sp and fp are those of the module's frame in which the code runs */
#define UNWIND_INSIDE 2

/* A frame whose caller the walk has just looked for. */
struct unwind_frame {
	uintptr_t pc, sp;
	uintptr_t caller_sp, caller_pc; /* 0: the caller was not found */
	/* the frame pointer, if the caller was found through it; else 0 */
	uintptr_t fp;
	/* generated code runs in this frame; if in a module, pc is not exact */
	int is_generated;
	/* All registers of the thread, borrowed for the walk, in its innermost frame; else NULL. */
	const struct arch_registers *innermost;
	/*
	 * Write the frame's registers into @out, as far as call-frame information recovers them.
	 * Returns a set in which bit n stands for a known register n. Needs about a
	 * microsecond. NULL: not available.
	 */
	uint64_t (*registers)(const struct unwind_frame *frame, struct arch_registers *out);
	const void *walk; /* for registers(), borrowed */
};

struct unwind_result {
	unsigned frames;
	enum wire_end end;
};

#endif
