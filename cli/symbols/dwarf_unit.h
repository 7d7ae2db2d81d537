/* SPDX-License-Identifier: MIT */
/*
 * Units of DWARF 2 to 5: finding them, walking through their entries, and what entries say of
 * addresses, names and each other. Everything is checked when it is read.
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
	uint64_t offset;  /* of its header in .debug_info */
	uint64_t entries; /* of its first DIE */
	uint64_t end;
	uint64_t abbrevs; /* offset of its table of abbreviations */
	uint64_t low_pc;  /* what range lists begin with */
	uint64_t line_program;
	uint64_t split_id;
	uint64_t addr_base;
	uint64_t str_offsets_base;
	uint64_t rnglists_base;
	uint64_t ranges_base;
	struct dwarf_value folder;     /* of the compilation */
	struct dwarf_value split_name; /* .number DWARF_NONE: it is not split */
	struct dwarf_encoding encoding;
	uint8_t type;  /* DW_UT_* */
	bool is_split; /* in a .dwo: its addresses are in the other file */
	bool has_code; /* it says where its code is */
	bool is_cxx;
};

/*
 * What one thread reads one file with. Texts and references of `other` forms are in @alternate,
 * addresses of split units in @main; both borrowed. @main is the reader itself, @alternate NULL
 * where there is no other file.
 */
struct dwarf_reader {
	struct dwarf_sections *sections; /* borrowed */
	struct dwarf_reader *main;
	struct dwarf_reader *alternate;
	const struct dwarf_unit *units; /* borrowed; all of the file, by rising offset */
	size_t unit_count;
	struct cursor entries; /* where a unit is walked through */
	struct cursor entry;   /* where single entries are read */
	struct cursor part[DWARF_SECTION_COUNT];
	struct dwarf_abbrevs *abbrevs[2]; /* owned; of the unit that is walked, of another */
};

/* @entries_bytes: how much of .debug_info is read at once in a walk. Returns 0 or -ENOMEM. */
int dwarf_reader_init(
	struct dwarf_reader *reader, struct dwarf_sections *sections, size_t entries_bytes);
void dwarf_reader_release(struct dwarf_reader *reader);

/*
 * Read header and first entry of the unit at @offset. @next is set whenever it can be told where
 * the next unit begins, also where this one cannot be read.
 * Returns 0, -ENOTSUP for units without code that are no use (types, parts), -EBADMSG, or -ENOMEM.
 */
int dwarf_unit_read(
	struct dwarf_reader *reader, uint64_t offset, struct dwarf_unit *unit, uint64_t *next);

/* Called with each range of addresses; returns false to have no more. */
typedef bool dwarf_range_fn(void *context, uint64_t low, uint64_t high);

/*
 * Called with each unit as it is read, number @number of the array: now its ranges cost least, as
 * its abbreviations are at hand.
 */
typedef void dwarf_unit_fn(
	void *context, struct dwarf_reader *reader, const struct dwarf_unit *unit, uint32_t number);

/*
 * Read all units of the file and tell @each (NULL: nobody) of them. Returns 0 and an owned array,
 * sorted by offset, or -ENOMEM. What stands behind a broken one is left out.
 */
int dwarf_units_read(struct dwarf_reader *reader, struct dwarf_unit **units, size_t *count,
	dwarf_unit_fn *each, void *context);

/*
 * Go to the children of @unit's first entry.
 * Returns 0, -ENOENT when it has none, or -errno: it cannot be read.
 */
int dwarf_walk_begin(struct dwarf_reader *reader, const struct dwarf_unit *unit);

/*
 * The next entry of the walk, in the order in which they are written: after one that has children
 * they follow, up to one of tag 0. Returns false at the unit's end and where it is broken.
 */
bool dwarf_walk_next(struct dwarf_reader *reader, struct dwarf_die *die);

/* Go behind the children of @die, which was the last one. Returns false at the unit's end. */
bool dwarf_walk_skip(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, const struct dwarf_die *die);

/* Tell @range where the code of @die is. What a linker left out of the program is not told. */
void dwarf_die_ranges(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_die *die, dwarf_range_fn *range, void *context);

/* The same for all of @unit. */
void dwarf_unit_ranges(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	dwarf_range_fn *range, void *context);

/* The text of @value. NULL when it cannot be read. Valid until @reader is used again. */
const char *dwarf_text(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value);

/* The text at @offset of section @name. NULL when it cannot be read. Valid as dwarf_text()'s. */
const char *dwarf_text_at(
	struct dwarf_reader *reader, enum dwarf_section_name name, uint64_t offset);

/*
 * Where the reference @value leads: *@reader and the returned offset in its file. DWARF_NONE when
 * it leads nowhere.
 */
uint64_t dwarf_reference(struct dwarf_reader **reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value);

/* Where a function's name is. */
struct dwarf_name {
	struct dwarf_reader *reader; /* of the file, for dwarf_text() */
	const struct dwarf_unit *unit;
	uint64_t offset; /* of the entry that has it */
	uint64_t line, column; /* where the function is defined; 0: not known */
	struct dwarf_value text;
	struct dwarf_value bare; /* as it is written; form 0: not known */
	bool is_linkage; /* @text is as linkers know it; else it is @bare */
};

/*
 * Find the name of the function whose entry is at @offset in @reader's file: its own, or that of
 * what it is an instance of. Returns false when there is none.
 */
bool dwarf_function_name(struct dwarf_reader *reader, uint64_t offset, struct dwarf_name *name);

#endif
