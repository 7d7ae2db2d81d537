/* SPDX-License-Identifier: MIT */
/*
 * How code gets back to its caller, told from its instructions: for code that nothing else is known
 * of. Chosen by include path: arch/<cpu>/arch_epilogue.h supplies everything named below.
 *
 * ARCH_CODE_BEFORE     how many bytes before the pc may tell something
 * arch_find_epilogue(const struct arch_code *code, struct arch_epilogue *out) -> int
 *                      follow the code from its pc, straight ahead, to the return. It believes only
 *                      what it knows every byte of: what is found is what the CPU will do unless it
 *                      branches before, and a branch does not change what is on the stack already.
 *                      Returns 0, or -ENOENT: anything else than a way out. Context: signal-safe.
 */
#ifndef ARCH_EPILOGUE_H
#define ARCH_EPILOGUE_H

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

#include <arch_epilogue.h>

#ifndef ARCH_CODE_BEFORE
#error "arch_epilogue.h lacks a primitive"
#endif

#endif
