/* SPDX-License-Identifier: MIT */
/*
 * The input is untrusted: cursors check offsets, the length of reference chains is limited, range
 * lists are charged to the work limit, and a sibling reference must lead forward.
 */
#include "cli/symbols/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define UNIT_MAX (1u << 18)
/* maximum number of references from an instance to its name */
#define HOPS_MAX 16

/* window sizes in bytes for reading single entries, and for sections other than .debug_info */
#define ENTRY_BYTES 512u
#define PART_BYTES  4096u

/* ---- walking --------------------------------------------------------------------------------- */

static int load_abbrevs(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, struct dwarf_abbrevs *abbrevs)
{
	return abbrevs_load(abbrevs, &reader->part[DWARF_ABBREV], unit->abbrevs, unit->encoding);
}

static int read_first(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, struct dwarf_die *die)
{
	int error = load_abbrevs(reader, unit, reader->abbrevs[1]);

	if (error)
		return error;
	cursor_seek(&reader->entry, unit->entries, unit->end);
	return dwarf_entry_read(&reader->entry, reader->abbrevs[1], die) && die->tag ? 0 : -EBADMSG;
}

int dwarf_walk_begin(struct dwarf_reader *reader, const struct dwarf_unit *unit)
{
	struct dwarf_die die;
	int error = load_abbrevs(reader, unit, reader->abbrevs[0]);

	if (error)
		return error;
	cursor_seek(&reader->entries, unit->entries, unit->end);
	if (!dwarf_entry_read(&reader->entries, reader->abbrevs[0], &die) || !die.tag)
		return -EBADMSG;
	return die.has_children ? 0 : -ENOENT;
}

bool dwarf_walk_next(struct dwarf_reader *reader, struct dwarf_die *die)
{
	return dwarf_entry_read(&reader->entries, reader->abbrevs[0], die);
}

/* Move to the sibling of @die. Returns false if @die has no valid reference to its sibling. */
static bool go_to_sibling(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, const struct dwarf_die *die)
{
	struct dwarf_reader *same = reader;
	uint64_t sibling = die->has & DWARF_HAS(DWARF_SIBLING)
				   ? dwarf_reference(&same, unit, &die->value[DWARF_SIBLING])
				   : DWARF_NONE;

	if (same != reader || sibling == DWARF_NONE || sibling < cursor_offset(&reader->entries) ||
		sibling >= unit->end)
		return false;
	cursor_seek(&reader->entries, sibling, unit->end);
	return true;
}

bool dwarf_walk_skip(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, const struct dwarf_die *die)
{
	struct dwarf_die inner;
	uint64_t depth = 1;

	if (go_to_sibling(reader, unit, die))
		return true;
	while (depth) {
		if (!dwarf_walk_next(reader, &inner))
			return false;
		if (!inner.tag)
			depth--;
		else if (inner.has_children && !go_to_sibling(reader, unit, &inner))
			depth++;
	}
	return true;
}

/* ---- addresses and ranges -------------------------------------------------------------------- */

/* Return the number of @bytes bytes at @offset of section @name. */
static uint64_t number_at(
	struct dwarf_reader *reader, enum dwarf_section_name name, uint64_t offset, unsigned bytes)
{
	struct cursor *cursor = &reader->part[name];

	cursor_seek(cursor, offset, UINT64_MAX);
	return cursor_number(cursor, bytes);
}

static uint64_t indexed_address(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, uint64_t index)
{
	if (unit->addr_base == DWARF_NONE || index > UINT32_MAX)
		return 0;
	return number_at(reader->main, DWARF_ADDR, unit->addr_base + index * 8, 8);
}

/* Decode @value, an address, into *@address. Returns false if @value has another form. */
static bool read_address(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value, uint64_t *address)
{
	switch (value->form) {
	case DW_FORM_addr:
		*address = value->number;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		*address = indexed_address(reader, unit, value->number);
		return true;
	default:
		return false;
	}
}

