/* SPDX-License-Identifier: MIT */
/*
 * A line program makes sequences of rows; each sequence describes contiguous code, by rising
 * address. A row applies to all addresses up to the next row of its sequence. Only rows for
 * requested addresses are stored.
 */
#include "cli/symbols/dwarf_lines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/instances.h"
#include "render/array.h"

#define NAMES_MAX   (1u << 20) /* files, or folders, per program */
#define FORMATS_MAX 16u	       /* columns of a table of files */
/* Finding one address is charged to the work limit like reading this many bytes. */
#define ADDRESS_COST 16u

/* The name of a file or folder. */
struct dwarf_lines_name {
	struct dwarf_value text;
	uint64_t folder;
};

/* ---- the header ------------------------------------------------------------------------------ */

struct column {
	uint64_t content; /* DW_LNCT_* */
	uint16_t form;
};

static int add_name(struct dwarf_lines_name **list, uint32_t *count, uint32_t *room,
	const struct dwarf_lines_name *name)
{
	if (*count >= NAMES_MAX)
		return -EBADMSG;
	if (ARRAY_GROW(*list, *count, *room, 64))
		return -ENOMEM;
	(*list)[(*count)++] = *name;
	return 0;
}

/* Read folders and files of DWARF 4 or older. Numbers begin at 1, so add an empty number 0. */
static int read_old_tables(struct cursor *cursor, struct dwarf_lines *lines)
{
	static const struct dwarf_lines_name none = {.text = {.number = DWARF_NONE}};
	int error = add_name(&lines->folders, &lines->folder_count, &lines->folder_room, &none);

	if (!error)
		error = add_name(&lines->files, &lines->file_count, &lines->file_room, &none);
	for (int is_file = 0; !error && is_file < 2; is_file++) {
		while (!error && !cursor->failed) {
			struct dwarf_lines_name name = {
				.text = {.number = cursor_offset(cursor), .form = DW_FORM_string}};

			if (!cursor_byte(cursor))
				break;
			cursor_skip_text(cursor);
			if (!is_file) {
				error = add_name(&lines->folders, &lines->folder_count,
					&lines->folder_room, &name);
				continue;
			}
			name.folder = cursor_uleb(cursor);
			cursor_uleb(cursor); /* time of modification */
			cursor_uleb(cursor); /* bytes */
			error = add_name(
				&lines->files, &lines->file_count, &lines->file_room, &name);
		}
	}
	return error ? error : cursor->failed ? -EBADMSG : 0;
}

/* Read the description of the next table's columns. Returns the number of columns, or -EBADMSG. */
static int read_columns(struct cursor *cursor, struct column columns[FORMATS_MAX])
{
	unsigned count = cursor_byte(cursor);

	if (count > FORMATS_MAX)
		return -EBADMSG;
	for (unsigned i = 0; i < count; i++) {
		columns[i].content = cursor_uleb(cursor);
		columns[i].form = (uint16_t)cursor_uleb(cursor);
	}
	return cursor->failed ? -EBADMSG : (int)count;
}

/* Read a table of folders or files of DWARF 5. Returns 0, -EBADMSG or -ENOMEM. */
static int read_table(struct cursor *cursor, struct dwarf_encoding encoding,
	struct dwarf_lines_name **list, uint32_t *count, uint32_t *room)
{
	struct column columns[FORMATS_MAX];
	int column_count = read_columns(cursor, columns);
	uint64_t rows = column_count < 0 ? 0 : cursor_uleb(cursor);
	int error = column_count < 0 || rows > NAMES_MAX ? -EBADMSG : 0;

	for (uint64_t i = 0; !error && i < rows; i++) {
		struct dwarf_lines_name name = {.text = {.number = DWARF_NONE}};
		uint64_t begin = cursor_offset(cursor);

		for (int j = 0; j < column_count; j++) {
			struct dwarf_value value =
				dwarf_entry_value(cursor, encoding, columns[j].form);

			if (columns[j].content == DW_LNCT_path)
				name.text = value;
			else if (columns[j].content == DW_LNCT_directory_index)
				name.folder = value.number;
		}
		/* Refuse rows without bytes: a small file could claim any number of them. */
		error = cursor->failed || cursor_offset(cursor) == begin
				? -EBADMSG
				: add_name(list, count, room, &name);
	}
	return error;
}

