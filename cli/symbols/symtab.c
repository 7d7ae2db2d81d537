/* SPDX-License-Identifier: MIT */
/*
 * Sort the symbols and split them into pieces that do not overlap, so that a look-up is one binary
 * search.
 *
 *   symbols   outer  |-----------------------|
 *             inner        |-------|
 *   pieces    outer  |inner        |outer    |none
 */
#include "cli/symbols/symtab.h"

#include <errno.h>
#include <stdlib.h>

#include "render/array.h"

#define PIECE_NONE UINT32_MAX

/* A range of addresses, from `start` to the start of the next piece. */
struct piece {
	uint64_t start;
	uint32_t symbol; /* index of its symbol; PIECE_NONE: none */
};

/* Sort key of a symbol. */
struct key {
	uint64_t start;
	uint32_t symbol;
	uint32_t rank;
};

struct symtab {
	struct symtab_symbol *symbols;
	size_t count;
	size_t room;
	struct piece *pieces;
	size_t pieces_count;
	void **kept;
	size_t kept_count;
	struct languages languages;
};

struct symtab *symtab_new(void)
{
	return calloc(1, sizeof(struct symtab));
}

void symtab_free(struct symtab *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		free(table->symbols[i].shown);
	for (size_t i = 0; i < table->kept_count; i++)
		free(table->kept[i]);
	free(table->kept);
	free(table->symbols);
	free(table->pieces);
	languages_release(&table->languages);
	free(table);
}