/* An entry of a range list. */
struct range {
	uint64_t low;
	uint64_t high;
	uint64_t base; /* base address of the entry's offsets */
	bool is_last;
};

/* Read the next entry of a range list of DWARF 4 or older: a pair of offsets. */
static bool next_pair(struct cursor *cursor, struct range *range)
{
	uint64_t low = cursor_number(cursor, 8), high = cursor_number(cursor, 8);

	range->is_last = !low && !high;
	range->low = range->high = 0;
	if (low == UINT64_MAX) {
		range->base = high;
	} else {
		range->low = range->base + low;
		range->high = range->base + high;
	}
	return !cursor->failed;
}

/* Read the next entry of a range list of DWARF 5. */
static bool next_entry(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	struct cursor *cursor, struct range *range)
{
	range->low = range->high = 0;
	switch (cursor_byte(cursor)) {
	case DW_RLE_end_of_list:
		range->is_last = true;
		break;
	case DW_RLE_base_addressx:
		range->base = indexed_address(reader, unit, cursor_uleb(cursor));
		break;
	case DW_RLE_startx_endx:
		range->low = indexed_address(reader, unit, cursor_uleb(cursor));
		range->high = indexed_address(reader, unit, cursor_uleb(cursor));
		break;
	case DW_RLE_startx_length:
		range->low = indexed_address(reader, unit, cursor_uleb(cursor));
		range->high = range->low + cursor_uleb(cursor);
		break;
	case DW_RLE_offset_pair:
		range->low = range->base + cursor_uleb(cursor);
		range->high = range->base + cursor_uleb(cursor);
		break;
	case DW_RLE_base_address:
		range->base = cursor_number(cursor, 8);
		break;
	case DW_RLE_start_end:
		range->low = cursor_number(cursor, 8);
		range->high = cursor_number(cursor, 8);
		break;
	case DW_RLE_start_length:
		range->low = cursor_number(cursor, 8);
		range->high = range->low + cursor_uleb(cursor);
		break;
	default:
		return false;
	}
	return !cursor->failed;
}

/* Call @range unless the linker removed the code, so that @low is 0 or the range is empty. */
static bool report_range(uint64_t low, uint64_t high, dwarf_range_fn *range, void *context)
{
	return !low || high <= low || range(context, low, high);
}

static void report_list(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value, dwarf_range_fn *range_fn, void *context)
{
	bool is_old = unit->encoding.version < 5;
	struct dwarf_reader *at = is_old ? reader->main : reader;
	struct cursor *cursor = &at->part[is_old ? DWARF_RANGES : DWARF_RNGLISTS];
	uint64_t offset = value->number;
	struct range range = {.base = unit->low_pc};

	if (value->form == DW_FORM_rnglistx) {
		if (offset > UINT32_MAX)
			return;
		offset = unit->rnglists_base +
			 number_at(reader, DWARF_RNGLISTS,
				 unit->rnglists_base + offset * unit->encoding.offset_bytes,
				 unit->encoding.offset_bytes);
	} else if (is_old && unit->is_split) {
		offset += unit->ranges_base;
	}
	cursor_seek(cursor, offset, UINT64_MAX);
	while ((is_old ? next_pair(cursor, &range) : next_entry(reader, unit, cursor, &range)) &&
		!range.is_last && report_range(range.low, range.high, range_fn, context))
		;
	/* Charge each use of a range list to the work limit, because many entries can share it. */
	if (!cursor->failed)
		cursor_charge(cursor, cursor_offset(cursor) - offset);
}