static int read_tables(struct cursor *cursor, struct dwarf_lines *lines)
{
	int error;

	lines->folder_count = lines->file_count = 0;
	if (lines->encoding.version < 5)
		return read_old_tables(cursor, lines);
	error = read_table(cursor, lines->encoding, &lines->folders, &lines->folder_count,
		&lines->folder_room);
	if (error)
		return error;
	return read_table(
		cursor, lines->encoding, &lines->files, &lines->file_count, &lines->file_room);
}

int dwarf_lines_read(
	struct dwarf_reader *reader, const struct dwarf_unit *unit, struct dwarf_lines *lines)
{
	struct cursor *cursor = &reader->part[DWARF_LINE];
	uint64_t bytes;
	int error;

	if (unit->line_program == DWARF_NONE)
		return -ENOENT;
	cursor_seek(cursor, unit->line_program, UINT64_MAX);
	lines->encoding.offset_bytes = 4;
	bytes = cursor_number(cursor, 4);
	if (bytes == UINT32_MAX) {
		bytes = cursor_number(cursor, 8);
		lines->encoding.offset_bytes = 8;
	}
	if (cursor->failed || bytes > cursor->limit - cursor_offset(cursor))
		return -EBADMSG;
	lines->end = cursor_offset(cursor) + bytes;
	lines->encoding.version = (uint8_t)cursor_number(cursor, 2);
	if (lines->encoding.version < 2 || lines->encoding.version > 5)
		return -EBADMSG;
	if (lines->encoding.version >= 5)
		/* skip the sizes of addresses and segment selectors */
		cursor_skip(cursor, 2);
	bytes = cursor_number(cursor, lines->encoding.offset_bytes);
	lines->program = cursor_offset(cursor) + bytes;
	if (bytes > lines->end - cursor_offset(cursor))
		return -EBADMSG;
	lines->instruction_bytes = cursor_byte(cursor);
	if (lines->encoding.version >= 4)
		/* skip the maximum number of operations per instruction */
		cursor_skip(cursor, 1);
	cursor_skip(cursor, 1); /* skip the default of is_stmt */
	lines->line_base = (int8_t)cursor_byte(cursor);
	lines->line_range = cursor_byte(cursor);
	lines->opcode_base = cursor_byte(cursor);
	for (unsigned i = 1; i < lines->opcode_base; i++)
		lines->operands[i] = cursor_byte(cursor);
	error = cursor->failed || !lines->line_range ? -EBADMSG : read_tables(cursor, lines);
	return error;
}

void dwarf_lines_release(struct dwarf_lines *lines)
{
	free(lines->folders);
	free(lines->files);
	*lines = (struct dwarf_lines){0};
}

/* ---- running --------------------------------------------------------------------------------- */

struct machine {
	const struct dwarf_lines *lines;
	const uint64_t *addresses;
	size_t count;
	struct dwarf_line *found;
	/* index of the first requested address at or after the last row */
	size_t next;
	uint64_t last;	      /* address of the last row */
	struct dwarf_line is; /* line of the last row */
	enum {
		NO_ROW,
		HAS_ROW,
		/* the sequence starts at address 0, because the linker removed its code */
		LEFT_OUT,
	} state; /* state of the current sequence */
	uint64_t address;
	struct dwarf_line now;
};

static void begin_sequence(struct machine *machine)
{
	machine->address = 0;
	machine->now = (struct dwarf_line){1, 1};
	machine->state = NO_ROW;
}

/* Begin a row. The previous row applies to the requested addresses that are below the new row. */
static void add_row(struct machine *machine, struct cursor *cursor)
{
	size_t first = machine->next;

	if (machine->state == LEFT_OUT)
		return;
	if (machine->state == NO_ROW || machine->address < machine->last) {
		machine->next =
			instances_first(machine->addresses, machine->count, machine->address);
		machine->state = machine->address ? HAS_ROW : LEFT_OUT;
	} else {
		while (machine->next < machine->count &&
			machine->addresses[machine->next] < machine->address)
			machine->found[machine->next++] = machine->is;
		if (machine->next != first)
			cursor_charge(cursor, (machine->next - first) * ADDRESS_COST);
	}
	machine->last = machine->address;
	machine->is = machine->now;
}

