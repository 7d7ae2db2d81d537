/* SPDX-License-Identifier: MIT */
/*
 * A sorted table of one module's functions: add symbols in any order, call symtab_finish(), then
 * search by address. Only this code decides which of several overlapping symbols is returned. It
 * does not depend on ELF or demangling.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_SYMTAB_H
#define CLI_SYMBOLS_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/languages.h"

struct symtab;

/* Maximum number of symbols of a table. No known program has as many; the limit bounds memory. */
#define SYMTAB_MAX (8u << 20)

/*
 * Maximum number of bytes that a symbol without a size covers. Assembly code has such symbols, and
 * in a stripped file the next symbol may be far away.
 */
#define SYMTAB_UNSIZED_BYTES 4096u

/*
 * The rank of a symbol is a sum of these. Of two symbols with the same start, look-ups return the
 * one with the higher rank.
 */
#define SYMTAB_RANK_LOCAL    0u
/* an IFUNC is preferred to its resolver, which is at the same address */
#define SYMTAB_RANK_IFUNC    1u
#define SYMTAB_RANK_WEAK     2u
#define SYMTAB_RANK_GLOBAL   4u
#define SYMTAB_RANK_FUNCTION 8u

struct symtab_symbol {
	uint64_t start;
	/* equal to @start: size unknown; symtab_finish() sets it */
	uint64_t end;
	uint64_t limit; /* end of the section, a bound for `end` */
	/* mangled; in memory given to symtab_keep() */
	const char *name;
	/* if @name is NULL: address of an IFUNC's resolver, whose name look-ups return */
	uint64_t resolver;
	/* demangled name, owned by the table; NULL before the first look-up */
	char *shown;
	uint8_t rank;	    /* SYMTAB_RANK_* */
	uint8_t is_unsized; /* `end` is a guess and may be too far */
	uint8_t is_plt;
};

/* Returns an owned, empty table, or NULL if out of memory. */
struct symtab *symtab_new(void);
void symtab_free(struct symtab *table); /* NULL is fine */

/*
 * Take ownership of @memory (from malloc) until symtab_free(). Returns 0, or -ENOMEM; then the
 * caller still owns it.
 */
int symtab_keep(struct symtab *table, void *memory);

/*
 * Add a copy of @symbol; its `shown` and `is_unsized` are ignored. A symbol that begins at or after
 * its limit is ignored. Returns 0, -ENOMEM, or -E2BIG if the table has SYMTAB_MAX symbols.
 */
int symtab_add(struct symtab *table, const struct symtab_symbol *symbol);

/* Allocate memory for @more symbols in advance; optional. Returns 0 or -ENOMEM. */
int symtab_reserve(struct symtab *table, size_t more);

size_t symtab_count(const struct symtab *table);

/* Return the module's source languages, guessed from its symbols. Owned by @table. */
struct languages *symtab_languages(struct symtab *table);

/*
 * Sort the table. Of several symbols that cover an address, look-ups return the one that starts
 * last. Of several symbols with the same start, they return the one with the highest rank, and of
 * equal ranks the one that was added first.
 *
 * A symbol without a size gets the size of another symbol with the same start. If there is none, a
 * symbol inside another symbol is only a label and is dropped. Outside, it ends at the next symbol,
 * at its limit, or after SYMTAB_UNSIZED_BYTES, whichever is first. Returns 0 or -ENOMEM.
 */
int symtab_finish(struct symtab *table);

/*
 * Iterate over the results of symtab_find(): symtab_piece() returns the symbol of the addresses
 * from *@start to before *@end, or NULL if there is none. Pieces are sorted and adjacent. Call this
 * after symtab_finish().
 */
size_t symtab_pieces(const struct symtab *table);
const struct symtab_symbol *symtab_piece(
	const struct symtab *table, size_t piece, uint64_t *start, uint64_t *end);

/* Return the symbol that covers @address, owned by @table, or NULL. Requires symtab_finish(). */
struct symtab_symbol *symtab_find(struct symtab *table, uint64_t address);

#endif