void dwarf_die_ranges(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_die *die, dwarf_range_fn *range, void *context)
{
	uint64_t low, high;

	if (die->has & DWARF_HAS(DWARF_RANGE_LIST)) {
		report_list(reader, unit, &die->value[DWARF_RANGE_LIST], range, context);
		return;
	}
	if (!(die->has & DWARF_HAS(DWARF_LOW_PC)) || !(die->has & DWARF_HAS(DWARF_HIGH_PC)) ||
		!read_address(reader, unit, &die->value[DWARF_LOW_PC], &low))
		return;
	if (!read_address(reader, unit, &die->value[DWARF_HIGH_PC], &high))
		high = low + die->value[DWARF_HIGH_PC].number;
	report_range(low, high, range, context);
}

void dwarf_unit_ranges(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	dwarf_range_fn *range, void *context)
{
	struct dwarf_die die;

	if (!read_first(reader, unit, &die))
		dwarf_die_ranges(reader, unit, &die, range, context);
}

/* ---- texts and references -------------------------------------------------------------------- */

const char *dwarf_text_at(
	struct dwarf_reader *reader, enum dwarf_section_name name, uint64_t offset)
{
	struct cursor *cursor = &reader->part[name];

	cursor_seek(cursor, offset, UINT64_MAX);
	return cursor_text(cursor);
}

const char *dwarf_text(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	switch (value->form) {
	case DW_FORM_string:
		return dwarf_text_at(reader, DWARF_INFO, value->number);
	case DW_FORM_strp:
		return dwarf_text_at(reader, DWARF_STR, value->number);
	case DW_FORM_line_strp:
		return dwarf_text_at(reader, DWARF_LINE_STR, value->number);
	case DW_FORM_GNU_strp_alt:
		return reader->alternate
			       ? dwarf_text_at(reader->alternate, DWARF_STR, value->number)
			       : NULL;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (value->number > UINT32_MAX)
			return NULL;
		return dwarf_text_at(reader, DWARF_STR,
			number_at(reader, DWARF_STR_OFFSETS,
				unit->str_offsets_base +
					value->number * unit->encoding.offset_bytes,
				unit->encoding.offset_bytes));
	default:
		return NULL;
	}
}

uint64_t dwarf_reference(struct dwarf_reader **reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return value->number < unit->end - unit->offset ? unit->offset + value->number
								: DWARF_NONE;
	case DW_FORM_ref_addr:
		return value->number;
	case DW_FORM_GNU_ref_alt:
		if (!(*reader)->alternate)
			return DWARF_NONE;
		*reader = (*reader)->alternate;
		return value->number;
	default:
		return DWARF_NONE;
	}
}

/* Return the unit that contains the entry at @offset, or NULL. */
static const struct dwarf_unit *unit_of(const struct dwarf_reader *reader, uint64_t offset)
{
	size_t upto = ARRAY_UPTO(reader->units, reader->unit_count, entries, offset);
	const struct dwarf_unit *unit = upto ? &reader->units[upto - 1] : NULL;

	return unit && offset < unit->end ? unit : NULL;
}

