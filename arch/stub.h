/* SPDX-License-Identifier: MIT */
/*
 * The code of stubs and its call-frame information. Chosen by include path:
 * arch/<cpu>/arch_stub.h and arch_stub.c supply what is named below. What a stub does and how its
 * frame looks: libprof/flameprof_stub.h.
 *
 * The stubs of an arena have one template; a stub is a copy of it with two distances filled in,
 * from its code to two words of data: its payload, and one that all of them share.
 *
 *	call, bind    call the shared word, the target
 *	intercept     call the payload, the original; when it has returned and the thread's counter
 *	              of ticks is not zero, call the shared word, arch_intercept_slow()
 */
#ifndef ARCH_STUB_H
#define ARCH_STUB_H

#include <stddef.h>
#include <stdint.h>

#include "arch/registers.h"

/* What the code depends on; as struct flameprof_signature, of the target's type. */
struct arch_stub_shape {
	unsigned stack_words;
	unsigned integer_arguments;
	int memory_result;
	int bind;
	int intercept;
	int64_t ticks_at; /* of intercepts: bytes from the thread pointer to the counter of ticks */
};

#include <arch_stub.h>

/*
 * ARCH_STUB_CODE_MAX   no stub is longer
 * ARCH_STUB_CFI_MAX    nor are the instructions of its FDE
 * ARCH_STUB_BRIEF_MAX  nor those of arch_stub_brief_cfi()
 * ARCH_STUB_ALIGN      stubs begin at multiples of it
 * ARCH_STUB_FILL       the byte between stubs: no code
 * ARCH_STUB_REACH      how far, in bytes, a stub may be from its words of data
 * ARCH_STUB_PROT       what mprotect(2) is asked for besides PROT_READ | PROT_EXEC, if it grants it
 * ARCH_ELF_MACHINE     e_machine of an ELF image
 * arch_stub_cie        bytes of the CIE of all stubs: from its version to its initial instructions,
 *                      without length and id; augmentation "zR", pointers DW_EH_PE_pcrel | sdata4
 * arch_registers_here(struct arch_registers *)
 *                      the caller's own registers, as far as a call keeps them. Always inlined.
 */
#if !defined(ARCH_STUB_CODE_MAX) || !defined(ARCH_STUB_CFI_MAX) || !defined(ARCH_STUB_ALIGN) || \
	!defined(ARCH_STUB_FILL) || \
	!defined(ARCH_STUB_REACH) || !defined(ARCH_STUB_PROT) || !defined(ARCH_ELF_MACHINE)
#error "arch_stub.h lacks a primitive"
#endif

extern const uint8_t arch_stub_cie[ARCH_STUB_CIE_BYTES];

struct arch_stub_template {
	uint8_t code[ARCH_STUB_CODE_MAX];
	uint8_t cfi[ARCH_STUB_CFI_MAX]; /* instructions of the FDE that covers the code */
	uint32_t code_bytes;
	uint32_t cfi_bytes;
	uint32_t leave_at;   /* from where on the frame is taken down, in bytes from the start */
	uint32_t payload_at; /* the instruction that has the distance to the payload, */
	uint32_t target_at;  /* and to the shared word */
};

/*
 * Returns 0, -EINVAL for a shape that no stub can have, or -ENOTSUP for an intercept whose counter
 * is out of reach.
 */
int arch_stub_prepare(const struct arch_stub_shape *shape, struct arch_stub_template *out);

/*
 * Write one stub to @code, which has room for code_bytes.
 *
 * @payload  bytes from where the stub will run to its payload, within ARCH_STUB_REACH; @target, to
 *           the shared word, too
 */
void arch_stub_place(const struct arch_stub_template *stub, uint8_t *code, int32_t payload,
	int32_t target);

/*
 * The instructions of one FDE that covers many stubs at once, the first at @start, each @stride
 * bytes behind the last: expressions that ask the pc how far into its stub it is. For unwinders
 * that go through all FDEs before they find one.
 *
 * @room  gets at most ARCH_STUB_BRIEF_MAX bytes
 *
 * Returns how many bytes; 0 where expressions cannot tell the pc.
 */
unsigned arch_stub_brief_cfi(const struct arch_stub_template *stub, uintptr_t start,
	uint32_t stride, uint8_t *room);

/* ---- the slow half of an intercept ----------------------------------------------------------- */
/*
 * The slow half of an intercept stub's check, in assembly: arch/<cpu>/arch_intercept_slow.S. It
 * runs where the original has just returned, with results in registers that no ordinary call
 * preserves.
 */

/*
 * Call what arch_intercept_prepare() was given and leave every register a result may be in, of any
 * calling convention of the CPU, as it was. Needs, besides what is called, up to 3 KiB of stack on
 * x86_64 and 1.5 KiB on aarch64, there up to 8.7 KiB more for the vectors of SVE.
 *
 * Context: generated code, after arch_intercept_prepare().
 */
void arch_intercept_slow(void);

/*
 * Learn what registers this CPU has, and that @take is to be called. May be repeated, and has to be
 * where an image of the process goes on on another machine. Context: any thread.
 */
void arch_intercept_prepare(void (*take)(void));

#endif
