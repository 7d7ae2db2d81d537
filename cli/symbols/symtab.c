/* SPDX-License-Identifier: MIT */
/*
 * Sorted symbols, flattened into pieces that do not overlap, so that one binary search answers.
 *
 *   symbols   outer  |-----------------------|
 *             inner        |-------|
 *   pieces    outer  |inner        |outer    |none
 */
#include "cli/symbols/symtab.h"

#include <errno.h>
#include <stdlib.h>

#define PIECE_NONE UINT32_MAX

/* From start up to the next piece's start, symbol number `symbol` answers. */
struct piece {
	uint64_t start;
	uint32_t symbol; /* PIECE_NONE: nobody */
};

struct symtab {
	struct symtab_symbol *symbols;
	size_t count;
	size_t room;
	struct piece *pieces;
	size_t pieces_count;
	void **kept;
	size_t kept_count;
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

int symtab_add(struct symtab *table, const struct symtab_symbol *symbol)
{
	if (symbol->start >= symbol->limit)
		return 0;
	if (table->count == SYMTAB_MAX)
		return -E2BIG;
	if (table->count == table->room) {
		size_t room = table->room ? table->room * 2 : 256;
		struct symtab_symbol *symbols =
			reallocarray(table->symbols, room, sizeof(*symbols));

		if (!symbols)
			return -ENOMEM;
		table->symbols = symbols;
		table->room = room;
	}

	struct symtab_symbol *added = &table->symbols[table->count];

	*added = *symbol;
	if (added->end < added->start || added->end > added->limit)
		added->end = added->limit;
	added->shown = NULL;
	added->order = (uint32_t)table->count++;
	return 0;
}

size_t symtab_count(const struct symtab *table)
{
	return table->count;
}

/* By start; among equals the one that shall answer comes last, on top of the others. */
static int compare_symbols(const void *left, const void *right)
{
	const struct symtab_symbol *a = left;
	const struct symtab_symbol *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->order > b->order ? -1 : a->order < b->order;
}

static void emit(struct symtab *table, uint64_t start, uint32_t symbol)
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

/* Close the symbols on the stack that end at or before @upto; returns the new depth. */
static size_t close_symbols(
	struct symtab *table, const uint32_t *stack, size_t depth, uint64_t upto)
{
	while (depth && table->symbols[stack[depth - 1]].end <= upto) {
		uint64_t end = table->symbols[stack[--depth]].end;

		while (depth && table->symbols[stack[depth - 1]].end <= end)
			depth--;
		emit(table, end, depth ? stack[depth - 1] : PIECE_NONE);
	}
	return depth;
}

/*
 * Give the symbols [@from, @to), all at one address, their ends. @covered: a sized symbol that
 * began earlier reaches over this address. Returns 0 when they are mere labels.
 */
static int settle_aliases(struct symtab *table, size_t from, size_t to, int covered)
{
	struct symtab_symbol *symbols = table->symbols;
	uint64_t end = symbols[from].start;

	for (size_t i = from; i < to; i++)
		if (symbols[i].end > end)
			end = symbols[i].end;
	if (end == symbols[from].start && covered)
		return 0;
	for (size_t i = from; i < to; i++) {
		if (symbols[i].end != symbols[i].start)
			continue;
		symbols[i].end = end != symbols[i].start ? end
				 : to < table->count	 ? symbols[to].start
							 : UINT64_MAX;
		if (symbols[i].end > symbols[i].limit)
			symbols[i].end = symbols[i].limit;
	}
	return 1;
}

int symtab_finish(struct symtab *table)
{
	size_t depth = 0;
	uint32_t *stack = calloc(table->count + 1, sizeof(*stack));
	struct piece *pieces = calloc(2 * table->count + 1, sizeof(*pieces));

	if (!stack || !pieces) {
		free(stack);
		free(pieces);
		return -ENOMEM;
	}
	free(table->pieces);
	table->pieces = pieces;
	table->pieces_count = 0;
	if (table->count)
		qsort(table->symbols, table->count, sizeof(*table->symbols), compare_symbols);

	for (size_t from = 0, to; from < table->count; from = to) {
		uint64_t start = table->symbols[from].start;

		for (to = from + 1; to < table->count && table->symbols[to].start == start;)
			to++;
		depth = close_symbols(table, stack, depth, start);
		if (!settle_aliases(table, from, to, depth != 0))
			continue;
		for (size_t i = from; i < to; i++) {
			stack[depth++] = (uint32_t)i;
			emit(table, start, (uint32_t)i);
		}
	}
	close_symbols(table, stack, depth, UINT64_MAX);
	free(stack);
	return 0;
}

struct symtab_symbol *symtab_find(struct symtab *table, uint64_t address)
{
	size_t low = 0;
	size_t high = table->pieces_count;

	/* The last piece that starts at or before the address. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->pieces[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || table->pieces[low - 1].symbol == PIECE_NONE)
		return NULL;
	return &table->symbols[table->pieces[low - 1].symbol];
}
