/* SPDX-License-Identifier: MIT */
/*
 * Read the DWARF sections of one ELF file. A cursor reads one section through a window, so that
 * memory does not grow with the file, and a file that is truncated meanwhile gives an error, not
 * SIGBUS. Compressed sections are unpacked whole. The number of bytes read is limited, because
 * references in a hostile file can make readers loop.
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
	int fd; /* borrowed; valid if @memory is NULL */
	/* offset of the section in the file; valid if @memory is NULL */
	uint64_t file_offset;
	uint64_t bytes; /* size of the section; 0 if there is none */
	/* contents, if the section was unpacked or the file is in memory */
	const uint8_t *memory;
	uint8_t *unpacked; /* owned */
};

struct dwarf_sections {
	struct dwarf_section section[DWARF_SECTION_COUNT];
	uint64_t bytes; /* sum of the sizes of all sections */
	/* number of bytes that may still be read; when it is used up, all cursors fail */
	_Atomic uint64_t work_max;
};

/*
 * Find the sections of @file, which must stay open. @is_split: the file is a .dwo or .dwp. Returns
 * 0 (then call dwarf_sections_release()); -ENOENT if there is no .debug_info; or -ENOMEM.
 * Context: one thread; afterwards several threads may read, each with its own cursors.
 */
int dwarf_sections_init(
	struct dwarf_sections *sections, const struct elf_file *file, bool is_split);

void dwarf_sections_release(struct dwarf_sections *sections);

/*
 * A position in one section. A read beyond @limit, or a failed read of the file, returns 0 and sets
 * @failed, which stays set until the next cursor_seek().
 */
struct cursor {
	const uint8_t *at;
	/* end of the loaded bytes, but not beyond @limit */
	const uint8_t *end;
	uint64_t end_offset; /* offset of @end in the section */
	/* offset in the section at which reading ends */
	uint64_t limit;
	struct dwarf_sections *sections;
	const struct dwarf_section *section;
	/* the window, owned; NULL if the section is in memory */
	uint8_t *buffer;
	uint64_t loaded_offset;
	size_t loaded_bytes;
	size_t window_bytes;
	bool failed;
};

/* Initialise @cursor at the start of section @name, with a window of @window_bytes. */
void cursor_init(struct cursor *cursor, struct dwarf_sections *sections,
	enum dwarf_section_name name, size_t window_bytes);
void cursor_release(struct cursor *cursor);

/*
 * Move to @offset and clear @failed; if @offset is invalid, set @failed. Bytes at @limit and after
 * it are not read.
 */
void cursor_seek(struct cursor *cursor, uint64_t offset, uint64_t limit);

/* Load at least @bytes at cursor->at. If there are fewer, set @failed and return false. */
bool cursor_load(struct cursor *cursor, size_t bytes);

/*
 * Charge work other than reading to the work limit, as if @bytes bytes had been read. The cursor
 * fails if the limit is exceeded.
 */
void cursor_charge(struct cursor *cursor, uint64_t bytes);

/*
 * Return the NUL-terminated text at the cursor, and move past it. If the text does not end within
 * the limit and the window, return NULL and set @failed. The text is valid until the cursor is used
 * again.
 */
const char *cursor_text(struct cursor *cursor);

/* Skip a NUL-terminated text of any length. */
void cursor_skip_text(struct cursor *cursor);

/* The slow paths of cursor_uleb() and cursor_skip(), which are not inlined. */
uint64_t cursor_uleb_long(struct cursor *cursor);
void cursor_skip_far(struct cursor *cursor, uint64_t bytes);

int64_t cursor_sleb(struct cursor *cursor);

static inline uint64_t cursor_offset(const struct cursor *cursor)
{
	return cursor->end_offset - (uint64_t)(cursor->end - cursor->at);
}

/* Read a little-endian number of @bytes bytes, at most 8. */
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
