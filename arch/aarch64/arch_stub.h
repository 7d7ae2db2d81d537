/* SPDX-License-Identifier: MIT */
/* Sizes of stubs on aarch64, for arch/stub.h, and arch_registers_here(). */
#ifndef ARCH_AARCH64_STUB_H
#define ARCH_AARCH64_STUB_H

#include <stdint.h>
#include <sys/auxv.h>

#define ARCH_STUB_CODE_MAX  640
#define ARCH_STUB_CFI_MAX   24
#define ARCH_STUB_CIE_BYTES 15
#define ARCH_STUB_BRIEF_MAX 96
#define ARCH_STUB_ALIGN     16
#define ARCH_STUB_FILL      0       /* udf #0 */
#define ARCH_STUB_REACH     0xffff0 /* range of ldr (literal) */
/* In pages with PROT_BTI, indirect calls must land on a bti instruction. */
#define ARCH_STUB_PROT      (getauxval(AT_HWCAP2) & ARCH_HWCAP2_BTI ? 0x10 /* PROT_BTI */ : 0)
#define ARCH_HWCAP2_BTI     (1UL << 17)
#define ARCH_ELF_MACHINE    183 /* EM_AARCH64 */

static inline __attribute__((always_inline)) void arch_registers_here(
	struct arch_registers *registers)
{
	__asm__ volatile("stp x19, x20, [%0, #19*8]\n\t"
			 "stp x21, x22, [%0, #21*8]\n\t"
			 "stp x23, x24, [%0, #23*8]\n\t"
			 "stp x25, x26, [%0, #25*8]\n\t"
			 "stp x27, x28, [%0, #27*8]\n\t"
			 "stp x29, x30, [%0, #29*8]\n\t"
			 "mov x9, sp\n\t"
			 "adr x10, 0f\n"
			 "0:\n\t"
			 "stp x9, x10, [%0, #31*8]"
			 :
			 : "r"(registers)
			 : "x9", "x10", "memory");
}

#endif
