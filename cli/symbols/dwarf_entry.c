/* SPDX-License-Identifier: MIT */
/*
 * Each entry of a unit refers to an abbreviation, which lists the entry's attributes and their
 * forms; the table of abbreviations is read once per unit. Neighbouring attributes that are not
 * needed and have a fixed size are merged, so that most of .debug_info is skipped without decoding.
 */
#include "cli/symbols/dwarf_entry.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "render/array.h"

/* Upper limits. Compilers number abbreviations from 1 up, so a larger code is invalid. */
#define ABBREV_MAX (1u << 18)
#define SPEC_MAX   (1u << 20)

/* One attribute of an entry, or several neighbouring attributes that are skipped together. */
struct spec {
	int64_t constant; /* for DW_FORM_implicit_const */
	uint16_t form;
	/* size of the value in an entry, in bytes; SIZE_VARIES if it depends on the value */
	int16_t bytes;
	uint8_t slot;
};

#define SIZE_VARIES (-1)

struct abbrev {
	uint32_t specs; /* index of its first spec */
	uint32_t spec_count;
	uint16_t tag; /* 0: unused code */
	bool has_children;
};

struct dwarf_abbrevs {
	uint64_t offset; /* DWARF_NONE: no table loaded */
	struct dwarf_encoding encoding;
	struct abbrev *list; /* by code - 1 */
	uint32_t count;
	uint32_t room;
	struct spec *specs;
	uint32_t spec_count;
	uint32_t spec_room;
};

/* ---- forms ----------------------------------------------------------------------------------- */

static int16_t form_bytes(struct dwarf_encoding encoding, uint16_t form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_addr:
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_ref_addr:
		return encoding.version <= 2 ? 8 : encoding.offset_bytes;
	case DW_FORM_sec_offset:
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return encoding.offset_bytes;
	default:
		return SIZE_VARIES;
	}
}

/* Read a value whose form does not determine its size. */
static uint64_t read_varying(struct cursor *cursor, uint16_t form)
{
	uint64_t number = cursor_offset(cursor);

	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return cursor_uleb(cursor);
	case DW_FORM_sdata:
		return (uint64_t)cursor_sleb(cursor);
	case DW_FORM_string:
		cursor_skip_text(cursor);
		return number;
	case DW_FORM_block1:
		cursor_skip(cursor, cursor_number(cursor, 1));
		return number;
	case DW_FORM_block2:
		cursor_skip(cursor, cursor_number(cursor, 2));
		return number;
	case DW_FORM_block4:
		cursor_skip(cursor, cursor_number(cursor, 4));
		return number;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cursor_skip(cursor, cursor_uleb(cursor));
		return number;
	default:
		cursor_skip(cursor, UINT64_MAX); /* unknown size: make the cursor fail */
		return 0;
	}
}

static struct dwarf_value read_value(struct cursor *cursor, const struct spec *spec)
{
	struct dwarf_value value = {.form = spec->form};

	if (spec->bytes == SIZE_VARIES)
		value.number = read_varying(cursor, spec->form);
	else if (spec->bytes > 8)
		cursor_skip(cursor, (uint64_t)spec->bytes);
	else if (spec->bytes)
		value.number = cursor_number(cursor, (unsigned)spec->bytes);
	else
		value.number = spec->form == DW_FORM_implicit_const ? (uint64_t)spec->constant : 1;
	return value;
}

struct dwarf_value dwarf_entry_value(
	struct cursor *cursor, struct dwarf_encoding encoding, uint16_t form)
{
	return read_value(
		cursor, &(struct spec){.form = form, .bytes = form_bytes(encoding, form)});
}

/* ---- abbreviations --------------------------------------------------------------------------- */

static uint8_t slot_of(uint16_t tag, uint64_t attribute)
{
	switch (attribute) {
	case DW_AT_sibling:
		return DWARF_SIBLING;
	case DW_AT_name:
		return DWARF_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return DWARF_LINKAGE_NAME;
	case DW_AT_abstract_origin:
		return DWARF_ORIGIN;
	case DW_AT_specification:
		return DWARF_SPECIFICATION;
	case DW_AT_low_pc:
		return DWARF_LOW_PC;
	case DW_AT_high_pc:
		return DWARF_HIGH_PC;
	case DW_AT_ranges:
		return DWARF_RANGE_LIST;
	case DW_AT_call_file:
		return DWARF_CALL_FILE;
	case DW_AT_call_line:
		return DWARF_CALL_LINE;
	case DW_AT_call_column:
		return DWARF_CALL_COLUMN;
	case DW_AT_stmt_list:
		return DWARF_LINE_PROGRAM;
	case DW_AT_comp_dir:
		return DWARF_FOLDER;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return DWARF_ADDR_BASE;
	case DW_AT_str_offsets_base:
		return DWARF_STR_OFFSETS_BASE;
	case DW_AT_rnglists_base:
		return DWARF_RNGLISTS_BASE;
	case DW_AT_GNU_ranges_base:
		return DWARF_RANGES_BASE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return DWARF_SPLIT_NAME;
	case DW_AT_GNU_dwo_id:
		return DWARF_SPLIT_ID;
	case DW_AT_language:
		return DWARF_LANGUAGE;
	case DW_AT_decl_line:
		return tag == DW_TAG_subprogram ? DWARF_DECL_LINE : DWARF_OTHER;
	case DW_AT_decl_column:
		return tag == DW_TAG_subprogram ? DWARF_DECL_COLUMN : DWARF_OTHER;
	default:
		return DWARF_OTHER;
	}
}

