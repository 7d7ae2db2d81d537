/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read CPython's code objects: the source line of an instruction, and texts such as the name. The
 * format of the line table depends on the version.
 */
#include "libprof/runtime/cpython.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* The largest number of bytes of a line table that are read to find one line. */
#define TABLE_MAX 65536u

/*
 * Returns the line of frame->position. The line table of releases up to 3.10 consists of pairs:
 * address increment, line increment. @is_newer is 1 for release 3.10.
 */
static uint32_t line_by_pairs(
	struct runtime_bytes *table, const struct runtime_frame *frame, int is_newer)
{
	int32_t target = is_newer ? 2 * frame->position : frame->position;
	int32_t address = 0, line = (int32_t)frame->first_line;

	for (;;) {
		int step = runtime_byte(table), delta = runtime_byte(table);

		if (step < 0 || delta < 0)
			return is_newer ? 0 : (uint32_t)line;
		address += step;
		/*
		 * In 3.10, a pair's line is valid up to the pair's end address. In earlier
		 * releases, the line is valid from the end address on.
		 */
		if (!is_newer && address > target)
			return (uint32_t)line;
		if (!is_newer || delta != 0x80)
			line += (int8_t)delta;
		if (is_newer && address > target)
			return delta == 0x80 ? 0 : (uint32_t)line;
	}
}

static int32_t table_varint(struct runtime_bytes *table)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift < 32; shift += 6) {
		int byte = runtime_byte(table);

		if (byte < 0)
			return 0;
		value |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/*
 * Returns the line by the table of 3.11 and later, which Objects/locations.md of CPython describes:
 * an entry is a head byte, then the line increment and columns.
 */
static uint32_t line_by_entries(struct runtime_bytes *table, const struct runtime_frame *frame)
{
	int32_t line = (int32_t)frame->first_line, units = 0;
	int byte = runtime_byte(table);

	while (byte >= 0) {
		unsigned code = (unsigned)byte >> 3 & 15;

		units += (byte & 7) + 1;
		if (code == 13 || code == 14)
			line += table_varint(table);
		else if (code >= 10 && code <= 12)
			line += (int32_t)code - 10;
		if (units > frame->position)
			return code == 15 ? 0 : (uint32_t)line;
		do
			byte = runtime_byte(table);
		while (byte >= 0 && !(byte & 0x80));
	}
	return 0;
}

uint32_t cpython_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	struct runtime_bytes table = {.reader = reader, .at = frame->lines + BYTES_OFFSET};
	uintptr_t size;

	/* The frame has not executed an instruction yet, so return the function's first line. */
	if (frame->position < 0)
		return frame->first_line;
	if (runtime_load_word(reader, frame->lines + SIZE_OFFSET, &size) || size > TABLE_MAX)
		return 0;
	table.end = table.at + size;
	return runtime->version >= 311 ? line_by_entries(&table, frame)
				      : line_by_pairs(&table, frame, runtime->version == 310);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/*
 * Encode @character. Python represents an undecodable byte of a file name by half of a surrogate
 * pair, U+DC80 to U+DCFF (PEP 383). For such a character, write the original byte, which is not
 * UTF-8.
 */
static unsigned encode(uint32_t character, char out[4])
{
	if (character < 0xdc80 || character > 0xdcff)
		return runtime_encode(character, out);
	out[0] = (char)(character & 0xff);
	return 1;
}

/*
 * Find the characters of the text object at @address: their address and their number. Returns the
 * bytes of one character (1, 2 or 4), or 0 if the object is not a text that can be read.
 */
static unsigned find_characters(const struct cpython_offsets *at, struct runtime_reader *reader,
	uintptr_t address, uintptr_t *characters, uintptr_t *length)
{
	uint32_t state;
	unsigned kind;

	if (runtime_load_word(reader, address + SIZE_OFFSET, length) ||
		runtime_load(reader, address + at->text_state, &state, sizeof(state)))
		return 0;
	kind = state >> 2 & 7;
	/*
	 * Read only texts whose characters follow the structure ("compact"). The structure is
	 * PyASCIIObject if all characters are ASCII, otherwise the longer PyCompactUnicodeObject.
	 */
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return 0;
	*characters = address + (state >> 6 & 1 ? at->ascii : at->wide);
	return kind;
}

uint32_t cpython_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end)
{
	uintptr_t from, length, first = 0;
	unsigned kind =
		find_characters(cpython_offsets_of(runtime), reader, address, &from, &length);
	uint32_t used = 0;

	out[0] = '\0';
	if (!kind)
		return 1;
	/*
	 * As UTF-8, a character takes up to four bytes. Skip characters only if they might not fit.
	 */
	if (keep_end && length > room / 4)
		first = length - room / 4;
	for (uintptr_t i = first; i < length && used + 4 < room; i++) {
		uint32_t character = 0;

		if (runtime_load(reader, from + i * kind, &character, kind))
			break;
		used += encode(character, out + used);
	}
	out[used] = '\0';
	return used + 1;
}
