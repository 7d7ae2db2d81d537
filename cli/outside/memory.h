/* SPDX-License-Identifier: MIT */
/*
 * Somebody else's memory, read by process_vm_readv(2) in stretches of a few pages, which are kept
 * while its owner is stopped. A walk asks for some hundred words that lie in two or three
 * stretches; a system call for each word is what makes stock accessors slow.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_MEMORY_H
#define CLI_OUTSIDE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEMORY_PAGE    4096u
#define MEMORY_SLOTS   64u /* pages kept, at the place their number says */
#define MEMORY_STRETCH 4u  /* pages read at once */

struct memory {
	pid_t pid;
	uintptr_t held[MEMORY_SLOTS]; /* address of the page in each slot; 1: none */
	char page[MEMORY_SLOTS][MEMORY_PAGE];
};

/* Forget what was kept and read from @pid from now on: before each walk. */
void memory_begin(struct memory *memory, pid_t pid);

/* One word at any alignment. Returns 0, or -EFAULT when it cannot be read. */
int memory_word(struct memory *memory, uintptr_t address, uintptr_t *value);

/* @bytes bytes, past the cache. Returns 0, or -EFAULT when they are not all there. */
int memory_copy(pid_t pid, uintptr_t address, void *out, size_t bytes);

#endif
