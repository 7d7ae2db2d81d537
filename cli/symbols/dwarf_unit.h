/* SPDX-License-Identifier: MIT */
/*
 * Find the units of DWARF 2 to 5, walk through their entries, and decode addresses, names and
 * references. All values are checked when they are read.
 *
 * Source: DWARF Debugging Information Format 5, sections 2.17, 3.1 and 7.5.
 */
#ifndef CLI_SYMBOLS_DWARF_UNIT_H
#define CLI_SYMBOLS_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_entry.h"

struct dwarf_unit {
	uint64_t offset;  /* of the header in .debug_info */
	uint64_t entries; /* offset of the first DIE */
	uint64_t end;
	/* offset of the unit's table of abbreviations */
	uint64_t abbrevs;
	uint64_t low_pc; /* base of the unit's range lists */
	uint64_t line_program;
	uint64_t split_id;
	uint64_t addr_base;
	uint64_t str_offsets_base;
	uint64_t rnglists_base;
	uint64_t ranges_base;
	struct dwarf_value folder; /* the compiler's working directory */
	/* name of the unit's .dwo file; .number is DWARF_NONE if there is none */
	struct dwarf_value split_name;
	struct dwarf_encoding encoding;
	uint8_t type; /* DW_UT_* */
	/* the unit is from a .dwo; its .debug_addr is in the program's file */
	bool is_split;
	bool has_code; /* its first DIE has code ranges */
	bool is_cxx;
};

/*
 * The state of one thread for reading the DWARF of one file. @main (borrowed) reads .debug_addr and
 * .debug_ranges for split units; it is the reader itself if the file is not split. @alternate
 * (borrowed, may be NULL) reads dwz's alternate file.
 */
struct dwarf_reader {
	struct dwarf_sections *sections; /* borrowed */
	struct dwarf_reader *main;
	struct dwarf_reader *alternate;
	/* borrowed; all units of the file, by rising offset */
	const struct dwarf_unit *units;
	size_t unit_count;
	struct cursor entries; /* position of the walk */
	struct cursor entry;   /* cursor for reading single entries */
	struct cursor part[DWARF_SECTION_COUNT];
	struct dwarf_abbrevs *abbrevs[2]; /* owned; [0] for the walk, [1] for other reads */
};

/* Initialise @reader; a walk reads @entries_bytes of .debug_info at once. Returns 0 or -ENOMEM. */
int dwarf_reader_init(
	struct dwarf_reader *reader, struct dwarf_sections *sections, size_t entries_bytes);
void dwarf_reader_release(struct dwarf_reader *reader);

/*
 * Read the header and the first entry of the unit at @offset. Sets *@next to the offset of the next
 * unit if the length of this unit is valid, even if the call fails. Returns 0, -EBADMSG or -ENOMEM.
 */
int dwarf_unit_read(
	struct dwarf_reader *reader, uint64_t offset, struct dwarf_unit *unit, uint64_t *next);

/* Receives one range of addresses [@low, @high). Returns false to end the iteration. */
typedef bool dwarf_range_fn(void *context, uint64_t low, uint64_t high);

/*
 * Receives each unit after it was read; @number is its index in the array. Reading the unit's
 * ranges is cheapest now, because its abbreviations are loaded.
 */
typedef void dwarf_unit_fn(
	void *context, struct dwarf_reader *reader, const struct dwarf_unit *unit, uint32_t number);

/*
 * Read all units of the file and call @each (may be NULL) with each. Units that cannot be read are
 * left out; the list ends at a unit whose length is invalid.
 * Returns 0 with an owned array in *@units, sorted by offset, or -ENOMEM.
 */
int dwarf_units_read(struct dwarf_reader *reader, struct dwarf_unit **units, size_t *count,
	dwarf_unit_fn *each, void *context);

/*
 * Begin a walk at the children of @unit's first entry.
 * Returns 0, -ENOENT if it has no children, -EBADMSG or -ENOMEM.
 */
int dwarf_walk_begin(struct dwarf_reader *reader, const struct dwarf_unit *unit);

/*
 * Read the next entry of the walk, in the order of the file: an entry's children follow it and end
 * with an entry of tag 0. Returns false if the entry is invalid, or at the end of the unit.
 */
bool dwarf_walk_next(struct dwarf_reader *reader, struct dwarf_die *die);

/* Skip the children of @die, the last entry read. Returns false if the unit ends first. */
bool dwarf_walk_skip(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, const struct dwarf_die *die);

/* Call @range with each address range of @die, except for code that the linker removed. */
void dwarf_die_ranges(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_die *die, dwarf_range_fn *range, void *context);

/* Call @range with each address range of @unit, except for code that the linker removed. */
void dwarf_unit_ranges(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	dwarf_range_fn *range, void *context);

/*
 * Return the string that @value of @unit refers to, or NULL if it cannot be read. It is valid until
 * @reader is used again.
 */
const char *dwarf_text(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value);

/*
 * Return the string at @offset of section @name, or NULL if it cannot be read. It is valid until
 * @reader is used again.
 */
const char *dwarf_text_at(
	struct dwarf_reader *reader, enum dwarf_section_name name, uint64_t offset);

/*
 * Resolve the reference @value of @unit. Returns the offset in .debug_info of the entry that it
 * refers to, and sets *@reader to the reader of the entry's file. Returns DWARF_NONE if the
 * reference is invalid.
 */
uint64_t dwarf_reference(struct dwarf_reader **reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value);

/* The name of a function, and where it is stored. */
struct dwarf_name {
	struct dwarf_reader *reader; /* reader and unit, for dwarf_text() */
	const struct dwarf_unit *unit;
	uint64_t offset; /* of the entry that has the name */
	/* position of the function's declaration in the source; 0: unknown */
	uint64_t line, column;
	struct dwarf_value text;
	struct dwarf_value bare; /* DW_AT_name; form 0: none */
	/* @text is the linkage name; otherwise it is DW_AT_name */
	bool is_linkage;
};

/*
 * Find the name of the function whose entry is at @offset in @reader's file. If the entry has no
 * linkage name, follow its references to the entries of which it is an instance. Returns false if
 * there is no name.
 */
bool dwarf_function_name(struct dwarf_reader *reader, uint64_t offset, struct dwarf_name *name);

#endif
