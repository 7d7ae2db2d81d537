/* SPDX-License-Identifier: MIT */
/*
 * Which functions of the source an address stems from, one inlined into another, and at which line
 * of which file each of them was: out of one ELF file's DWARF, for many addresses at once.
 */
#ifndef CLI_SYMBOLS_INLINES_H
#define CLI_SYMBOLS_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/text_pool.h"

struct inlines_frame {
	const char *name; /* as linkers know it, else as it is written; "": unknown */
	const char *file; /* path as the compiler knew it; "": unknown */
	uint32_t line;	  /* where the function was: 0: unknown */
};

/*
 * The functions of one address, outermost first. [0] is the function that stands in memory, or has
 * no name where only the line is known; each other one is inlined into the one before it. The line
 * of the last is where the address is, that of others where the next one was called.
 */
struct inlines_chain {
	const struct inlines_frame *frames;
	uint32_t count; /* 0: nothing is known */
};

#define INLINES_POOLS 2

/* What is known of some addresses. */
struct inlines {
	uint64_t *addresses;	      /* owned; sorted, each once */
	struct inlines_chain *chains; /* owned; by address */
	size_t count;
	struct text_pool pools[INLINES_POOLS]; /* what the chains point to */
};

struct inlines_request {
	const struct elf_file *file; /* borrowed; has .debug_info */
	const uint64_t *addresses;   /* borrowed; ELF virtual addresses, sorted, each once */
	size_t count;
	uint32_t pid; /* whose root other files of the DWARF are looked for in; 0: ours */
	bool (*is_hurried)(void); /* asked between units, by several threads: what is found until
				     it says so is all. NULL: take the time */
};

/*
 * Find the chains of all addresses.
 * Returns 0 and an owned object; -ENOENT when the file has no DWARF; or -ENOMEM.
 * Context: any thread; starts some of its own, which have ended when this returns.
 */
int inlines_read(const struct inlines_request *request, struct inlines **inlines);

void inlines_free(struct inlines *inlines); /* NULL is fine */

/* The chain of @address, or NULL: it was not asked for. */
const struct inlines_chain *inlines_find(const struct inlines *inlines, uint64_t address);

#endif
