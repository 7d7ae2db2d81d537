/* SPDX-License-Identifier: MIT */
/*
 * The layout of .gopclntab; the header contains the offsets of the other parts:
 *
 *	header      names        ...  rows (varints)  ...  functions
 *	+-----------+------------+----+---------------+----+------------------------------+
 *	| offsets   | a\0b\0...  |    |               |    | {start, description}...      |
 *	+-----------+------------+----+---------------+----+ descriptions: {name, rows,...|
 */
#include "cli/symbols/gopclntab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/symtab.h"

#define MAGIC_118 0xfffffff0u
#define MAGIC_120 0xfffffff1u

#define HEADER_BYTES   72u /* 8 bytes of magic and sizes, 8 words */
#define FLAG_OUTERMOST 1u
#define FLAG_WRITES_SP 2u

static uint32_t read_u32(const struct gopclntab *table, uint64_t at)
{
	uint32_t value = 0;

	if (at <= table->size && table->size - at >= sizeof(value))
		memcpy(&value, table->bytes + at, sizeof(value));
	return value;
}

static uint64_t read_u64(const struct gopclntab *table, uint64_t at)
{
	uint64_t value = 0;

	if (at <= table->size && table->size - at >= sizeof(value))
		memcpy(&value, table->bytes + at, sizeof(value));
	return value;
}

static Elf_Data *find_section(const struct elf_file *file)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		GElf_Shdr header;
		Elf_Scn *section = elf_file_section(file, names[i], &header);

		if (section)
			return elf_file_data(section, &header);
	}
	return NULL;
}

/*
 * Find the last NUL of the names. This is done once, because many functions of a broken table may
 * share a long name without an end.
 */
static uint64_t find_names_end(const struct gopclntab *table)
{
	uint64_t end = table->size;

	while (end > table->names && table->bytes[end - 1])
		end--;
	return end;
}

int gopclntab_open(struct gopclntab *table, const struct elf_file *file)
{
	const Elf_Data *data = find_section(file);
	struct gopclntab found = {0};
	GElf_Shdr text;
	uint32_t magic;

	if (!data || !data->d_buf || data->d_size < HEADER_BYTES)
		return -ENOENT;
	found.bytes = data->d_buf;
	found.size = data->d_size;
	magic = read_u32(&found, 0);
	if ((magic != MAGIC_118 && magic != MAGIC_120) || found.bytes[7] != sizeof(uint64_t))
		return -ENOTSUP;
	found.quantum = found.bytes[6];
	found.count = read_u64(&found, 8);
	found.text = read_u64(&found, 24);
	found.names = read_u64(&found, 32);
	found.rows = read_u64(&found, 56);
	found.functions = read_u64(&found, 64);
	found.flag_at = magic == MAGIC_118 ? 37 : 41;
	/* A 0 means that the linker left the value to a relocation; use the address of .text. */
	if (!found.text && elf_file_section(file, ".text", &text))
		found.text = text.sh_addr;
	if (found.functions > found.size || found.names > found.size || found.rows > found.size ||
		found.count >= (found.size - found.functions) / 8)
		return -ENOTSUP;
	found.names_end = find_names_end(&found);
	*table = found;
	return 0;
}

int gopclntab_function(
	const struct gopclntab *table, uint64_t index, struct gopclntab_function *out)
{
	uint64_t entry = table->functions + index * 8;
	uint64_t description = table->functions + read_u32(table, entry + 4);
	uint64_t name = table->names + read_u32(table, description + 4);
	uint32_t rows = read_u32(table, description + 16);
	uint8_t flags;

	if (index >= table->count || description > table->size ||
		table->size - description <= table->flag_at || name >= table->names_end)
		return -EBADMSG;
	flags = table->bytes[description + table->flag_at];
	*out = (struct gopclntab_function){
		.start = table->text + read_u32(table, entry),
		.end = table->text + read_u32(table, entry + 8),
		.name = (const char *)table->bytes + name,
		.is_outermost = flags & FLAG_OUTERMOST,
		.switches_stack = flags & FLAG_WRITES_SP,
		.row = rows ? table->rows + rows : table->size,
	};
	return out->start < out->end ? 0 : -EBADMSG;
}

/* Read a number of seven bits per byte; bit 7 is clear in its last byte. */
static int read_varint(const struct gopclntab *table, uint64_t *at, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 35; shift += 7) {
		uint8_t byte;

		if (*at >= table->size)
			return -EBADMSG;
		byte = table->bytes[(*at)++];
		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return 0;
	}
	return -EBADMSG;
}

int gopclntab_row(const struct gopclntab *table, uint64_t *at, struct gopclntab_row *row)
{
	uint32_t change, length;
	bool is_first = row->bytes == -1;

	if (*at >= table->size)
		return -ENOENT;
	if (read_varint(table, at, &change))
		return -EBADMSG;
	if (!change && !is_first)
		return -ENOENT;
	if (read_varint(table, at, &length))
		return -EBADMSG;
	/* Zigzag encoding: bit 0 is the sign. */
	row->bytes += (int32_t)(change & 1 ? ~(change >> 1) : change >> 1);
	row->end += (uint64_t)length * table->quantum;
	return 0;
}

int gosyms_add(struct symtab *table, const struct elf_file *file)
{
	struct gopclntab functions;
	int added = 0;
	char *names;

	if (gopclntab_open(&functions, file))
		return 0;
	names = malloc(functions.size - functions.names);
	if (!names)
		return -ENOMEM;
	memcpy(names, functions.bytes + functions.names, functions.size - functions.names);
	if (symtab_keep(table, names)) {
		free(names);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < functions.count; i++) {
		struct gopclntab_function function;
		struct symtab_symbol symbol = {.rank = SYMTAB_RANK_FUNCTION};
		int error;

		if (gopclntab_function(&functions, i, &function))
			continue;
		symbol.start = function.start;
		symbol.end = symbol.limit = function.end;
		symbol.name = names +
			(function.name - (const char *)functions.bytes - functions.names);
		error = symtab_add(table, &symbol);
		if (error == -ENOMEM)
			return error;
		added += !error;
	}
	return added;
}
