/* SPDX-License-Identifier: MIT */
/*
 * Look up addresses in the DWARF of one ELF file. The result is the function at each address, the
 * functions inlined there, source files and lines. Many addresses are looked up in one pass.
 */
#ifndef CLI_SYMBOLS_INLINES_H
#define CLI_SYMBOLS_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/languages.h"
#include "cli/symbols/symbols.h"
#include "cli/symbols/text_pool.h"

/*
 * The functions of one address, outermost first. [0] is the function that contains the machine
 * code; its name is "" if only the line is known. Each other function is inlined into the previous
 * one. The line of the last function is the line of the address. The line of each other function is
 * the line at which it calls the next function. Names are linkage names, or DW_AT_name with the
 * enclosing namespaces and classes, demangled.
 */
struct inlines_chain {
	const struct symbols_frame *frames;
	uint32_t count; /* 0: nothing is known */
};

#define INLINES_POOLS 2

/* The chains of some addresses. */
struct inlines {
	uint64_t *addresses;	      /* owned; sorted, without duplicates */
	struct inlines_chain *chains; /* owned; [index of the address] */
	size_t count;
	/* memory of the chains; one pool per thread */
	struct text_pool pools[INLINES_POOLS];
	struct inlines *next; /* for a list of the caller */
};

struct inlines_request {
	const struct elf_file *file; /* borrowed; must have .debug_info */
	/* borrowed; ELF virtual addresses, sorted, without duplicates */
	const uint64_t *addresses;
	size_t count;
	/* process in whose root other files of the DWARF are tried first; 0: none */
	uint32_t pid;
	enum demangle_style style;
	const struct languages *languages; /* of the module, borrowed, or NULL */
	/*
	 * Called by several threads after each unit. If true, read no more units. NULL: never
	 * hurried.
	 */
	bool (*is_hurried)(void);
};

/*
 * Find the chains of all addresses of the request. Returns 0 and an owned object in *@inlines;
 * -ENOENT if the file has no DWARF; or -ENOMEM.
 * Context: any thread; the threads that it starts end before it returns.
 */
int inlines_read(const struct inlines_request *request, struct inlines **inlines);

void inlines_free(struct inlines *inlines); /* NULL is fine */

/* Return the chain of @address, or NULL if the address was not in the request. */
const struct inlines_chain *inlines_find(const struct inlines *inlines, uint64_t address);

#endif
