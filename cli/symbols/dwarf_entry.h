/* SPDX-License-Identifier: MIT */
/*
 * Entries of DWARF (DIEs), read forward one by one as their unit's abbreviations say. Of each only
 * the attributes are kept that say where code is and what it is called.
 *
 * Source: DWARF Debugging Information Format 5, section 7.5; for .dwo files of version 4 GCC's
 * "DebugFission", for dwz' forms its GNU extensions.
 */
#ifndef CLI_SYMBOLS_DWARF_ENTRY_H
#define CLI_SYMBOLS_DWARF_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_sections.h"

#define DWARF_NONE UINT64_MAX /* instead of an offset: there is none */

/* The attributes that are kept. */
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
	DWARF_DECL_LINE, /* these two of functions alone */
	DWARF_DECL_COLUMN,
	DWARF_SLOT_COUNT
};

#define DWARF_HAS(slot) (1u << (slot))

struct dwarf_value {
	uint64_t number; /* as it is written; of texts and blocks in place the section's offset */
	uint16_t form;
};

struct dwarf_die {
	uint64_t offset; /* in .debug_info */
	uint32_t has;	 /* DWARF_HAS() of the slots below that it has */
	uint16_t tag;	 /* 0: the end of a list of children */
	bool has_children;
	struct dwarf_value value[DWARF_SLOT_COUNT];
};

/* What @die is an instance or the definition of: a reference. NULL: of nothing. */
static inline const struct dwarf_value *dwarf_entry_origin(const struct dwarf_die *die)
{
	if (die->has & DWARF_HAS(DWARF_ORIGIN))
		return &die->value[DWARF_ORIGIN];
	return die->has & DWARF_HAS(DWARF_SPECIFICATION) ? &die->value[DWARF_SPECIFICATION] : NULL;
}

/* What the sizes of some forms depend on. */
struct dwarf_encoding {
	uint8_t version;
	uint8_t offset_bytes;
};

/* A table of abbreviations. Returns an owned empty one, or NULL without memory. */
struct dwarf_abbrevs *abbrevs_new(void);
void abbrevs_free(struct dwarf_abbrevs *abbrevs); /* NULL is fine */

/*
 * Have the table at @offset of @cursor's section in @abbrevs, for entries of @encoding; nothing is
 * done where it is there.
 * Returns 0, -EBADMSG or -ENOMEM.
 */
int abbrevs_load(struct dwarf_abbrevs *abbrevs, struct cursor *cursor, uint64_t offset,
	struct dwarf_encoding encoding);

/* Is the table at @offset in @abbrevs? */
bool abbrevs_are_of(const struct dwarf_abbrevs *abbrevs, uint64_t offset);

/* Read the entry at @cursor. Returns false when it cannot be. */
bool dwarf_entry_read(
	struct cursor *cursor, const struct dwarf_abbrevs *abbrevs, struct dwarf_die *die);

/* Read one value of @form at @cursor, which has failed after one of an unknown form. */
struct dwarf_value dwarf_entry_value(
	struct cursor *cursor, struct dwarf_encoding encoding, uint16_t form);

#endif
