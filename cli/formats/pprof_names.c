/* SPDX-License-Identifier: MIT */
/*
 * Turn locations into frames: by the profile's names, else by the symbols of the mapped file.
 *
 * If the profile has a build-id, a file is used only if its build-id is equal. Addresses are
 * translated by the segment that holds the file offset of the first address looked up in the
 * mapping. This is right for mappings of one segment and for mappings of a whole library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/formats/pprof.h"
#include "cli/formats/pprof_tables.h"
#include "cli/profile/picture_names.h"
#include "cli/profile/sources.h"
#include "cli/symbols/debuginfod.h"
#include "cli/symbols/demangle.h"
#include "libprof/pprof/protobuf.h"

/* A line of a location. */
struct line {
	struct pprof_function *function; /* NULL: no name in the profile */
	uint64_t number;
	/* Of the location; only the mapping and offset are set. */
	struct calltree_frame place;
};

/* Minimum length of a linker's build ID. Go stores other texts in this field. */
#define BUILD_ID_MIN 8

static const char *module_name(
	const struct pprof_tables *tables, const struct pprof_mapping *mapping)
{
	return mapping ? base_name(pprof_text(tables, mapping->file)) : "";
}

/* Is @mapping code generated at run time? Then it is missing or has a special name. */
static int is_generated(const struct pprof_tables *tables, const struct pprof_mapping *mapping)
{
	return mapping ? !strcmp(pprof_text(tables, mapping->file), PPROF_GENERATED_FILE)
		       : tables->mappings.count != 0;
}

static int is_machine(const struct pprof_tables *tables, const struct pprof_mapping *mapping)
{
	return mapping && !strcmp(pprof_text(tables, mapping->file), PPROF_MACHINE_FILE);
}

/* Returns the profile's name of @function, "" if it has none. */
static const char *name_of(
	const struct pprof_tables *tables, const struct pprof_function *function)
{
	const char *name = function ? pprof_text(tables, function->name) : "";

	return *name || !function ? name : pprof_text(tables, function->system_name);
}

/* Returns the line number, or 0 if it is unknown, for which some profilers write -1. */
static uint32_t number_of(uint64_t line)
{
	return line > INT32_MAX ? 0 : (uint32_t)line;
}

/* Returns the frame of the same function as @frame, but at @line. */
static uint32_t frame_at_line(const struct pprof_tables *tables, struct calltree *tree,
	uint32_t frame, const struct line *line)
{
	struct calltree_frame same;

	if (calltree_error(tree))
		return 0;
	same = *calltree_frame_at(tree, frame);
	same.file = pprof_text(tables, line->function->file);
	same.line = number_of(line->number);
	same.start_line = number_of(line->function->start_line);
	same.mapping = line->place.mapping;
	same.offset = line->place.offset;
	return calltree_intern(tree, &same);
}

static uint32_t make_frame(const struct pprof_tables *tables, struct calltree *tree,
	const struct line *line, const struct pprof_mapping *mapping,
	enum calltree_frame_kind kind)
{
	const char *name = name_of(tables, line->function);
	struct calltree_frame frame = line->place;
	char *demangled = NULL;
	uint32_t number;

	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		demangled = demangle_name(name, DEMANGLE_BY_NAME, tables->request->demangle);
	frame.name = demangled ? demangled : name;
	frame.module = module_name(tables, mapping);
	frame.kind = picture_names_kind(name, frame.module, kind);
	frame.file = pprof_text(tables, line->function->file);
	frame.line = number_of(line->number);
	frame.start_line = number_of(line->function->start_line);
	number = calltree_intern(tree, &frame);
	free(demangled);
	return number;
}

/* Returns the frame of a virtual machine's function, whose name includes file and line. */
static uint32_t frame_of_machine(
	const struct pprof_tables *tables, struct calltree *tree, const struct line *line)
{
	const char *name = pprof_text(tables, line->function->name);
	uint32_t number = number_of(line->number);
	char *whole = machine_name_make(name, pprof_text(tables, line->function->file), number);
	uint32_t frame = calltree_frame(tree, whole ? whole : name, MACHINE_MODULE,
		strcmp(name, MACHINE_MODULE) ? CALLTREE_JIT : CALLTREE_SYNTHETIC);

	free(whole);
	return frame;
}

