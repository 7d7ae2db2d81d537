/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: instructions and one raw system call. */
/*
 * Size of signal frames, and valgrind's client requests, on x86_64. Sources: Linux
 * arch/x86/kernel/signal_64.c and arch/x86/kernel/fpu/signal.c; Intel SDM 1, chapter 13; valgrind's
 * manual, "The Client Request mechanism".
 */
#ifndef ARCH_X86_64_WALK_STACK_H
#define ARCH_X86_64_WALK_STACK_H

#include <cpuid.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "arch/syscall.h"

#define ARCH_HAS_WALK_STACK 1

#define ARCH_RED_ZONE_BYTES	  128
#define ARCH_RT_SIGFRAME_BYTES	  440 /* return address, ucontext, siginfo */
#define ARCH_FXSAVE_BYTES	  512
#define ARCH_XSAVE_HEADER_BYTES	  64
#define ARCH_FRAME_ALIGN_BYTES	  80 /* 64 for the vector state, 16 for the frame */
#define ARCH_MAGIC2_BYTES	  4
#define ARCH_STATE_LEAF		  0xd
#define ARCH_STATES		  63
#define ARCH_GET_STATES_PERMITTED 0x1022 /* arch_prctl(): ARCH_GET_XCOMP_PERM */

/*
 * Return the size of the signal frame with the vector states that this process may use, by CPUID.
 * AT_MINSIGSTKSZ would also count states that a process must request first (AMX: 8 KiB more).
 */
static inline size_t arch_signal_frame_bytes(void)
{
	uint32_t bytes = ARCH_FXSAVE_BYTES + ARCH_XSAVE_HEADER_BYTES, eax, ebx, ecx, edx;
	uint64_t permitted = ~0ULL;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & bit_OSXSAVE) {
		uint64_t enabled;

		/*
		 * XCR0 has the states that the kernel has enabled. The process may use those that
		 * arch_prctl() reports; before Linux 5.16 it may use all, and the call fails.
		 */
		__asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
		enabled = (uint64_t)edx << 32 | eax;
		arch_syscall2(SYS_arch_prctl, ARCH_GET_STATES_PERMITTED, &permitted);
		for (unsigned state = 2; state < ARCH_STATES; state++) {
			if (!(enabled & permitted & 1ULL << state))
				continue;
			__cpuid_count(ARCH_STATE_LEAF, state, eax, ebx, ecx, edx);
			if (ebx + eax > bytes)
				bytes = ebx + eax;
		}
	}
	return ARCH_RED_ZONE_BYTES + ARCH_RT_SIGFRAME_BYTES + ARCH_FRAME_ALIGN_BYTES +
	       ARCH_MAGIC2_BYTES + bytes;
}

/* Valgrind recognises these instructions, which have no effect on a CPU: rotations by 128 bits. */
static inline uint64_t arch_ask_valgrind(uint64_t number, uintptr_t first, uintptr_t second)
{
	volatile uint64_t request[6] = {number, first, second, 0, 0, 0};
	uint64_t result = 0;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(request)
			 : "cc", "memory");
	return result;
}

#endif
