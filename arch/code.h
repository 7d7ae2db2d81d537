/* SPDX-License-Identifier: MIT */
/*
 * A piece of code and what it tells of the way to its caller: what arch/epilogue.h is given and
 * answers.
 */
#ifndef ARCH_CODE_H
#define ARCH_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Six registers popped, vzeroupper, the JVM's check for a safepoint, and the return: 37 on x86. */
#define ARCH_CODE_BYTES 48u

/* What could be read around a pc: bytes[0, end), the pc at `at`, which is below or at `end`. */
struct arch_code {
	uint8_t bytes[ARCH_CODE_BYTES];
	unsigned at;
	unsigned end;
	bool exact; /* the pc is about to run: the function may not have begun, or not called yet */
};

/* Offsets in bytes. */
struct arch_epilogue {
	uint32_t cfa; /* from the stack pointer to the CFA, the caller's stack pointer */
	uint32_t ra;  /* from the return address to the CFA; 0: it is in its register */
	uint32_t fp;  /* from the caller's frame pointer to the CFA; 0: it is in its register */
	bool others;  /* other registers of the caller are on the stack, too */
};

#endif
