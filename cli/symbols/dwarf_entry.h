/* SPDX-License-Identifier: MIT */
/*
 * Read DWARF entries (DIEs) one by one, as the abbreviations of their unit describe them. Only
 * attributes that describe code addresses and names are kept.
 *
 * Source: DWARF Debugging Information Format 5, section 7.5; GCC's "DebugFission" for .dwo files of
 * version 4; the GNU extensions that dwz writes.
 */
#ifndef CLI_SYMBOLS_DWARF_ENTRY_H
#define CLI_SYMBOLS_DWARF_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_sections.h"

#define DWARF_NONE UINT64_MAX /* in place of an offset: there is none */

enum dwarf_slot {
	DWARF_OTHER,
	DWARF_SIBLING,
	DWARF_NAME,
	DWARF_LINKAGE_NAME,
	DWARF_ORIGIN,
	DWARF_SPECIFICATION,
	DWARF_LOW_PC,
	DWARF_HIGH_PC,
	DWARF_RANGE_LIST,
	DWARF_CALL_FILE,
	DWARF_CALL_LINE,
	DWARF_CALL_COLUMN,
	DWARF_LINE_PROGRAM,
	DWARF_FOLDER,
	DWARF_ADDR_BASE,
	DWARF_STR_OFFSETS_BASE,
	DWARF_RNGLISTS_BASE,
	DWARF_RANGES_BASE,
	DWARF_SPLIT_NAME,
	DWARF_SPLIT_ID,
	DWARF_LANGUAGE,
	/* DWARF_DECL_LINE and DWARF_DECL_COLUMN are kept for DW_TAG_subprogram only */
	DWARF_DECL_LINE,
	DWARF_DECL_COLUMN,
	DWARF_SLOT_COUNT
};

#define DWARF_HAS(slot) (1u << (slot))

struct dwarf_value {
	/* the value as encoded; for inline strings and blocks, their offset in the section */
	uint64_t number;
	uint16_t form;
};

struct dwarf_die {
	uint64_t offset; /* in .debug_info */
	/* bit DWARF_HAS(slot) is set if value[slot] is valid */
	uint32_t has;
	uint16_t tag; /* 0: the end of a list of children */
	bool has_children;
	struct dwarf_value value[DWARF_SLOT_COUNT];
};

/* Return @die's DW_AT_abstract_origin, or else its DW_AT_specification; NULL if it has neither. */
static inline const struct dwarf_value *dwarf_entry_origin(const struct dwarf_die *die)
{
	if (die->has & DWARF_HAS(DWARF_ORIGIN))
		return &die->value[DWARF_ORIGIN];
	return die->has & DWARF_HAS(DWARF_SPECIFICATION) ? &die->value[DWARF_SPECIFICATION] : NULL;
}

/* Fields of a unit's header that determine the sizes of some forms. */
struct dwarf_encoding {
	uint8_t version;
	uint8_t offset_bytes;
};

/* Returns an owned, empty table of abbreviations, or NULL if out of memory. */
struct dwarf_abbrevs *abbrevs_new(void);
void abbrevs_free(struct dwarf_abbrevs *abbrevs); /* NULL is fine */

/*
 * Load the table at @offset of @cursor's section into @abbrevs, for entries of @encoding. Does
 * nothing if @abbrevs contains this table already. Returns 0, -EBADMSG or -ENOMEM.
 */
int abbrevs_load(struct dwarf_abbrevs *abbrevs, struct cursor *cursor, uint64_t offset,
	struct dwarf_encoding encoding);

/* Return whether @abbrevs contains the table at @offset. */
bool abbrevs_are_of(const struct dwarf_abbrevs *abbrevs, uint64_t offset);

/* Read the entry at @cursor. Returns false if it is invalid or incomplete. */
bool dwarf_entry_read(
	struct cursor *cursor, const struct dwarf_abbrevs *abbrevs, struct dwarf_die *die);

/* Read one value of @form at @cursor. If @form is unknown, set cursor->failed. */
struct dwarf_value dwarf_entry_value(
	struct cursor *cursor, struct dwarf_encoding encoding, uint16_t form);

#endif