bool dwarf_function_name(struct dwarf_reader *reader, uint64_t offset, struct dwarf_name *name)
{
	bool has_name = false;
	uint64_t line = 0, column = 0;

	for (int i = 0; i < HOPS_MAX && offset != DWARF_NONE; i++) {
		const struct dwarf_unit *unit = unit_of(reader, offset);
		const struct dwarf_value *origin;
		bool is_linkage;
		struct dwarf_abbrevs *abbrevs;
		struct dwarf_die die;

		if (!unit)
			break;
		/* For another unit use abbrevs[1], because a walk may continue with abbrevs[0]. */
		abbrevs = reader->abbrevs[!abbrevs_are_of(reader->abbrevs[0], unit->abbrevs)];
		if (load_abbrevs(reader, unit, abbrevs))
			break;
		cursor_seek(&reader->entry, offset, unit->end);
		if (!dwarf_entry_read(&reader->entry, abbrevs, &die) || !die.tag)
			break;
		is_linkage = die.has & DWARF_HAS(DWARF_LINKAGE_NAME);
		if (!line && die.has & DWARF_HAS(DWARF_DECL_LINE)) {
			line = die.value[DWARF_DECL_LINE].number;
			column = die.has & DWARF_HAS(DWARF_DECL_COLUMN)
					 ? die.value[DWARF_DECL_COLUMN].number
					 : 0;
		}
		if (is_linkage || (!has_name && die.has & DWARF_HAS(DWARF_NAME))) {
			*name = (struct dwarf_name){reader, unit, offset, line, column,
				die.value[is_linkage ? DWARF_LINKAGE_NAME : DWARF_NAME],
				.is_linkage = is_linkage};
			if (die.has & DWARF_HAS(DWARF_NAME))
				name->bare = die.value[DWARF_NAME];
			has_name = true;
		}
		origin = dwarf_entry_origin(&die);
		if (is_linkage || !origin)
			break;
		offset = dwarf_reference(&reader, unit, origin);
	}
	return has_name;
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Return the size of the header of a table in a .dwo, whose size in 32-bit DWARF is @bytes. */
static uint64_t list_header_bytes(const struct dwarf_unit *unit, unsigned bytes)
{
	return unit->encoding.offset_bytes == 8 ? bytes + 8 : bytes;
}

static uint64_t number_or(const struct dwarf_die *die, enum dwarf_slot slot, uint64_t otherwise)
{
	return die->has & DWARF_HAS(slot) ? die->value[slot].number : otherwise;
}

static bool is_cxx(uint64_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	/* DW_LANG_C_plus_plus_17, which old versions of dwarf.h lack */
	case 0x2b:
	case 0x34: /* DW_LANG_C_plus_plus_20 */
		return true;
	default:
		return false;
	}
}

/* Set the fields of @unit from its first entry. */
static void describe_unit(
	struct dwarf_reader *reader, struct dwarf_unit *unit, const struct dwarf_die *die)
{
	bool has_lists = unit->encoding.version >= 5 && unit->is_split;

	unit->addr_base = number_or(die, DWARF_ADDR_BASE, DWARF_NONE);
	unit->str_offsets_base =
		number_or(die, DWARF_STR_OFFSETS_BASE, has_lists ? list_header_bytes(unit, 8) : 0);
	unit->rnglists_base =
		number_or(die, DWARF_RNGLISTS_BASE, has_lists ? list_header_bytes(unit, 12) : 0);
	unit->ranges_base = number_or(die, DWARF_RANGES_BASE, 0);
	unit->line_program = number_or(die, DWARF_LINE_PROGRAM, DWARF_NONE);
	if (unit->encoding.version < 5)
		unit->split_id = number_or(die, DWARF_SPLIT_ID, 0);
	if (die->has & DWARF_HAS(DWARF_FOLDER))
		unit->folder = die->value[DWARF_FOLDER];
	unit->split_name.number = DWARF_NONE;
	if (die->has & DWARF_HAS(DWARF_SPLIT_NAME))
		unit->split_name = die->value[DWARF_SPLIT_NAME];
	unit->low_pc = 0;
	if (die->has & DWARF_HAS(DWARF_LOW_PC))
		read_address(reader, unit, &die->value[DWARF_LOW_PC], &unit->low_pc);
	unit->has_code =
		die->has & DWARF_HAS(DWARF_RANGE_LIST) ||
		(die->has & DWARF_HAS(DWARF_LOW_PC) && die->has & DWARF_HAS(DWARF_HIGH_PC));
	unit->is_cxx = is_cxx(number_or(die, DWARF_LANGUAGE, DW_LANG_C));
	if (unit->encoding.version < 5)
		unit->type = die->tag == DW_TAG_compile_unit ? DW_UT_compile : DW_UT_partial;
}

