/* SPDX-License-Identifier: MIT */
/*
 * Make the inline chains of addresses in one DWARF unit. The line of the innermost function is that
 * of the address in the line program. The line of each outer function is that of its call of the
 * next function, which is an attribute of the inlined call (DW_TAG_inlined_subroutine).
 */
#include "cli/symbols/unit_chains.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/dwarf_files.h"

#define NO_FILE	     UINT32_MAX
#define CHAIN_MAX    256 /* maximum number of functions in the inline chain of one address */
#define PATH_BYTES   4096
#define NAME_BYTES   8192
/* number of bytes of a .dwo that a walk reads at once */
#define WINDOW_BYTES (256u << 10)

/* Parameters of the current unit_chains_read(). */
struct reading {
	struct unit_chains *chains;
	/* the unit in the program's file, which has all line programs */
	const struct dwarf_unit *unit;
	const uint64_t *addresses;
	size_t count;
	struct inlines_chain *out;
};

/* ---- frames ---------------------------------------------------------------------------------- */

/* Returns a copy of @raw, demangled, or NULL if out of memory. */
static const char *show_name(struct unit_chains *chains, const char *raw)
{
	const struct inlines_request *request = chains->request;
	enum demangle_language language =
		request->languages ? languages_of(request->languages, raw) : DEMANGLE_BY_NAME;
	char *shown = *raw ? demangle_name(raw, language, request->style) : NULL;
	const char *kept = shown || !*raw ? text_pool_add(chains->pool, shown ? shown : "") : NULL;

	free(shown);
	return kept;
}

/* Read the name of @instance's function; "" if it is unknown. Returns NULL if out of memory. */
static const char *read_name(struct unit_chains *chains, struct instance *instance)
{
	char whole[NAME_BYTES];
	struct dwarf_name name;
	const char *text = NULL;
	size_t bytes;
	int before = 0;

	if (instance->named_at != DWARF_NONE &&
		dwarf_function_name(instance->named_by, instance->named_at, &name)) {
		text = dwarf_text(name.reader, name.unit, &name.text);
		instance->declared_line = name.line;
		instance->declared_column = name.column;
	}
	bytes = text ? strlen(text) + 1 : 0;
	if (!bytes || name.is_linkage || bytes > sizeof(whole))
		return show_name(chains, text ? text : "");
	memcpy(whole + sizeof(whole) - bytes, text, bytes);
	before = dwarf_containers_write(&chains->containers, name.reader, name.unit, name.offset,
		whole + sizeof(whole) - bytes, sizeof(whole) - bytes);
	return before < 0 ? NULL : show_name(chains, whole + sizeof(whole) - bytes - before);
}

/* Return the name of @instance, reading it at the first call; NULL if out of memory. */
static const char *name_of(struct unit_chains *chains, struct instance *instance)
{
	if (!instance->name)
		instance->name = read_name(chains, instance);
	return instance->name;
}

/* Return the path of @file of the line program; "" if it is unknown, NULL if out of memory. */
static const char *path_of(struct unit_chains *chains, const struct dwarf_unit *unit, uint64_t file)
{
	char path[PATH_BYTES];

	if (file >= chains->lines.file_count)
		return "";
	if (!chains->paths[file]) {
		if (!dwarf_lines_path(
			    chains->reader, unit, &chains->lines, file, path, sizeof(path)))
			path[0] = '\0';
		chains->paths[file] = text_pool_add(chains->pool, path);
	}
	return chains->paths[file];
}

/*
 * Returns true if @inner and @outer are two parts of one function. gcc splits a function so that
 * its first part can be inlined into callers. If no caller inlines it, gcc inlines the second part
 * back into the first, and in DWARF the function seems to call itself at its own declaration.
 */
static bool is_put_back(const struct instance *inner, const struct instance *outer)
{
	return inner->declared_column && inner->call_column == inner->declared_column &&
	       inner->call_line == inner->declared_line && inner->origin != DWARF_NONE &&
	       inner->origin == outer->origin;
}

/*
 * Write the frames of the address with index @at so that they end at @end, innermost last. Leave an
 * inlined function out if it has no name, because the file with the name is missing, or if
 * is_put_back() is true. The function's caller then gets its line. Returns the number of frames, at
 * most CHAIN_MAX, or -ENOMEM.
 */
