/* SPDX-License-Identifier: MIT */
/*
 * One module's functions as a sorted table: filled in any order, finished once, then searched by
 * address. Knows neither ELF nor demangling. Which of several overlapping symbols answers is
 * decided here and nowhere else.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_SYMTAB_H
#define CLI_SYMBOLS_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

struct symtab;

/* Symbols beyond this are not taken: larger than any program known, small enough for memory. */
#define SYMTAB_MAX (8u << 20)

/*
 * How far a symbol without a size reaches at the most. Assemblers write such; in a stripped file
 * the next name may be a whole library of code away.
 */
#define SYMTAB_UNSIZED_BYTES 4096u

/* The better of two aliases has the higher rank; the bits order by importance. */
#define SYMTAB_RANK_LOCAL    0u
#define SYMTAB_RANK_IFUNC    1u /* what callers call; its resolver has the same address */
#define SYMTAB_RANK_WEAK     2u
#define SYMTAB_RANK_GLOBAL   4u
#define SYMTAB_RANK_FUNCTION 8u

struct symtab_symbol {
	uint64_t start;
	uint64_t end;	   /* start: no size known; set by symtab_finish() */
	uint64_t limit;	   /* end of the section: no symbol reaches beyond */
	const char *name;  /* mangled; lives in memory given by symtab_keep() */
	uint64_t resolver; /* without a name: called as the symbol that covers this address */
	char *shown;	   /* what the reader sees, made at the first look-up; owned by the table */
	uint8_t rank;	   /* SYMTAB_RANK_* */
	uint8_t is_unsized; /* `end` is a guess, which others may know to be too far */
	uint8_t is_plt;
};

/* Returns an owned empty table, or NULL without memory. */
struct symtab *symtab_new(void);
void symtab_free(struct symtab *table); /* NULL is fine */

/*
 * Keep @memory (from malloc) until symtab_free(): the table takes ownership.
 * Returns 0, or -ENOMEM; then the caller still owns it.
 */
int symtab_keep(struct symtab *table, void *memory);

/*
 * Add one symbol: start, end, limit, name, resolver, rank and is_plt of @symbol, the rest is
 * ignored.
 * Symbols that are empty after clamping to their limit are dropped without a word.
 * Returns 0, -ENOMEM, or -E2BIG at SYMTAB_MAX.
 */
int symtab_add(struct symtab *table, const struct symtab_symbol *symbol);

/* Make room for @more symbols at once; a hint. Returns 0 or -ENOMEM. */
int symtab_reserve(struct symtab *table, size_t more);

size_t symtab_count(const struct symtab *table);

/*
 * Sort, and choose who answers for which address. Innermost wins: of the symbols that cover an
 * address the one that starts last, of those the highest rank, of those the first added. A symbol
 * without a size takes the size of an alias at its address; else it reaches to the next symbol, its
 * limit or SYMTAB_UNSIZED_BYTES, whichever is nearest; inside a symbol that has a size it is only a
 * label and is dropped.
 * Returns 0 or -ENOMEM.
 */
int symtab_finish(struct symtab *table);

/*
 * What symtab_find() would answer, piece by piece: *@end is where piece number @piece ends, and all
 * before it is of earlier ones. Returns its symbol, or NULL where none answers. After
 * symtab_finish().
 */
size_t symtab_pieces(const struct symtab *table);
const struct symtab_symbol *symtab_piece(
	const struct symtab *table, size_t piece, uint64_t *start, uint64_t *end);

/* The symbol that covers @address, or NULL. Valid until symtab_free(). After symtab_finish(). */
struct symtab_symbol *symtab_find(struct symtab *table, uint64_t address);

#endif
