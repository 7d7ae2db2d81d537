/* SPDX-License-Identifier: MIT */
/* Sizes of stubs on x86_64, for arch/stub.h, and arch_registers_here(). */
#ifndef ARCH_X86_64_STUB_H
#define ARCH_X86_64_STUB_H

#include <stdint.h>

#define ARCH_STUB_CODE_MAX  448
#define ARCH_STUB_CFI_MAX   16
#define ARCH_STUB_CIE_BYTES 15
#define ARCH_STUB_BRIEF_MAX 96
#define ARCH_STUB_ALIGN     16
#define ARCH_STUB_FILL      0xcc    /* int3 */
#define ARCH_STUB_REACH     0x7fff0000
#define ARCH_STUB_PROT      0
#define ARCH_ELF_MACHINE    62 /* EM_X86_64 */

static inline __attribute__((always_inline)) void arch_registers_here(
	struct arch_registers *registers)
{
	__asm__ volatile("mov %%rbx, 3*8(%0)\n\t"
			 "mov %%rbp, 6*8(%0)\n\t"
			 "mov %%rsp, 7*8(%0)\n\t"
			 "mov %%r12, 12*8(%0)\n\t"
			 "mov %%r13, 13*8(%0)\n\t"
			 "mov %%r14, 14*8(%0)\n\t"
			 "mov %%r15, 15*8(%0)\n\t"
			 "lea 0f(%%rip), %%rax\n"
			 "0:\n\t"
			 "mov %%rax, 16*8(%0)"
			 :
			 : "c"(registers)
			 : "rax", "memory");
}

#endif