static int fill_frames(const struct reading *reading, size_t at, struct symbols_frame *end)
{
	struct unit_chains *chains = reading->chains;
	uint32_t next = chains->instances.innermost[at];
	uint64_t file = chains->found[at].file;
	uint32_t line = chains->found[at].line;
	int count = 0;

	while (next != INSTANCE_NONE && count < CHAIN_MAX) {
		struct instance *instance = &chains->instances.list[next];
		struct symbols_frame frame = {name_of(chains, instance),
			path_of(chains, reading->unit, file), line,
			(uint32_t)instance->declared_line};

		if (!frame.name || !frame.file)
			return -ENOMEM;
		next = instance->outer;
		if (next != INSTANCE_NONE) {
			struct instance *outer = &chains->instances.list[next];

			if (!name_of(chains, outer))
				return -ENOMEM;
			if (!frame.name[0] || is_put_back(instance, outer))
				continue;
		}
		end[-++count] = frame;
		file = instance->call_file;
		line = instance->call_line;
	}
	/* The address has a line but no function: it is assembly code. */
	if (!count && file != NO_FILE) {
		end[-++count] =
			(struct symbols_frame){"", path_of(chains, reading->unit, file), line, 0};
		if (!end[-1].file)
			return -ENOMEM;
	}
	return count;
}

