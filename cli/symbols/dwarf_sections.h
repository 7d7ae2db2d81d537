/* SPDX-License-Identifier: MIT */
/*
 * The DWARF sections of one ELF file, read piece by piece: a cursor holds a window of one section,
 * so that memory does not grow with the file, and a file cut short while it is read gives an error.
 * Compressed sections are unpacked whole. What a hostile file can cost is
 * counted in bytes read.
 */
#ifndef CLI_SYMBOLS_DWARF_SECTIONS_H
#define CLI_SYMBOLS_DWARF_SECTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/elf_file.h"

enum dwarf_section_name {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_LINE,
	DWARF_LINE_STR,
	DWARF_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_CU_INDEX, /* of a .dwp */
	DWARF_SECTION_COUNT
};

struct dwarf_section {
	int fd;		       /* borrowed; where @memory is NULL */
	uint64_t file_offset;  /* likewise */
	uint64_t bytes;	       /* 0: there is no such section */
	const uint8_t *memory; /* unpacked, or of a file that is in memory */
	uint8_t *unpacked;     /* owned */
};

struct dwarf_sections {
	struct dwarf_section section[DWARF_SECTION_COUNT];
	uint64_t bytes;		   /* of all of them */
	_Atomic uint64_t work_max; /* what it may cost from now on, in bytes read */
};

/*
 * Find the sections of @file, which must stay open; @is_split: those of a .dwo or .dwp.
 * Returns 0, to be given to dwarf_sections_release(); -ENOENT without .debug_info; or -ENOMEM.
 * Context: one thread; what is found may be read by many, each with cursors of its own.
 */
int dwarf_sections_init(
	struct dwarf_sections *sections, const struct elf_file *file, bool is_split);

void dwarf_sections_release(struct dwarf_sections *sections);

/*
 * A place in one section. Reads that go beyond the limit, or that the file does not give, return
 * zeroes and set @failed, which stays set until the next cursor_seek().
 */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;  /* of what is loaded and within the limit */
	uint64_t end_offset; /* the section's offset of @end */
	uint64_t limit;	     /* the section's offset where reading ends */
	struct dwarf_sections *sections;
	const struct dwarf_section *section;
	uint8_t *buffer; /* owned; what @at points into where the section is not in memory */
	uint64_t loaded_offset;
	size_t loaded_bytes;
	size_t window_bytes;
	bool failed;
};

/* A cursor over section @name that reads @window_bytes at once; at the section's beginning. */
void cursor_init(struct cursor *cursor, struct dwarf_sections *sections,
	enum dwarf_section_name name, size_t window_bytes);
void cursor_release(struct cursor *cursor);

/* Go to @offset; nothing at or behind @limit is read. */
void cursor_seek(struct cursor *cursor, uint64_t offset, uint64_t limit);

/* Have at least @bytes at cursor->at. Returns false, and the cursor has failed, when there are not.
 */
bool cursor_load(struct cursor *cursor, size_t bytes);

/*
 * Charge work that costs as much as reading @bytes, but that reads nothing: the cursor fails when
 * the file has cost too much.
 */
void cursor_charge(struct cursor *cursor, uint64_t bytes);

/*
 * The text at the cursor, which is then behind it. NULL when it does not end within the limit and
 * the window. Valid until the cursor is used again.
 */
const char *cursor_text(struct cursor *cursor);

/* Leave the text at the cursor behind. */
void cursor_skip_text(struct cursor *cursor);

/* The slow ways of cursor_uleb() and cursor_skip(). */
uint64_t cursor_uleb_long(struct cursor *cursor);
void cursor_skip_far(struct cursor *cursor, uint64_t bytes);

int64_t cursor_sleb(struct cursor *cursor);

static inline uint64_t cursor_offset(const struct cursor *cursor)
{
	return cursor->end_offset - (uint64_t)(cursor->end - cursor->at);
}

/* A little-endian number of @bytes bytes, at most 8. */
static inline uint64_t cursor_number(struct cursor *cursor, unsigned bytes)
{
	uint64_t number = 0;

	if ((size_t)(cursor->end - cursor->at) < bytes && !cursor_load(cursor, bytes))
		return 0;
	__builtin_memcpy(&number, cursor->at, bytes);
	cursor->at += bytes;
	return number;
}

static inline uint8_t cursor_byte(struct cursor *cursor)
{
	if (cursor->at == cursor->end && !cursor_load(cursor, 1))
		return 0;
	return *cursor->at++;
}

static inline uint64_t cursor_uleb(struct cursor *cursor)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80)
		return *cursor->at++;
	return cursor_uleb_long(cursor);
}

static inline void cursor_skip(struct cursor *cursor, uint64_t bytes)
{
	if ((uint64_t)(cursor->end - cursor->at) >= bytes)
		cursor->at += bytes;
	else
		cursor_skip_far(cursor, bytes);
}

#endif
