/* SPDX-License-Identifier: MIT */
/*
 * Line programs of DWARF 2 to 5: which line of which file an address stems from. A program is run
 * once for all the addresses that are asked of its unit, and no row of it is kept.
 *
 * Source: DWARF Debugging Information Format 5, section 6.2.
 */
#ifndef CLI_SYMBOLS_DWARF_LINES_H
#define CLI_SYMBOLS_DWARF_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_unit.h"

struct dwarf_line {
	uint32_t file; /* for dwarf_lines_path() */
	uint32_t line; /* 0: unknown */
};

/* The files of one program, and what is needed to run it. All zero is an empty one. */
struct dwarf_lines {
	struct dwarf_lines_name *folders; /* owned */
	struct dwarf_lines_name *files;	  /* owned */
	uint32_t folder_count, folder_room;
	uint32_t file_count, file_room;
	uint64_t program; /* where it begins */
	uint64_t end;
	struct dwarf_encoding encoding;
	uint8_t instruction_bytes;
	uint8_t line_range;
	uint8_t opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of standard opcodes */
};

/*
 * Read the header of @unit's line program: its tables of folders and files. @lines may be one that
 * was read before, whose memory is used again.
 * Returns 0; -ENOENT when there is none; -EBADMSG; or -ENOMEM. dwarf_lines_release() in any case.
 */
int dwarf_lines_read(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, struct dwarf_lines *lines);

void dwarf_lines_release(struct dwarf_lines *lines);

/*
 * Set @found[i] for each of the @count sorted @addresses that the program has a row for; the others
 * are left as they are.
 */
void dwarf_lines_find(struct dwarf_reader *reader, const struct dwarf_lines *lines,
	const uint64_t *addresses, size_t count, struct dwarf_line *found);

/*
 * The path of file number @file as the compiler knew it, relative ones below the folder in which
 * it ran. Returns its length, or 0: there is none that fits.
 */
size_t dwarf_lines_path(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_lines *lines, uint64_t file, char *path, size_t path_bytes);

#endif
