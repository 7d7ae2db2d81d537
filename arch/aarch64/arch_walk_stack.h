/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: instructions and getauxval(). */
/*
 * Size of signal frames, and valgrind's client requests, on aarch64. Sources: Linux
 * arch/arm64/kernel/signal.c; valgrind's manual, "The Client Request mechanism".
 */
#ifndef ARCH_AARCH64_WALK_STACK_H
#define ARCH_AARCH64_WALK_STACK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#define ARCH_HAS_WALK_STACK 1

/* size of a signal frame without SVE: siginfo, ucontext, frame record */
#define ARCH_SIGNAL_FRAME_BYTES 4720

/* AT_MINSIGSTKSZ is the size of a signal frame with all vector registers of this CPU. */
static inline size_t arch_signal_frame_bytes(void)
{
	size_t bytes = getauxval(AT_MINSIGSTKSZ);

	return bytes > ARCH_SIGNAL_FRAME_BYTES ? bytes : ARCH_SIGNAL_FRAME_BYTES;
}

/* Valgrind recognises these instructions, which have no effect on a CPU: rotations by 128 bits. */
static inline uint64_t arch_ask_valgrind(uint64_t number, uintptr_t first, uintptr_t second)
{
	volatile uint64_t request[6] = {number, first, second, 0, 0, 0};
	register uint64_t result __asm__("x3") = 0;
	register volatile uint64_t *arguments __asm__("x4") = request;

	__asm__ volatile("ror x12, x12, #3; ror x12, x12, #13\n\t"
			 "ror x12, x12, #51; ror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(result)
			 : "r"(arguments)
			 : "cc", "memory");
	return result;
}

#endif