/* Make the inline chain of the address with index @at. Returns 0 or -ENOMEM. */
static int make_chain(const struct reading *reading, size_t at)
{
	struct symbols_frame found[CHAIN_MAX], *frames;
	int count = fill_frames(reading, at, found + CHAIN_MAX);

	if (count <= 0)
		return count;
	frames = text_pool_memory(reading->chains->pool, (size_t)count * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	memcpy(frames, found + CHAIN_MAX - count, (size_t)count * sizeof(*frames));
	reading->out[at] = (struct inlines_chain){frames, (uint32_t)count};
	return 0;
}

/*
 * Make the chain of every address in @reading, from the functions and inlined calls of @unit, which
 * @reader reads. Returns 0 or -ENOMEM.
 */
static int make_chains(
	const struct reading *reading, struct dwarf_reader *reader, const struct dwarf_unit *unit)
{
	int error = instances_find(
		&reading->chains->instances, reader, unit, reading->addresses, reading->count);

	for (size_t i = 0; i < reading->count && !error; i++)
		error = make_chain(reading, i);
	return error;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Make room for the paths of all files, and mark all paths as not read. Returns 0 or -ENOMEM. */
static int clear_paths(struct unit_chains *chains)
{
	uint32_t count = chains->lines.file_count;

	if (chains->path_room < count) {
		const char **paths = reallocarray(chains->paths, count, sizeof(*paths));

		if (!paths)
			return -ENOMEM;
		chains->paths = paths;
		chains->path_room = count;
	}
	if (count)
		memset(chains->paths, 0, count * sizeof(*chains->paths));
	return 0;
}

/* Find the lines of the addresses, if the unit has a line program. Returns 0 or -ENOMEM. */
static int find_lines(const struct reading *reading)
{
	struct unit_chains *chains = reading->chains;
	int error;

	for (size_t i = 0; i < reading->count; i++)
		chains->found[i] = (struct dwarf_line){NO_FILE, 0};
	error = dwarf_lines_read(chains->reader, reading->unit, &chains->lines);
	if (error) {
		chains->lines.file_count = 0;
		return error == -ENOMEM ? error : 0;
	}
	dwarf_lines_find(
		chains->reader, &chains->lines, reading->addresses, reading->count, chains->found);
	return clear_paths(chains);
}

/* ---- packages -------------------------------------------------------------------------------- */

/*
 * A .dwp contains the .dwo files of a program. Its index says which part of each section
 * belongs to a unit. The index is a header, a hash table of units, then two tables with a row per
 * unit and a column per section: offset and size of the part.
 *
 *	version | columns | rows | slots	4 bytes each
 *	units	8 bytes a slot: the unit's id
 *	rows	4 bytes a slot: row number from 1; 0: free slot
 *	names	4 bytes a column: which section
 *	begins	4 bytes a row and column
 *	sizes	4 bytes a row and column
 *
 * Source: DWARF Debugging Information Format 5, section 7.3.5; before, GCC's "DebugFissionDWP".
 */
#define INDEX_BYTES  4096u
#define COLUMNS_MAX  16u
#define SLOTS_MAX    (1u << 24)
#define HEADER_BYTES 16u

struct package_index {
	struct cursor cursor;
	uint32_t version;
	uint32_t columns, rows, slots;
};

static uint64_t number_at(struct package_index *index, uint64_t offset, unsigned bytes)
{
	cursor_seek(&index->cursor, offset, UINT64_MAX);
	return cursor_number(&index->cursor, bytes);
}

/* Return the section with number @name in an index, or DWARF_SECTION_COUNT if it is not needed. */
static enum dwarf_section_name section_of(uint32_t version, uint32_t name)
{
	switch (name) {
	case 1:
		return DWARF_INFO;
	case 3:
		return DWARF_ABBREV;
	case 6:
		return DWARF_STR_OFFSETS;
	case 8: /* macros in earlier versions */
		return version >= 5 ? DWARF_RNGLISTS : DWARF_SECTION_COUNT;
	default:
		return DWARF_SECTION_COUNT;
	}
}

/* Return the number, from 1 on, of the index row of the unit with id @split_id; 0 if none. */
static uint32_t find_row(struct package_index *index, uint64_t split_id)
{
	uint64_t mask = index->slots - 1, at = split_id & mask, step = (split_id >> 32 & mask) | 1;
	uint64_t rows = HEADER_BYTES + (uint64_t)index->slots * 8;

	for (uint32_t i = 0; i < index->slots; i++, at = (at + step) & mask) {
		uint32_t row = (uint32_t)number_at(index, rows + at * 4, 4);

		if (!row || row > index->rows)
			return 0;
		if (number_at(index, HEADER_BYTES + at * 8, 8) == split_id)
			return row;
	}
	return 0;
}

/* Limit @section to @bytes from offset @begin on. Returns false if the section is smaller. */
static bool cut(struct dwarf_section *section, uint64_t begin, uint64_t bytes)
{
	if (begin > section->bytes || bytes > section->bytes - begin)
		return false;
	section->file_offset += begin;
	if (section->memory)
		section->memory += begin;
	section->bytes = bytes;
	return true;
}

static int find_part(struct package_index *index, uint64_t split_id, struct dwarf_sections *part)
{
	uint64_t names = HEADER_BYTES + (uint64_t)index->slots * 12, begins, sizes;
	uint32_t row = find_row(index, split_id);

	if (!row)
		return -ENOENT;
	begins = names + index->columns * 4 + (uint64_t)(row - 1) * index->columns * 4;
	sizes = begins + (uint64_t)index->rows * index->columns * 4;
	for (uint32_t i = 0; i < index->columns; i++) {
		enum dwarf_section_name name =
			section_of(index->version, (uint32_t)number_at(index, names + i * 4, 4));

		if (name != DWARF_SECTION_COUNT &&
			!cut(&part->section[name], number_at(index, begins + i * 4, 4),
				number_at(index, sizes + i * 4, 4)))
			return -EBADMSG;
	}
	return index->cursor.failed ? -EBADMSG : 0;
}

/*
 * Set @part to the parts of @package's sections that belong to unit @split_id, so that it looks
 * like the .dwo of this unit. @part borrows from @package and must not be released. Returns 0,
 * -ENOENT if there is no such unit, or -EBADMSG.
 */
static int find_in_package(
	struct dwarf_sections *package, uint64_t split_id, struct dwarf_sections *part)
{
	struct package_index index;
	int error = -EBADMSG;

	cursor_init(&index.cursor, package, DWARF_CU_INDEX, INDEX_BYTES);
	/* The version: four bytes, or in version 5 two bytes and two bytes of 0. */
	index.version = (uint32_t)number_at(&index, 0, 4);
	index.columns = (uint32_t)number_at(&index, 4, 4);
	index.rows = (uint32_t)number_at(&index, 8, 4);
	index.slots = (uint32_t)number_at(&index, 12, 4);
	*part = *package;
	if (index.columns <= COLUMNS_MAX && index.slots && index.slots <= SLOTS_MAX &&
		!(index.slots & (index.slots - 1)))
		error = find_part(&index, split_id, part);
	cursor_release(&index.cursor);
	return error;
}

/* ---- units that are in files of their own ---------------------------------------------------- */

/* Open the .dwo of @skeleton, the unit in the program's file. Returns 0 with @file, or -errno. */
static int open_split(
	struct unit_chains *chains, const struct dwarf_unit *skeleton, struct elf_file *file)
{
	char folder[PATH_BYTES] = "", name[PATH_BYTES];
	const char *text = dwarf_text(chains->reader, skeleton, &skeleton->folder);

	if (text && strlen(text) < sizeof(folder))
		strcpy(folder, text);
	text = dwarf_text(chains->reader, skeleton, &skeleton->split_name);
	if (!text || strlen(text) >= sizeof(name))
		return -ENOENT;
	strcpy(name, text);
	return dwarf_files_open_split(
		file, chains->request->file, folder, name, chains->request->pid);
}

/*
 * Return the unit of @units that belongs to @skeleton, or NULL if there is none. Copy the fields
 * that only @skeleton has to the unit.
 */
static const struct dwarf_unit *match_split(
	struct dwarf_unit *units, size_t count, const struct dwarf_unit *skeleton)
{
	for (size_t i = 0; i < count; i++) {
		struct dwarf_unit *unit = &units[i];

		if (unit->split_id != skeleton->split_id || unit->type == DW_UT_split_type)
			continue;
		unit->addr_base = skeleton->addr_base;
		unit->ranges_base = skeleton->ranges_base;
		unit->low_pc = skeleton->low_pc;
		return unit;
	}
	return NULL;
}

/* Make the chains from @sections. Returns 0, -ENOENT if the unit is not in them, or -ENOMEM. */
static int read_split_sections(const struct reading *reading, struct dwarf_sections *sections)
{
	struct dwarf_reader reader;
	struct dwarf_unit *units = NULL;
	const struct dwarf_unit *unit;
	size_t count = 0;
	int error = dwarf_reader_init(&reader, sections, WINDOW_BYTES);

	reader.main = reading->chains->reader;
	if (!error)
		error = dwarf_units_read(&reader, &units, &count, NULL, NULL);
	if (!error) {
		reader.units = units;
		reader.unit_count = count;
		unit = match_split(units, count, reading->unit);
		error = unit ? make_chains(reading, &reader, unit) : -ENOENT;
	}
	dwarf_containers_release(&reading->chains->containers);
	free(units);
	dwarf_reader_release(&reader);
	return error;
}

/* Open the .dwp at the first call. Returns whether there is one. */
static bool open_package(struct unit_chains *chains)
{
	if (chains->is_package_tried)
		return chains->has_package;
	chains->is_package_tried = true;
	if (dwarf_files_open_package(&chains->package_file, chains->request->file))
		return false;
	chains->has_package = !dwarf_sections_init(&chains->package, &chains->package_file, true);
	if (!chains->has_package)
		elf_file_close(&chains->package_file);
	return chains->has_package;
}

/* Make the chains from the .dwp or .dwo. Returns 0, -ENOENT if neither has the unit, or -ENOMEM. */
static int read_split(const struct reading *reading)
{
	struct unit_chains *chains = reading->chains;
	struct dwarf_sections sections;
	struct elf_file file;
	int error = -ENOENT;

	if (open_package(chains) &&
		!find_in_package(&chains->package, reading->unit->split_id, &sections))
		error = read_split_sections(reading, &sections);
	if (error != -ENOENT || open_split(chains, reading->unit, &file))
		return error;
	error = dwarf_sections_init(&sections, &file, true);
	if (!error) {
		error = read_split_sections(reading, &sections);
		dwarf_sections_release(&sections);
	}
	elf_file_close(&file);
	return error;
}

/* ---- all of a unit --------------------------------------------------------------------------- */

int unit_chains_read(struct unit_chains *chains, const struct dwarf_unit *unit,
	const uint64_t *addresses, size_t count, struct inlines_chain *out)
{
	struct reading reading = {chains, unit, addresses, count, out};
	int error = find_lines(&reading);

	if (error)
		return error;
	if (unit->split_name.number != DWARF_NONE) {
		error = read_split(&reading);
		if (error != -ENOENT)
			return error;
	}
	return make_chains(&reading, chains->reader, unit);
}

int unit_chains_init(struct unit_chains *chains, const struct inlines_request *request,
	struct dwarf_reader *reader, struct text_pool *pool, size_t addresses_max)
{
	*chains = (struct unit_chains){
		.request = request,
		.reader = reader,
		.pool = pool,
		.found = calloc(addresses_max + 1, sizeof(*chains->found)),
	};
	return instances_init(&chains->instances, addresses_max) || !chains->found ? -ENOMEM : 0;
}

void unit_chains_release(struct unit_chains *chains)
{
	dwarf_lines_release(&chains->lines);
	dwarf_containers_release(&chains->containers);
	instances_release(&chains->instances);
	if (chains->has_package) {
		dwarf_sections_release(&chains->package);
		elf_file_close(&chains->package_file);
	}
	free(chains->found);
	free(chains->paths);
}