/* Read the unit's header after its length field. Returns false if the header is not supported. */
static bool read_header(struct cursor *cursor, struct dwarf_unit *unit)
{
	uint8_t address_bytes;

	unit->encoding.version = (uint8_t)cursor_number(cursor, 2);
	if (unit->encoding.version < 2 || unit->encoding.version > 5)
		return false;
	if (unit->encoding.version >= 5) {
		unit->type = cursor_byte(cursor);
		address_bytes = cursor_byte(cursor);
		unit->abbrevs = cursor_number(cursor, unit->encoding.offset_bytes);
	} else {
		unit->abbrevs = cursor_number(cursor, unit->encoding.offset_bytes);
		address_bytes = cursor_byte(cursor);
	}
	if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
		unit->split_id = cursor_number(cursor, 8);
	else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
		cursor_skip(cursor, 8u + unit->encoding.offset_bytes);
	unit->entries = cursor_offset(cursor);
	return address_bytes == 8 && !cursor->failed;
}

int dwarf_unit_read(
	struct dwarf_reader *reader, uint64_t offset, struct dwarf_unit *unit, uint64_t *next)
{
	struct cursor *cursor = &reader->entry;
	struct dwarf_die die;
	uint64_t bytes;
	int error;

	*unit = (struct dwarf_unit){
		.offset = offset,
		.encoding = {.offset_bytes = 4},
		.is_split = reader != reader->main,
	};
	cursor_seek(cursor, offset, UINT64_MAX);
	bytes = cursor_number(cursor, 4);
	if (bytes == UINT32_MAX) {
		bytes = cursor_number(cursor, 8);
		unit->encoding.offset_bytes = 8;
	}
	if (cursor->failed || bytes > cursor->limit - cursor_offset(cursor))
		return -EBADMSG;
	unit->end = *next = cursor_offset(cursor) + bytes;
	if (!read_header(cursor, unit))
		return -EBADMSG;
	error = read_first(reader, unit, &die);
	if (!error)
		describe_unit(reader, unit, &die);
	return error;
}

int dwarf_units_read(struct dwarf_reader *reader, struct dwarf_unit **units, size_t *count,
	dwarf_unit_fn *each, void *context)
{
	struct dwarf_unit *list = NULL;
	size_t used = 0, room = 0;
	uint64_t at = 0;

	while (used < UNIT_MAX) {
		uint64_t next = at;
		int error;

		if (ARRAY_GROW(list, used, room, 64)) {
			free(list);
			return -ENOMEM;
		}
		error = dwarf_unit_read(reader, at, &list[used], &next);
		if (error == -ENOMEM) {
			free(list);
			return error;
		}
		if (!error && each)
			each(context, reader, &list[used], (uint32_t)used);
		if (!error)
			used++;
		if (next <= at)
			break;
		at = next;
	}
	*units = list;
	*count = used;
	return 0;
}

int dwarf_reader_init(
	struct dwarf_reader *reader, struct dwarf_sections *sections, size_t entries_bytes)
{
	*reader = (struct dwarf_reader){.sections = sections, .main = reader};
	cursor_init(&reader->entries, sections, DWARF_INFO, entries_bytes);
	cursor_init(&reader->entry, sections, DWARF_INFO, ENTRY_BYTES);
	for (enum dwarf_section_name i = 0; i < DWARF_SECTION_COUNT; i++)
		cursor_init(&reader->part[i], sections, i, PART_BYTES);
	for (int i = 0; i < 2; i++) {
		reader->abbrevs[i] = abbrevs_new();
		if (!reader->abbrevs[i]) {
			dwarf_reader_release(reader);
			return -ENOMEM;
		}
	}
	return 0;
}

void dwarf_reader_release(struct dwarf_reader *reader)
{
	cursor_release(&reader->entries);
	cursor_release(&reader->entry);
	for (int i = 0; i < DWARF_SECTION_COUNT; i++)
		cursor_release(&reader->part[i]);
	abbrevs_free(reader->abbrevs[0]);
	abbrevs_free(reader->abbrevs[1]);
	reader->abbrevs[0] = reader->abbrevs[1] = NULL;
}
