/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: everything in this folder is reachable from the handler. */
/*
 * What the unwinding core is parametrised by and what it answers. The core itself is
 * unwind_core.h, `static inline`, instantiated by the handler, the tests and the fuzzer.
 */
#ifndef LIBPROF_UNWIND_UNWIND_H
#define LIBPROF_UNWIND_UNWIND_H

#include <stdint.h>

#include "arch/registers.h"
#include "libprof/wire.h"

/* The module a pc lies in, as a module finder answers it. */
struct unwind_module {
	uintptr_t start; /* mapped range that this answer covers */
	uintptr_t end;
	uintptr_t bias;		/* load bias: address - bias = ELF virtual address */
	uintptr_t eh_frame_hdr; /* .eh_frame_hdr in memory, 0 if there is none */
	uint32_t number; /* WIRE_FRAME module number; a reused address range gets another one */
	/*
	 * Generated code's information lies elsewhere: in [cfi_start, cfi_end). 0: in [start, end).
	 */
	uintptr_t cfi_start;
	uintptr_t cfi_end;
	/* The cache finds a row by module number and pc - row_bias. Where that difference is equal
	 * for equal pieces of code (copies of a stub, a file in many processes) they share rows. */
	uintptr_t row_bias;
	uint32_t runtime; /* of a language, as its finder numbers them; 0: none */
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

/* Known bounds of the stack that is being walked: plain loads are safe in [lo, hi). */
struct unwind_bounds {
	uintptr_t lo;
	uintptr_t hi;
};

/* Why a walk asks a language's runtime for a step. */
enum unwind_question {
	UNWIND_GENERATED, /* the frame's code is in no module */
	UNWIND_OWN_CODE,  /* the frame's code is in the module of a runtime */
	UNWIND_STACK_END  /* the stack ends at this frame: a coroutine's may have been resumed */
};

/* A frame that a language's runtime may know how to leave. The answer replaces pc, sp and fp. */
struct unwind_activation {
	uintptr_t pc, sp, fp;
	enum unwind_question question;
	int has_fp; /* fp is known */
	/* All registers, if the thread or a signal was interrupted in this frame; or NULL. */
	const struct arch_registers *innermost;
};

/* A runtime's answer besides 0 (it does not know the frame) and -errno (there is no caller). */
#define UNWIND_CALLER 1 /* the activation is the caller's now */
#define UNWIND_INSIDE 2 /* it is the frame of a module's code, in which generated code runs */

/* A frame that the walk has stepped over. */
struct unwind_frame {
	uintptr_t pc, sp;
	uintptr_t caller_sp, caller_pc; /* 0: the step failed */
	uintptr_t fp;			/* the frame pointer by which it was left; 0: otherwise */
	int is_generated; /* generated code runs in it; in a frame of a module, pc is any there */
	/* All registers of the thread, borrowed for the walk, in its innermost frame; or NULL. */
	const struct arch_registers *innermost;
	/*
	 * Its registers into @out, as far as call-frame information tells them. The result's bit n
	 * is set: register n is known. Takes a microsecond. NULL: nobody can tell.
	 */
	uint64_t (*registers)(const struct unwind_frame *frame, struct arch_registers *out);
	const void *walk; /* for that, borrowed */
};

struct unwind_result {
	unsigned frames;
	enum wire_end end;
};

#endif