int symtab_keep(struct symtab *table, void *memory)
{
	void **kept = reallocarray(table->kept, table->kept_count + 1, sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	table->kept = kept;
	table->kept[table->kept_count++] = memory;
	return 0;
}

int symtab_reserve(struct symtab *table, size_t more)
{
	size_t room = table->count + more;
	struct symtab_symbol *symbols;

	if (more > SYMTAB_MAX || room <= table->room)
		return 0;
	symbols = reallocarray(table->symbols, room, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	table->symbols = symbols;
	table->room = room;
	return 0;
}

int symtab_add(struct symtab *table, const struct symtab_symbol *symbol)
{
	if (symbol->start >= symbol->limit)
		return 0;
	if (table->count == SYMTAB_MAX)
		return -E2BIG;
	if (table->count == table->room && symtab_reserve(table, table->count + 256))
		return -ENOMEM;

	struct symtab_symbol *added = &table->symbols[table->count++];

	*added = *symbol;
	if (added->end < added->start || added->end > added->limit)
		added->end = added->limit;
	added->shown = NULL;
	return 0;
}

size_t symtab_count(const struct symtab *table)
{
	return table->count;
}

struct languages *symtab_languages(struct symtab *table)
{
	return &table->languages;
}

/*
 * Of several symbols at one address, sort the preferred one last, because flatten() lets later
 * symbols hide earlier ones.
 */
static int compare_keys(const void *left, const void *right)
{
	const struct key *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	/* prefer the symbol that was added first */
	return a->symbol > b->symbol ? -1 : a->symbol < b->symbol;
}

/* Return the sorted keys, an owned array, or NULL if out of memory. */
static struct key *sort_symbols(const struct symtab *table)
{
	struct key *keys = calloc(table->count + 1, sizeof(*keys));

	if (!keys)
		return NULL;
	for (uint32_t i = 0; i < table->count; i++)
		keys[i] = (struct key){table->symbols[i].start, i, table->symbols[i].rank};
	if (table->count)
		qsort(keys, table->count, sizeof(*keys), compare_keys);
	return keys;
}

static void add_piece(struct symtab *table, uint64_t start, uint32_t symbol)
{
	struct piece *last = table->pieces_count ? &table->pieces[table->pieces_count - 1] : NULL;

	if (last && last->start == start) {
		last->symbol = symbol;
		return;
	}
	if (last && last->symbol == symbol)
		return;
	table->pieces[table->pieces_count++] = (struct piece){start, symbol};
}

/*
 * Remove from @stack the symbols that end at or before @upto, and add the pieces after them.
 * Returns the new depth.
 */
static size_t close_symbols(
	struct symtab *table, const uint32_t *stack, size_t depth, uint64_t upto)
{
	while (depth && table->symbols[stack[depth - 1]].end <= upto) {
		uint64_t end = table->symbols[stack[--depth]].end;

		while (depth && table->symbols[stack[depth - 1]].end <= end)
			depth--;
		add_piece(table, end, depth ? stack[depth - 1] : PIECE_NONE);
	}
	return depth;
}

/*
 * Set the ends of the symbols @keys[@from] to @keys[@to - 1], which start at the same address.
 * @covered is set if an earlier symbol covers that address. Returns 0 if this is so and none of
 * them has a size: they are then labels inside the earlier symbol, and the caller drops them.
 */
static int choose_aliases(
	struct symtab *table, const struct key *keys, size_t from, size_t to, int covered)
{
	uint64_t start = keys[from].start;
	uint64_t end = start;
	uint8_t is_unsized = 0;

	for (size_t i = from; i < to; i++)
		if (table->symbols[keys[i].symbol].end > end)
			end = table->symbols[keys[i].symbol].end;
	if (end == start && covered)
		return 0;
	if (end == start) {
		is_unsized = 1;
		end = start + SYMTAB_UNSIZED_BYTES;
		if (to < table->count && keys[to].start < end)
			end = keys[to].start;
	}
	for (size_t i = from; i < to; i++) {
		struct symtab_symbol *symbol = &table->symbols[keys[i].symbol];

		symbol->is_unsized = is_unsized;
		if (symbol->end == start)
			symbol->end = end < symbol->limit ? end : symbol->limit;
	}
	return 1;
}

/* Make the pieces from the sorted @keys. @stack has room for all symbols. */
static void flatten(struct symtab *table, const struct key *keys, uint32_t *stack)
{
	size_t depth = 0;

	table->pieces_count = 0;
	for (size_t from = 0, to; from < table->count; from = to) {
		uint64_t start = keys[from].start;

		for (to = from + 1; to < table->count && keys[to].start == start;)
			to++;
		depth = close_symbols(table, stack, depth, start);
		if (!choose_aliases(table, keys, from, to, depth != 0))
			continue;
		for (size_t i = from; i < to; i++) {
			stack[depth++] = keys[i].symbol;
			add_piece(table, start, keys[i].symbol);
		}
	}
	close_symbols(table, stack, depth, UINT64_MAX);
}

int symtab_finish(struct symtab *table)
{
	struct key *keys = sort_symbols(table);
	uint32_t *stack = calloc(table->count + 1, sizeof(*stack));
	struct piece *pieces = calloc(2 * table->count + 1, sizeof(*pieces));
	int error = keys && stack && pieces ? 0 : -ENOMEM;

	languages_finish(&table->languages);
	if (!error) {
		free(table->pieces);
		table->pieces = pieces;
		pieces = NULL;
		flatten(table, keys, stack);
	}
	free(keys);
	free(stack);
	free(pieces);
	return error;
}

struct symtab_symbol *symtab_find(struct symtab *table, uint64_t address)
{
	size_t before = ARRAY_UPTO(table->pieces, table->pieces_count, start, address);

	if (!before || table->pieces[before - 1].symbol == PIECE_NONE)
		return NULL;
	return &table->symbols[table->pieces[before - 1].symbol];
}

size_t symtab_pieces(const struct symtab *table)
{
	return table->pieces_count;
}

const struct symtab_symbol *symtab_piece(
	const struct symtab *table, size_t piece, uint64_t *start, uint64_t *end)
{
	const struct piece *at = &table->pieces[piece];

	*start = at->start;
	*end = piece + 1 < table->pieces_count ? at[1].start : at->start;
	return at->symbol == PIECE_NONE ? NULL : &table->symbols[at->symbol];
}
