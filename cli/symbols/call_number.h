/* SPDX-License-Identifier: MIT */
/*
 * Find the system call that a stack is in. Its number is read from the machine code in the ELF
 * file.
 *
 * Context: any thread.
 */
#ifndef CLI_SYMBOLS_CALL_NUMBER_H
#define CLI_SYMBOLS_CALL_NUMBER_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/* Frames below: up to three internal functions of glibc, and the function that called them. */
#define CALL_NUMBER_FRAMES 4u

struct call_number {
	/*
	 * Set by the caller: ELF virtual addresses in one file. [0] is the innermost frame: the
	 * address after its system call instruction. The others are its callers, innermost first:
	 * an address inside the call instruction (return address - 1). 0: no such frame.
	 */
	uint64_t addresses[CALL_NUMBER_FRAMES];
	/* -1: no system call; ARCH_SYSCALL_NUMBERLESS (arch/code.h): one of unknown number. */
	int32_t number;
	/* Number of innermost frames that are internal functions of glibc and should be hidden. */
	uint32_t passing;
};

/* Set @call->number and @call->passing from the machine code in @file (borrowed). */
void call_number_find(const struct elf_file *file, struct call_number *call);

/*
 * Return the name of system call @number on this CPU, such as "read", as in the headers that
 * flamerun was compiled with. Return NULL if there is no such call.
 */
const char *call_number_name(long number);

#endif
