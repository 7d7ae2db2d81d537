/* SPDX-License-Identifier: MIT */
/*
 * The index is a header, a hash table of units, then two tables with a row for each unit and a
 * column for each section: where its part begins, and how long it is:
 *
 *	version | columns | rows | slots	4 bytes each
 *	units	8 bytes a slot
 *	rows	4 bytes a slot, 0: free, else from 1 on
 *	names	4 bytes a column: which section
 *	begins	4 bytes a row and column
 *	sizes	the same
 */
#include "cli/symbols/dwarf_package.h"

#include <errno.h>

#define INDEX_BYTES  4096u
#define COLUMNS_MAX  16u
#define SLOTS_MAX    (1u << 24)
#define HEADER_BYTES 16u

struct index {
	struct cursor cursor;
	uint32_t version;
	uint32_t columns, rows, slots;
};

static uint64_t number_at(struct index *index, uint64_t offset, unsigned bytes)
{
	cursor_seek(&index->cursor, offset, UINT64_MAX);
	return cursor_number(&index->cursor, bytes);
}

/* Our section of column name @name, DWARF_SECTION_COUNT: none that is read. */
static enum dwarf_section_name section_of(uint32_t version, uint32_t name)
{
	switch (name) {
	case 1:
		return DWARF_INFO;
	case 3:
		return DWARF_ABBREV;
	case 6:
		return DWARF_STR_OFFSETS;
	case 8: /* before version 5 macros */
		return version >= 5 ? DWARF_RNGLISTS : DWARF_SECTION_COUNT;
	default:
		return DWARF_SECTION_COUNT;
	}
}

/* The row of the unit @split_id, from 1 on; 0: there is none. */
static uint32_t find_row(struct index *index, uint64_t split_id)
{
	uint64_t mask = index->slots - 1, at = split_id & mask, step = (split_id >> 32 & mask) | 1;
	uint64_t rows = HEADER_BYTES + (uint64_t)index->slots * 8;

	for (uint32_t i = 0; i < index->slots; i++, at = (at + step) & mask) {
		uint32_t row = (uint32_t)number_at(index, rows + at * 4, 4);

		if (!row || row > index->rows)
			return 0;
		if (number_at(index, HEADER_BYTES + at * 8, 8) == split_id)
			return row;
	}
	return 0;
}

/* Cut @section down to @bytes from @begin on. Returns false when it has not as many. */
static bool cut(struct dwarf_section *section, uint64_t begin, uint64_t bytes)
{
	if (begin > section->bytes || bytes > section->bytes - begin)
		return false;
	section->file_offset += begin;
	if (section->memory)
		section->memory += begin;
	section->bytes = bytes;
	return true;
}

static int find_part(struct index *index, uint64_t split_id, struct dwarf_sections *part)
{
	uint64_t names = HEADER_BYTES + (uint64_t)index->slots * 12, begins, sizes;
	uint32_t row = find_row(index, split_id);

	if (!row)
		return -ENOENT;
	begins = names + index->columns * 4 + (uint64_t)(row - 1) * index->columns * 4;
	sizes = begins + (uint64_t)index->rows * index->columns * 4;
	for (uint32_t i = 0; i < index->columns; i++) {
		enum dwarf_section_name name =
			section_of(index->version, (uint32_t)number_at(index, names + i * 4, 4));

		if (name != DWARF_SECTION_COUNT &&
			!cut(&part->section[name], number_at(index, begins + i * 4, 4),
				number_at(index, sizes + i * 4, 4)))
			return -EBADMSG;
	}
	return index->cursor.failed ? -EBADMSG : 0;
}

int dwarf_package_find(
	struct dwarf_sections *package, uint64_t split_id, struct dwarf_sections *part)
{
	struct index index;
	int error = -EBADMSG;

	cursor_init(&index.cursor, package, DWARF_CU_INDEX, INDEX_BYTES);
	/* Of two bytes in version 5, with two that are zero. */
	index.version = (uint32_t)number_at(&index, 0, 4);
	index.columns = (uint32_t)number_at(&index, 4, 4);
	index.rows = (uint32_t)number_at(&index, 8, 4);
	index.slots = (uint32_t)number_at(&index, 12, 4);
	*part = *package;
	if (index.columns <= COLUMNS_MAX && index.slots && index.slots <= SLOTS_MAX &&
		!(index.slots & (index.slots - 1)))
		error = find_part(&index, split_id, part);
	cursor_release(&index.cursor);
	return error;
}
