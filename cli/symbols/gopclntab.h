/* SPDX-License-Identifier: MIT */
/*
 * The table by which Go's own runtime knows its functions. It stays in programs that were stripped
 * of everything else: names, extents, and how much stack is in use at each instruction.
 * Source: Go's src/internal/abi/symtab.go, src/runtime/symtab.go and src/debug/gosym/pclntab.go;
 * versions since Go 1.18.
 *
 * All input is untrusted. Context: any thread.
 */
#ifndef CLI_SYMBOLS_GOPCLNTAB_H
#define CLI_SYMBOLS_GOPCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"

struct gopclntab {
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
	uint64_t text;	  /* ELF virtual address that functions count from */
	uint64_t names;	  /* offsets of the parts */
	uint64_t names_end; /* behind the last byte that ends one */
	uint64_t rows;
	uint64_t functions;
	uint64_t count;
	unsigned quantum; /* bytes of the shortest instruction */
	unsigned flag_at; /* of a function's flags, in its description */
};

struct gopclntab_function {
	uint64_t start, end; /* ELF virtual addresses */
	const char *name;    /* inside of the table, ends in it */
	bool is_outermost;   /* nothing called it */
	bool switches_stack; /* it writes the stack pointer: sizes mean nothing */
	uint64_t row;	     /* for gopclntab_row() */
};

/* A stretch of code in which equally much stack is in use. */
struct gopclntab_row {
	uint64_t end;  /* ELF virtual address behind it */
	int64_t bytes; /* since the function's entry */
};

/*
 * Find the table in @file, from which it borrows.
 * Returns 0; -ENOENT when there is none; or -ENOTSUP for other versions.
 */
int gopclntab_open(struct gopclntab *table, const struct elf_file *file);

/* Function @index, below table->count. Returns 0 or -EBADMSG. */
int gopclntab_function(
	const struct gopclntab *table, uint64_t index, struct gopclntab_function *out);

/*
 * Go to the next row of a function: @at is function->row and @row {function->start, -1} at first;
 * both are brought on. Returns 0, -ENOENT behind the last, or -EBADMSG.
 */
int gopclntab_row(const struct gopclntab *table, uint64_t *at, struct gopclntab_row *row);

struct symtab;

/*
 * Add the functions that @file's table knows to @table, which keeps its own copy
 * of the names. Returns how many were added (0: no such table, or a broken one), or -ENOMEM.
 */
int gosyms_add(struct symtab *table, const struct elf_file *file);

#endif