static uint32_t frame_of_function(const struct pprof_tables *tables, struct calltree *tree,
	const struct line *line, const struct pprof_mapping *mapping, int is_inlined)
{
	struct pprof_function *function = line->function;
	enum calltree_frame_kind kind = is_inlined		       ? CALLTREE_INLINE
					: is_generated(tables, mapping) ? CALLTREE_JIT
									: CALLTREE_NATIVE;

	if (is_machine(tables, mapping))
		return frame_of_machine(tables, tree, line);
	/* Generated code has no file and so no module. */
	if (kind == CALLTREE_JIT)
		mapping = NULL;

	/* If the function has a frame at any line, take its name, so that it is demangled once. */
	if (function->last[is_inlined].frame != PPROF_UNSET &&
		function->last[is_inlined].mapping == mapping)
		return frame_at_line(tables, tree, function->last[is_inlined].frame, line);
	function->last[is_inlined].frame = make_frame(tables, tree, line, mapping, kind);
	function->last[is_inlined].mapping = mapping;
	return function->last[is_inlined].frame;
}

static int add_frame(struct pprof_tables *tables, uint32_t frame)
{
	return pprof_append(tables, &tables->frames, &frame, sizeof(frame));
}

/* Read the functions in @location's lines, innermost first. Returns their number, or -EBADMSG. */
static int read_lines(const struct pprof_tables *tables, const struct pprof_location *location,
	struct line lines[PPROF_LINES_MAX])
{
	struct protobuf in = location->message, message;
	struct protobuf_field field;
	int count = 0;

