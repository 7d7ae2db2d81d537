/* SPDX-License-Identifier: MIT */
/*
 * Read .gopclntab, the table by which Go's runtime finds functions. Stripped programs keep it. It
 * contains names, extents, and the size of the stack frame at each instruction. The input is
 * untrusted.
 *
 * Source: Go's src/internal/abi/symtab.go, src/runtime/symtab.go and src/debug/gosym/pclntab.go,
 * versions since Go 1.18. Context: any thread.
 */
#ifndef CLI_SYMBOLS_GOPCLNTAB_H
#define CLI_SYMBOLS_GOPCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"

struct gopclntab {
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
	/* ELF virtual address to which the starts of functions are relative */
	uint64_t text;
	/* @names and the fields below are offsets in the table */
	uint64_t names;
	uint64_t names_end; /* after the names' last NUL */
	uint64_t rows;
	uint64_t functions;
	uint64_t count;
	/* in bytes; the lengths of code ranges are multiples of this */
	unsigned quantum;
	/* offset of the flags in a function's description */
	unsigned flag_at;
};

struct gopclntab_function {
	uint64_t start, end; /* ELF virtual addresses */
	/* borrowed from the table, where it ends in NUL */
	const char *name;
	/* the function has no caller, so unwinding ends here */
	bool is_outermost;
	/* the function sets the stack pointer, so its rows are not valid */
	bool switches_stack;
	uint64_t row; /* start value for gopclntab_row() */
};

/* A range of instructions of a function during which the stack frame has one size. */
struct gopclntab_row {
	uint64_t end; /* exclusive ELF virtual address */
	/* bytes of stack that the function has allocated since its entry */
	int64_t bytes;
};

/*
 * Find the table in @file; @table borrows from @file. Go 1.18 and later are supported. Returns 0;
 * -ENOENT if there is no table; or -ENOTSUP if the table is broken or of an unknown version.
 */
int gopclntab_open(struct gopclntab *table, const struct elf_file *file);

/* Read function number @index, which must be less than table->count. Returns 0 or -EBADMSG. */
int gopclntab_function(
	const struct gopclntab *table, uint64_t index, struct gopclntab_function *out);

/*
 * Read the next row of a function into *@row. Before the first call, set *@at to function->row and
 * *@row to {function->start, -1}; each call updates both. Returns 0, -ENOENT after the last row, or
 * -EBADMSG.
 */
int gopclntab_row(const struct gopclntab *table, uint64_t *at, struct gopclntab_row *row);

struct symtab;

/*
 * Add the functions of @file's .gopclntab to @table, which keeps its own copy of the names.
 * Returns the number of functions added, 0 if the section is missing or broken; or -ENOMEM.
 */
int gosyms_add(struct symtab *table, const struct elf_file *file);

#endif
