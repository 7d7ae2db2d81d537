/* SPDX-License-Identifier: MIT */
/*
 * Find the system call that a thread was in, by the machine code at the addresses of its stack.
 *
 * Context: any thread.
 */
#ifndef CLI_SYMBOLS_CALL_NUMBER_H
#define CLI_SYMBOLS_CALL_NUMBER_H

#include <stdint.h>

#include "cli/symbols/elf_file.h"

/* Number of frames examined: up to three internal functions of glibc, and their caller. */
#define CALL_NUMBER_FRAMES 4u

struct call_number {
	/*
	 * Set by the caller: ELF virtual addresses in one file, innermost frame first; 0 if there
	 * is no such frame. [0] is the address after the system call instruction. The others are
	 * addresses inside call instructions (return address - 1).
	 */
	uint64_t addresses[CALL_NUMBER_FRAMES];
	/* number of the system call; -1: none; ARCH_SYSCALL_NUMBERLESS (arch/code.h): unknown */
	int32_t number;
	/* number of innermost frames to hide, because they are internal functions of glibc */
	uint32_t passing;
};

/* Set @call->number and @call->passing from the machine code in @file (borrowed). */
void call_number_find(const struct elf_file *file, struct call_number *call);

/*
 * Return the name of system call @number on this CPU, such as "read", or NULL if there is no such
 * call. The names are those of the headers with which flamerun was compiled.
 */
const char *call_number_name(long number);

#endif