/* Add the next attribute to @abbrev. Returns 0, -EBADMSG or -ENOMEM. */
static int add_spec(struct dwarf_abbrevs *abbrevs, struct abbrev *abbrev, const struct spec *spec)
{
	struct spec *last = abbrev->spec_count ? &abbrevs->specs[abbrevs->spec_count - 1] : NULL;

	if (last && !last->slot && !spec->slot && last->bytes >= 0 && spec->bytes >= 0 &&
		last->bytes + spec->bytes < INT16_MAX) {
		last->bytes = (int16_t)(last->bytes + spec->bytes);
		last->form = DW_FORM_data16;
		return 0;
	}
	if (abbrevs->spec_count >= SPEC_MAX)
		return -EBADMSG;
	if (ARRAY_GROW(abbrevs->specs, abbrevs->spec_count, abbrevs->spec_room, 256))
		return -ENOMEM;
	abbrevs->specs[abbrevs->spec_count++] = *spec;
	abbrev->spec_count++;
	return 0;
}

static int read_specs(struct cursor *cursor, struct dwarf_encoding encoding,
	struct dwarf_abbrevs *abbrevs, struct abbrev *abbrev)
{
	int error = 0;

	while (!error) {
		uint64_t attribute = cursor_uleb(cursor);
		uint64_t form = cursor_uleb(cursor);
		struct spec spec = {
			.slot = slot_of(abbrev->tag, attribute), .form = (uint16_t)form};

		if (form > UINT16_MAX || cursor->failed)
			return -EBADMSG;
		if (form == DW_FORM_implicit_const)
			spec.constant = cursor_sleb(cursor);
		if (!attribute && !form)
			return 0;
		spec.bytes = form_bytes(encoding, spec.form);
		error = add_spec(abbrevs, abbrev, &spec);
	}
	return error;
}

static int read_abbrev(struct cursor *cursor, struct dwarf_encoding encoding,
	struct dwarf_abbrevs *abbrevs, uint64_t code)
{
	struct abbrev abbrev = {.specs = abbrevs->spec_count};
	int error;

	abbrev.tag = (uint16_t)cursor_uleb(cursor);
	abbrev.has_children = cursor_byte(cursor) != 0;
	error = read_specs(cursor, encoding, abbrevs, &abbrev);
	if (error)
		return error;
	if (code > ABBREV_MAX)
		return -EBADMSG;
	if (code > abbrevs->count + 1)
		cursor_charge(cursor, (code - abbrevs->count) * sizeof(abbrev));
	while (abbrevs->count < code) {
		if (ARRAY_GROW(abbrevs->list, abbrevs->count, abbrevs->room, 64))
			return -ENOMEM;
		abbrevs->list[abbrevs->count++] = (struct abbrev){0};
	}
	abbrevs->list[code - 1] = abbrev;
	return 0;
}

int abbrevs_load(struct dwarf_abbrevs *abbrevs, struct cursor *cursor, uint64_t offset,
	struct dwarf_encoding encoding)
{
	uint64_t code;
	int error = 0;

	if (abbrevs->offset == offset && abbrevs->encoding.version == encoding.version &&
		abbrevs->encoding.offset_bytes == encoding.offset_bytes)
		return 0;
	abbrevs->offset = DWARF_NONE;
	abbrevs->count = abbrevs->spec_count = 0;
	cursor_seek(cursor, offset, UINT64_MAX);
	while (!error && (code = cursor_uleb(cursor)))
		error = read_abbrev(cursor, encoding, abbrevs, code);
	if (!error && cursor->failed)
		error = -EBADMSG;
	if (error)
		return error;
	abbrevs->offset = offset;
	abbrevs->encoding = encoding;
	return 0;
}

bool abbrevs_are_of(const struct dwarf_abbrevs *abbrevs, uint64_t offset)
{
	return abbrevs->offset == offset;
}

struct dwarf_abbrevs *abbrevs_new(void)
{
	struct dwarf_abbrevs *abbrevs = calloc(1, sizeof(*abbrevs));

	if (abbrevs)
		abbrevs->offset = DWARF_NONE;
	return abbrevs;
}

void abbrevs_free(struct dwarf_abbrevs *abbrevs)
{
	if (!abbrevs)
		return;
	free(abbrevs->list);
	free(abbrevs->specs);
	free(abbrevs);
}

/* ---- entries --------------------------------------------------------------------------------- */

bool dwarf_entry_read(
	struct cursor *cursor, const struct dwarf_abbrevs *abbrevs, struct dwarf_die *die)
{
	const struct abbrev *abbrev;
	uint64_t code;

	die->offset = cursor_offset(cursor);
	die->has = 0;
	die->tag = 0;
	die->has_children = false;
	code = cursor_uleb(cursor);
	if (!code)
		return !cursor->failed;
	if (code > abbrevs->count || !abbrevs->list[code - 1].tag)
		return false;
	abbrev = &abbrevs->list[code - 1];
	die->tag = abbrev->tag;
	die->has_children = abbrev->has_children;
	for (uint32_t i = 0; i < abbrev->spec_count; i++) {
		const struct spec *spec = &abbrevs->specs[abbrev->specs + i];

		if (spec->slot) {
			die->value[spec->slot] = read_value(cursor, spec);
			die->has |= DWARF_HAS(spec->slot);
		} else if (spec->bytes >= 0) {
			cursor_skip(cursor, (uint64_t)spec->bytes);
		} else {
			read_value(cursor, spec);
		}
	}
	return !cursor->failed;
}
