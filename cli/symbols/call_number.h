/* SPDX-License-Identifier: MIT */
/*
 * Which system call a stack is in, by the code of its file, and what it is called.
 *
 * Context: any thread.
 */
#ifndef CLI_SYMBOLS_CALL_NUMBER_H
#define CLI_SYMBOLS_CALL_NUMBER_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/* At most three of glibc's functions, and the one that wants the system call made. */
#define CALL_NUMBER_FRAMES 4u

struct call_number {
	/*
	 * Set by the caller: ELF virtual addresses of the innermost frame (behind its instruction)
	 * and of the frames that called it (in their call instructions), all of one file. 0: none.
	 */
	uint64_t addresses[CALL_NUMBER_FRAMES];
	/* The system call's number, ARCH_SYSCALL_NUMBERLESS (arch/code.h), or -1: it makes none. */
	int32_t number;
	/* How many frames, from the innermost on, only make the call on behalf of the next one. */
	uint32_t passing;
};

/* Find out @call->number and @call->passing by the code in @file (borrowed). */
void call_number_find(const struct elf_file *file, struct call_number *call);

/*
 * The name of system call @number of this CPU ("read"), from the headers that flamerun was compiled
 * with; NULL: it has none.
 */
const char *call_number_name(long number);

#endif