static void run_extended(struct machine *machine, struct cursor *cursor)
{
	uint64_t bytes = cursor_uleb(cursor);
	uint64_t end = cursor_offset(cursor) + bytes;
	uint8_t opcode;

	if (!bytes || bytes > cursor->limit - cursor_offset(cursor)) {
		cursor_skip(cursor, bytes ? bytes : 0);
		return;
	}
	opcode = cursor_byte(cursor);
	switch (opcode) {
	case DW_LNE_end_sequence:
		add_row(machine, cursor);
		begin_sequence(machine);
		break;
	case DW_LNE_set_address:
		machine->address = bytes - 1 > 8 ? 0 : cursor_number(cursor, (unsigned)bytes - 1);
		break;
	default:
		break;
	}
	cursor_skip(cursor, end - cursor_offset(cursor));
}

static void run_standard(struct machine *machine, struct cursor *cursor, uint8_t opcode)
{
	const struct dwarf_lines *lines = machine->lines;

	switch (opcode) {
	case DW_LNS_copy:
		add_row(machine, cursor);
		break;
	case DW_LNS_advance_pc:
		machine->address += cursor_uleb(cursor) * lines->instruction_bytes;
		break;
	case DW_LNS_advance_line:
		machine->now.line += (uint32_t)cursor_sleb(cursor);
		break;
	case DW_LNS_set_file:
		machine->now.file = (uint32_t)cursor_uleb(cursor);
		break;
	case DW_LNS_const_add_pc:
		machine->address += (uint64_t)((255 - lines->opcode_base) / lines->line_range) *
				    lines->instruction_bytes;
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += cursor_number(cursor, 2);
		break;
	default:
		for (unsigned i = 0; i < lines->operands[opcode]; i++)
			cursor_uleb(cursor);
	}
}

void dwarf_lines_find(struct dwarf_reader *reader, const struct dwarf_lines *lines,
	const uint64_t *addresses, size_t count, struct dwarf_line *found)
{
	struct cursor *cursor = &reader->part[DWARF_LINE];
	struct machine machine = {
		.lines = lines, .addresses = addresses, .count = count, .found = found};

	begin_sequence(&machine);
	cursor_seek(cursor, lines->program, lines->end);
	while (!cursor->failed && cursor_offset(cursor) < lines->end) {
		uint8_t opcode = cursor_byte(cursor);

		if (opcode >= lines->opcode_base) {
			unsigned special = opcode - lines->opcode_base;

			machine.address +=
				(uint64_t)(special / lines->line_range) * lines->instruction_bytes;
			machine.now.line +=
				(uint32_t)(lines->line_base + (int)(special % lines->line_range));
			add_row(&machine, cursor);
		} else if (opcode) {
			run_standard(&machine, cursor, opcode);
		} else {
			run_extended(&machine, cursor);
		}
	}
}

/* ---- paths ----------------------------------------------------------------------------------- */

/*
 * Prepend the text of @value to the path that begins at @path + @at. If the text is an inline
 * string (DW_FORM_string), it is read from section @inside. Returns the new begin of the path, or
 * SIZE_MAX if the text does not fit.
 */
static size_t put_before(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_value *value, enum dwarf_section_name inside, char *path, size_t at)
{
	const char *text = value->form == DW_FORM_string
				   ? dwarf_text_at(reader, inside, value->number)
				   : dwarf_text(reader, unit, value);
	size_t bytes = text ? strlen(text) : 0;

	if (!bytes)
		return at;
	if (bytes + 1 > at)
		return SIZE_MAX;
	if (path[at] && text[bytes - 1] != '/')
		path[--at] = '/';
	mempcpy(path + at - bytes, text, bytes);
	return at - bytes;
}

size_t dwarf_lines_path(struct dwarf_reader *reader, const struct dwarf_unit *unit,
	const struct dwarf_lines *lines, uint64_t file, char *path, size_t path_bytes)
{
	size_t at = path_bytes - 1;
	const struct dwarf_lines_name *name;
	uint64_t folder;

	if (file >= lines->file_count)
		return 0;
	name = &lines->files[file];
	folder = name->folder;
	path[at] = '\0';
	at = put_before(reader, unit, &name->text, DWARF_LINE, path, at);
	if (at == path_bytes - 1 || at == SIZE_MAX)
		return 0;
	if (path[at] != '/' && folder < lines->folder_count) {
		at = put_before(reader, unit, &lines->folders[folder].text, DWARF_LINE, path, at);
		if (at == SIZE_MAX)
			return 0;
	}
	if (path[at] != '/')
		at = put_before(reader, unit, &unit->folder, DWARF_INFO, path, at);
	if (at == SIZE_MAX)
		return 0;
	memmove(path, path + at, path_bytes - at);
	return path_bytes - 1 - at;
}
