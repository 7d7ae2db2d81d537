/* SPDX-License-Identifier: MIT */
/* All names (some 100,000) are in one text. A function ends at the next symbol of any kind. */
#include "cli/symbols/kernel_symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define SYMBOLS_FILE "/proc/kallsyms"
#define SYMBOLS_MAX (4u << 20)
#define NAME_BYTES  512

struct symbol {
	uint64_t start;
	uint32_t name; /* offset of the name in @text */
	/* position in the file; of several symbols at one address, the first is used */
	uint32_t order;
};

struct kernel_symbols {
	struct symbol *list; /* owned; sorted by address */
	size_t count, room;
	char *text; /* owned */
	size_t text_bytes, text_room;
};

static int by_address(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int keep_name(struct kernel_symbols *symbols, const char *name)
{
	size_t bytes = strlen(name) + 1;

	if (symbols->text_bytes + bytes > symbols->text_room) {
		size_t room = 2 * symbols->text_room + (1u << 20);
		char *text = room <= UINT32_MAX ? realloc(symbols->text, room) : NULL;

		if (!text)
			return -ENOMEM;
		symbols->text = text;
		symbols->text_room = room;
	}
	memcpy(symbols->text + symbols->text_bytes, name, bytes);
	symbols->text_bytes += bytes;
	return 0;
}

static bool is_function(char type)
{
	return strchr("tTwW", type) != NULL;
}

/*
 * Add a symbol. If it is not a function, it gets no name, but it is needed because every symbol
 * ends the function before it.
 */
static int add_symbol(struct kernel_symbols *symbols, uint64_t start, char type, const char *name)
{
	size_t at = symbols->text_bytes;

	if (symbols->count >= SYMBOLS_MAX)
		return -E2BIG;
	if (ARRAY_GROW(symbols->list, symbols->count, symbols->room, 1024) ||
		keep_name(symbols, is_function(type) ? name : ""))
		return -ENOMEM;
	symbols->list[symbols->count] = (struct symbol){
		.start = start, .name = (uint32_t)at, .order = (uint32_t)symbols->count};
	symbols->count++;
	return 0;
}

/* Parse a line. A name ends at white space; a line whose name has unprintable bytes is ignored. */
static int read_line(struct kernel_symbols *symbols, char *line)
{
	char *end, *name;
	uint64_t start = strtoull(line, &end, 16);

	if (!start || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	name = end + 3;
	name[strcspn(name, " \t\n")] = '\0';
	for (const char *c = name; *c; c++)
		if (!isgraph((unsigned char)*c))
			return 0;
	return *name ? add_symbol(symbols, start, end[1], name) : 0;
}

int kernel_symbols_read(struct kernel_symbols **out, FILE *file)
{
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	char line[NAME_BYTES];
	int error = symbols ? 0 : -ENOMEM;

	while (!error && fgets(line, sizeof(line), file))
		error = read_line(symbols, line);
	if (!error && !symbols->count)
		error = -EPERM;
	if (error) {
		kernel_symbols_free(symbols);
		return error;
	}
	qsort(symbols->list, symbols->count, sizeof(*symbols->list), by_address);
	*out = symbols;
	return 0;
}

int kernel_symbols_open(struct kernel_symbols **out)
{
	FILE *file = fopen(SYMBOLS_FILE, "re");
	int error;

	if (!file)
		return -errno;
	error = kernel_symbols_read(out, file);
	fclose(file);
	return error;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->list);
	free(symbols->text);
	free(symbols);
}

/* If several symbols have one address, return the first. */
const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address)
{
	size_t from = 0, to = symbols->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (symbols->list[middle].start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	while (from > 1 && symbols->list[from - 2].start == symbols->list[from - 1].start)
		from--;
	if (!from || !symbols->text[symbols->list[from - 1].name])
		return NULL;
	return symbols->text + symbols->list[from - 1].name;
}

/*
 * The kernel hides addresses if all of them are 0. Read on after a 0, because some per-CPU
 * variables, which come first, are always 0.
 */
int kernel_symbols_probe(void)
{
	FILE *file = fopen(SYMBOLS_FILE, "re");
	char line[NAME_BYTES];
	bool has_addresses = false;

	if (!file)
		return -errno;
	while (!has_addresses && fgets(line, sizeof(line), file)) {
		char *end;

		has_addresses = strtoull(line, &end, 16) != 0;
	}
	fclose(file);
	return has_addresses ? 0 : -EPERM;
}
