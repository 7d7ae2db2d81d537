/* SPDX-License-Identifier: MIT */
/*
 * The machine code of stubs and its call-frame information. libprof/flameprof_stub.h describes what
 * a stub does and its frame. Selected by include path: arch/<cpu>/arch_stub.h and arch_stub.c
 * define all names below.
 *
 * All stubs of an arena are copies of one template, in which two distances are filled in: from the
 * stub's code to its own data word (the payload), and to a data word that all stubs share.
 *
 *	call, bind    call the function whose address is in the shared word
 *	intercept     call the original function, whose address is the payload; after it returns,
 *	              if the thread's tick counter is > 0, call the function in the shared word,
 *	              which is arch_intercept_slow()
 */
#ifndef ARCH_STUB_H
#define ARCH_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"

/* Parameters of the template, which are derived from the target's struct flameprof_signature. */
struct arch_stub_shape {
	unsigned stack_words;
	unsigned integer_arguments;
	int memory_result;
	int bind;
	int intercept;
	/* for intercept stubs: offset of the tick counter from the thread pointer, in bytes */
	int64_t ticks_at;
};

#include <arch_stub.h>

/*
 * ARCH_STUB_CODE_MAX   maximal bytes of a stub's code
 * ARCH_STUB_CFI_MAX    maximal bytes of instructions in a stub's FDE
 * ARCH_STUB_BRIEF_MAX  maximal bytes that arch_stub_brief_cfi() writes
 * ARCH_STUB_ALIGN      alignment of stubs
 * ARCH_STUB_FILL       byte that fills the gaps between stubs; it is not valid code
 * ARCH_STUB_REACH      maximal distance in bytes from a stub to its data words
 * ARCH_STUB_PROT       flag for mprotect(2) besides PROT_READ | PROT_EXEC, if mprotect accepts it
 * ARCH_ELF_MACHINE     the CPU's e_machine in ELF files
 * arch_stub_cie        bytes of the CIE of all stubs: from the version to the initial instructions,
 *                      without length and id; augmentation "zR", pointers DW_EH_PE_pcrel | sdata4
 * arch_registers_here(struct arch_registers *)
 *                      Store the caller's registers that a call preserves. Always inlined.
 */
#if !defined(ARCH_STUB_CODE_MAX) || !defined(ARCH_STUB_CFI_MAX) || !defined(ARCH_STUB_ALIGN) || \
	!defined(ARCH_STUB_FILL) || \
	!defined(ARCH_STUB_REACH) || !defined(ARCH_STUB_PROT) || !defined(ARCH_ELF_MACHINE)
#error "arch_stub.h lacks a primitive"
#endif

extern const uint8_t arch_stub_cie[ARCH_STUB_CIE_BYTES];

struct arch_stub_template {
	uint8_t code[ARCH_STUB_CODE_MAX];
	/* call-frame instructions for the code */
	uint8_t cfi[ARCH_STUB_CFI_MAX];
	uint32_t code_bytes;
	uint32_t cfi_bytes;
	/* offset in @code, in bytes, of the instructions that remove the frame */
	uint32_t leave_at;
	/* offset of the instruction that contains the distance to the payload */
	uint32_t payload_at;
	/* offset of the instruction that contains the distance to the shared word */
	uint32_t target_at;
};

/*
 * Build the template for @shape. Returns 0, -EINVAL for a shape that no stub can have, or -ENOTSUP
 * for an intercept whose tick counter is too far from the thread pointer.
 */
int arch_stub_prepare(const struct arch_stub_shape *shape, struct arch_stub_template *out);

/*
 * Write one stub of stub->code_bytes to @code.
 *
 * @payload  distance in bytes from the stub's final address to its payload
 * @target   distance in bytes from the stub's final address to the shared word
 * Both are at most ARCH_STUB_REACH.
 */
void arch_stub_write(
	const struct arch_stub_template *stub, uint8_t *code, int32_t payload, int32_t target);

/*
 * Write the instructions of one FDE that covers many stubs, the first at @start, @stride bytes
 * apart. DWARF expressions compute the position in a stub from the pc. One FDE for many stubs helps
 * unwinders that search all FDEs one by one.
 *
 * @room  gets at most ARCH_STUB_BRIEF_MAX bytes
 *
 * Returns the number of bytes, or 0 if expressions cannot read the pc on this CPU.
 */
unsigned arch_stub_brief_cfi(const struct arch_stub_template *stub, uintptr_t start,
	uint32_t stride, uint8_t *room);

/* ---- the slow half of an intercept ----------------------------------------------------------- */
/*
 * The slow half of an intercept stub's check is assembly, arch/<cpu>/arch_intercept_slow.S: it runs
 * when the original function has just returned, with results in registers that an ordinary call may
 * overwrite.
 */

/*
 * Call the function given to arch_intercept_prepare(), and preserve all registers that can hold a
 * result in any calling convention of the CPU. Uses up to 3 KiB of stack on x86_64, and on aarch64
 * 1.5 KiB or, with SVE, 10.2 KiB, plus the stack of the called function.
 *
 * Context: generated code, after arch_intercept_prepare().
 */
void arch_intercept_slow(void);

/*
 * Detect which registers the CPU has, and set the function that arch_intercept_slow() calls. Call
 * it again if the process is restored on another machine (checkpoint and restore). Context: any
 * thread.
 */
void arch_intercept_prepare(void (*take)(void));

#endif