	/* An error cannot occur: pprof_tables_read() has checked the location's fields. */
	while (protobuf_next(&in, &field) > 0) {
		struct line line = {.function = NULL};
		int more;

		if (field.number != LOCATION_LINE || field.type != PROTOBUF_BYTES)
			continue;
		message = field.bytes;
		while ((more = protobuf_next(&message, &field)) > 0) {
			if (field.number == LINE_LINE)
				line.number = field.value;
			if (field.number != LINE_FUNCTION || !field.value)
				continue;
			line.function = pprof_function(tables, field.value);
			if (!line.function)
				return pprof_damaged(tables, message.at,
					"a line of a function that is not there");
		}
		if (more)
			return pprof_damaged(tables, message.at, "a damaged line");
		if (count == PPROF_LINES_MAX)
			return pprof_damaged(tables, message.at, "a location with too many lines");
		lines[count++] = line;
	}
	return count;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parse a build-id in hexadecimal. Returns its length in bytes, 0 if @text is not one. */
static size_t parse_build_id(const char *text, uint8_t id[64])
{
	size_t digits = strlen(text);

	if (digits < BUILD_ID_MIN || digits > 128 || digits % 2)
		return 0;
	for (size_t i = 0; i < digits; i += 2) {
		int high = digit_of(text[i]), low = digit_of(text[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		id[i / 2] = (uint8_t)(high << 4 | low);
	}
	return digits / 2;
}

/* Read debug information for all addresses of @mapping at once, which is fastest. */
static void resolve_mapping(struct pprof_tables *tables, const struct pprof_mapping *mapping)
{
	const struct pprof_location *locations = tables->locations.items;
	uint64_t *addresses = calloc(tables->locations.count, sizeof(*addresses));
	size_t count = 0;

	for (uint32_t i = 0; addresses && i < tables->locations.count; i++)
		if (locations[i].mapping == mapping->id)
			addresses[count++] = locations[i].address - mapping->bias;
	/* If out of memory, functions get names without lines. */
	if (count)
		symbols_resolve(tables->symbols, mapping->handle, addresses, count);
	free(addresses);
}

/* Returns the handle of @mapping's file in tables->symbols, or -1 if there is no file. */
static int handle_of(struct pprof_tables *tables, struct pprof_mapping *mapping)
{
	const char *path = pprof_text(tables, mapping->file);
	uint8_t id[64];
	struct symbols_module module = {.path = path, .build_id = id};

	if (mapping->handle != PPROF_NOT_ASKED)
		return mapping->handle;
	mapping->handle = -1;
	if (!path[0] || is_generated(tables, mapping))
		return -1;
	if (!tables->symbols) {
		tables->symbols = symbols_new();
		if (!tables->symbols)
			return -1;
		symbols_demangle(tables->symbols, tables->request->demangle);
	}
	module.is_vdso = !strcmp(path, "[vdso]") || !strncmp(path, "linux-vdso", 10);
	module.build_id_bytes = parse_build_id(pprof_text(tables, mapping->build_id), id);
	if (!module.build_id_bytes)
		module.build_id = NULL;
	mapping->handle = symbols_add_module(tables->symbols, &module);
	return mapping->handle;
}

/*
 * Compute the bias of @mapping from @address, an address of code in it. The mapping's start is not
 * usable, because the previous segment may end in its first page. Returns the file's handle, or -1.
 */
static int open_mapping(
	struct pprof_tables *tables, struct pprof_mapping *mapping, uint64_t address)
{
	int handle = handle_of(tables, mapping);
	uint64_t in_file;

	if (mapping->is_resolved)
		return handle;
	mapping->is_resolved = true;
	mapping->bias = mapping->start - mapping->offset;
	if (handle < 0)
		return handle;
	if (!symbols_offset_address(tables->symbols, handle,
		    address - mapping->start + mapping->offset, &in_file))
		mapping->bias = address - in_file;
	resolve_mapping(tables, mapping);
	return handle;
}

/* Does the profile have a function name for @location? */
static bool has_names(const struct pprof_tables *tables, const struct pprof_location *location)
{
	struct line lines[PPROF_LINES_MAX];
	int count = read_lines(tables, location, lines);

	while (count > 0 && !*name_of(tables, lines[count - 1].function))
		count--;
	return count != 0;
}

static void show_fetching(unsigned files)
{
	progress_begin(
		"fetching symbols of %u file%s by debuginfod", files, files == 1 ? "" : "s");
}

void pprof_fetch(struct pprof_tables *tables)
{
	const struct pprof_location *locations = tables->locations.items;
	int *handles = calloc(tables->mappings.count + 1ULL, sizeof(*handles));
	struct debuginfod_report report = {0};
	size_t count = 0, at;

	for (uint32_t i = 0; handles && i < tables->locations.count; i++) {
		struct pprof_mapping *mapping = pprof_mapping(tables, locations[i].mapping);

		if (!mapping || mapping->handle != PPROF_NOT_ASKED ||
			has_names(tables, &locations[i]) || handle_of(tables, mapping) < 0)
			continue;
		/* Mappings of one file have one handle, which is fetched once. */
		for (at = 0; at < count && handles[at] != mapping->handle;)
			at++;
		handles[at] = mapping->handle;
		count += at == count;
	}
	if (count)
		symbols_fetch(tables->symbols, handles, count, show_fetching, &report);
	progress_end();
	sources_print_fetched(&report);
	free(handles);
}

/*
 * Add the functions inlined at an address, innermost first, and then the function itself. @frame
 * has the module, the mapping and the offset.
 */
static int add_chain(struct pprof_tables *tables, struct calltree *tree,
	const struct symbols_name *name, struct calltree_frame *frame)
{
	int error = 0;

	for (uint32_t i = symbols_frames(name); i-- > 0 && !error;) {
		struct symbols_frame at = symbols_frame_at(name, i);

		frame->name = at.name;
		frame->kind = i ? CALLTREE_INLINE : CALLTREE_NATIVE;
		frame->file = at.file;
		frame->line = at.line;
		frame->start_line = at.start_line;
		error = add_frame(tables, calltree_intern(tree, frame));
	}
	return error;
}

static int add_address(struct pprof_tables *tables, struct calltree *tree,
	const struct pprof_location *location, struct pprof_mapping *mapping,
	struct calltree_frame frame)
{
	const char *module = is_generated(tables, mapping) ? "" : module_name(tables, mapping);
	char text[PPROF_NAME_BYTES + 32], build_id[PICTURE_BUILD_ID_BYTES];
	struct symbols_name name;
	uint64_t address;
	uint8_t id[64];
	int handle;

	if (!module[0])
		return add_frame(
			tables, calltree_frame(tree, "[unknown code]", "", CALLTREE_UNNAMED));
	frame.module = module;
	handle = open_mapping(tables, mapping, location->address);
	address = location->address - mapping->bias;
	if (handle >= 0 && !symbols_lookup(tables->symbols, handle, address, &name))
		return add_chain(tables, tree, &name, &frame);
	mapping->unnamed++;
	if (handle >= 0)
		symbols_function(tables->symbols, handle, address, &address);
	snprintf(text, sizeof(text), "[%s+0x%" PRIx64 "]", module, address);
	picture_names_build_id(build_id, id,
		parse_build_id(pprof_text(tables, mapping->build_id), id));
	frame.name = text;
	frame.kind = CALLTREE_UNNAMED;
	frame.file = build_id;
	return add_frame(tables, calltree_intern(tree, &frame));
}

/*
 * Set the mapping and the offset of @frame, if the profile has a file and a range that contains the
 * location's address. @memory is the mapping then.
 */
static void set_place(const struct pprof_tables *tables, const struct pprof_location *location,
	const struct pprof_mapping *mapping, struct calltree_mapping *memory,
	struct calltree_frame *frame)
{
	if (!mapping || location->address < mapping->start || location->address >= mapping->limit ||
		is_generated(tables, mapping) || is_machine(tables, mapping) ||
		!*module_name(tables, mapping))
		return;
	*memory = (struct calltree_mapping){
		.path = pprof_text(tables, mapping->file),
		.build_id = pprof_text(tables, mapping->build_id),
		.offset = mapping->offset,
		.start = mapping->start,
		.end = mapping->limit,
	};
	frame->mapping = memory;
	frame->offset = location->address - mapping->start + mapping->offset;
}

int pprof_name(struct pprof_tables *tables, struct pprof_location *location,
	struct calltree *tree)
{
	struct pprof_mapping *mapping = NULL;
	struct line lines[PPROF_LINES_MAX];
	struct calltree_frame place = {.mapping = NULL};
	struct calltree_mapping memory;
	uint32_t first = tables->frames.count;
	int count, named = 0, error = 0;

	if (location->mapping) {
		mapping = pprof_mapping(tables, location->mapping);
		if (!mapping)
			return pprof_damaged(tables, location->message.at,
				"a location in a mapping that is not there");
	}
	count = read_lines(tables, location, lines);
	if (count < 0)
		return count;
	set_place(tables, location, mapping, &memory, &place);
	for (int i = 0; i < count; i++) {
		lines[i].place = place;
		named += !!*name_of(tables, lines[i].function);
	}
	for (int i = 0; named && i < count && !error; i++)
		error = add_frame(tables, *name_of(tables, lines[i].function)
			? frame_of_function(tables, tree, &lines[i], mapping, i + 1 < count)
			: calltree_frame(tree, "[unknown function]", "", CALLTREE_UNNAMED));
	if (!named)
		error = add_address(tables, tree, location, mapping, place);
	location->frame_count = tables->frames.count - first;
	location->first_frame = first;
	return error;
}

static const char *why_unnamed(
	const struct pprof_tables *tables, const struct pprof_mapping *mapping)
{
	if (mapping->handle < 0)
		return "it cannot be read";
	switch (symbols_module_origin(tables->symbols, mapping->handle).source) {
	case SYMBOLS_MISMATCH:
		return "it is not the file that ran, its build-id is another";
	case SYMBOLS_NONE:
		return "it is not here, or has no symbols";
	default:
		return "its symbols do not name them";
	}
}

void pprof_report_unnamed(const struct pprof_tables *tables)
{
	const struct pprof_mapping *worst = NULL;
	uint32_t files = 0;

	for (uint32_t i = 0; i < tables->mappings.count; i++) {
		const struct pprof_mapping *mapping = pprof_mapping_at(tables, i);

		files += mapping->unnamed != 0;
		if (mapping->unnamed && (!worst || mapping->unnamed > worst->unnamed))
			worst = mapping;
	}
	if (!worst)
		return;
	diag_info("'%s': %" PRIu64 " address%s in '%.200s' without a name: %s%s", tables->name,
		worst->unnamed, worst->unnamed == 1 ? "" : "es",
		pprof_text(tables, worst->file), why_unnamed(tables, worst),
		files > 1 ? "; likewise in other files" : "");
}
