/* SPDX-License-Identifier: MIT */
/*
 * Find the source line of addresses by the line programs of DWARF 2 to 5. The program of a unit is
 * executed once for all requested addresses of the unit, so that its rows need not be stored.
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

/* The header of one line program. Zero-initialise. */
struct dwarf_lines {
	struct dwarf_lines_name *folders; /* owned */
	struct dwarf_lines_name *files;	  /* owned */
	uint32_t folder_count, folder_room;
	uint32_t file_count, file_room;
	uint64_t program; /* offset of the first instruction */
	uint64_t end;
	struct dwarf_encoding encoding;
	uint8_t instruction_bytes;
	uint8_t line_range;
	uint8_t opcode_base;
	int8_t line_base;
	/* number of operands of each standard opcode */
	uint8_t operands[256];
};

/*
 * Read the header of @unit's line program with its tables of folders and files. @lines may hold an
 * earlier header, whose memory is reused. Returns 0; -ENOENT if the unit has no line program;
 * -EBADMSG; or -ENOMEM. Call dwarf_lines_release() in any case.
 */
int dwarf_lines_read(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, struct dwarf_lines *lines);

void dwarf_lines_release(struct dwarf_lines *lines);

/*
 * Execute the program, and set @found[i] for each of the @count @addresses (sorted) for which it
 * has a row; other elements of @found are not changed.
 */
void dwarf_lines_find(struct dwarf_reader *reader, const struct dwarf_lines *lines,
	const uint64_t *addresses, size_t count, struct dwarf_line *found);

/*
 * Write the path of file @file of the line program to @path, as the compiler wrote it; a relative
 * path is prefixed with the compiler's working directory. Returns the length of the path, or 0 if
 * there is no such file or the path does not fit.
 */
size_t dwarf_lines_path(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_lines *lines, uint64_t file, char *path, size_t path_bytes);

#endif
