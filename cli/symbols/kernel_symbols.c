/* SPDX-License-Identifier: MIT */
/* All names (some 100,000) are in one text. A function ends at the next symbol of any kind. */
#include "cli/symbols/kernel_symbols.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"
#include "render/bytes.h"

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
	struct bytes text;
};

static int by_address(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
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
	size_t at = symbols->text.used;

	if (symbols->count >= SYMBOLS_MAX)
		return -E2BIG;
	if (ARRAY_GROW(symbols->list, symbols->count, symbols->room, 1024))
		return -ENOMEM;
	bytes_text(&symbols->text, is_function(type) ? name : "");
	bytes_put(&symbols->text, "", 1);
	symbols->list[symbols->count] = (struct symbol){
		.start = start, .name = (uint32_t)at, .order = (uint32_t)symbols->count};
	symbols->count++;
	return symbols->text.error;
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
	bytes_release(&symbols->text);
	free(symbols);
}

/* If several symbols have one address, return the first. */
const char *kernel_symbols_name(const struct kernel_symbols *symbols, uint64_t address)
{
	const struct symbol *list = symbols->list;
	size_t after = ARRAY_UPTO(list, symbols->count, start, address);
	const char *name;

	while (after > 1 && list[after - 2].start == list[after - 1].start)
		after--;
	name = after ? (const char *)symbols->text.data + list[after - 1].name : "";
	return *name ? name : NULL;
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
