/* SPDX-License-Identifier: MIT */
/*
 * The registry of modules. Each module has a handle, and a symbol table that is read at the first
 * look-up. A name is demangled when it is first looked up. module.c decides where names come from.
 */
#include "cli/symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/debuginfod.h"
#include "cli/symbols/demangle.h"
#include "cli/symbols/dwarf_files.h"
#include "cli/symbols/inlines.h"
#include "cli/symbols/module.h"
#include "cli/symbols/symtab.h"
#include "libprof/fnv.h"
#include "render/array.h"

struct entry {
	struct symbols_module module; /* path and build_id are owned */
	struct symtab *table;	      /* NULL until read */
	struct symbols_origin origin; /* its path is owned */
	uint64_t hash;
	int next; /* index of the next entry in the bucket; -1: none */
	int failed;
	struct functions *functions; /* NULL until first needed */
	int functions_failed;
	struct inlines *inlines; /* a list, by `next` */
};

/*
 * The registry has no limit. It contains the modules of all process images, equal modules once. A
 * process image has at most 4,096 modules (sampler/modules.c), so the lists of buckets stay short.
 */
#define BUCKETS 4096u

struct symbols {
	struct entry *entries;
	int count;
	int room;
	int buckets[BUCKETS]; /* index of the first entry in each bucket; -1: none */
	bool (*is_hurried)(void);
	const char *program; /* borrowed; NULL: no path was set */
	enum demangle_style style;
};

struct symbols *symbols_new(void)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (symbols)
		memset(symbols->buckets, -1, sizeof(symbols->buckets));
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (int i = 0; i < symbols->count; i++) {
		free((char *)symbols->entries[i].module.path);
		free((uint8_t *)symbols->entries[i].module.build_id);
		free((char *)symbols->entries[i].origin.path);
		symtab_free(symbols->entries[i].table);
		functions_free(symbols->entries[i].functions);
		while (symbols->entries[i].inlines) {
			struct inlines *next = symbols->entries[i].inlines->next;

			inlines_free(symbols->entries[i].inlines);
			symbols->entries[i].inlines = next;
		}
	}
	free(symbols->entries);
	free(symbols);
}

void symbols_hurry_when(struct symbols *symbols, bool (*is_hurried)(void))
{
	symbols->is_hurried = is_hurried;
}

void symbols_demangle(struct symbols *symbols, enum demangle_style style)
{
	symbols->style = style;
}

void symbols_keep_program(struct symbols *symbols, const char *path)
{
	symbols->program = path;
}

static int is_same_module(const struct symbols_module *a, const struct symbols_module *b)
{
	return a->is_vdso == b->is_vdso && a->is_changed == b->is_changed &&
	       a->build_id_bytes == b->build_id_bytes &&
	       (!a->build_id_bytes || !memcmp(a->build_id, b->build_id, a->build_id_bytes)) &&
	       !strcmp(a->path, b->path);
}

static int copy_module(struct symbols_module *to, const struct symbols_module *from)
{
	char *path = strdup(from->path);
	uint8_t *id = NULL;

	if (!path)
		return -ENOMEM;
	if (from->build_id_bytes) {
		id = malloc(from->build_id_bytes);
		if (!id) {
			free(path);
			return -ENOMEM;
		}
		memcpy(id, from->build_id, from->build_id_bytes);
	}
	*to = *from;
	to->path = path;
	to->build_id = id;
	return 0;
}

int symbols_add_module(struct symbols *symbols, const struct symbols_module *module)
{
	struct symbols_module wanted = *module;
	uint64_t hash;

	if (!wanted.build_id)
		wanted.build_id_bytes = 0;
	wanted.is_changed = module_is_changed(&wanted);
	wanted.program = symbols->program;
	hash = fnv_text(FNV_BEGIN, wanted.path, SIZE_MAX);
	hash = fnv_bytes(hash, wanted.build_id, wanted.build_id_bytes);

	int *bucket = &symbols->buckets[hash % BUCKETS];

	for (int i = *bucket; i >= 0; i = symbols->entries[i].next) {
		struct entry *entry = &symbols->entries[i];

		if (entry->hash != hash || !is_same_module(&entry->module, &wanted))
			continue;
		/*
		 * If several processes have the module, store the pid that was added last: that
		 * process is likeliest to be alive when the file is opened.
		 */
		if (wanted.pid && !entry->table) {
			entry->module.pid = wanted.pid;
			entry->module.start = wanted.start;
		}
		if (wanted.held && !entry->table)
			entry->module.held = wanted.held;
		return i;
	}
	if (ARRAY_GROW(symbols->entries, symbols->count, symbols->room, 64))
		return -ENOMEM;

	struct entry *added = &symbols->entries[symbols->count];

	*added = (struct entry){.hash = hash, .next = *bucket};
	if (copy_module(&added->module, &wanted))
		return -ENOMEM;
	return *bucket = symbols->count++;
}

/* Set symbol->shown if it is not set. Returns 0, -ENOENT if the symbol has no name, or -ENOMEM. */
static int make_shown_name(
	struct symtab *table, struct symtab_symbol *symbol, enum demangle_style style)
{
	const struct symtab_symbol *named = symbol;
	char *shown, *longer;

	if (symbol->shown)
		return 0;
	if (!symbol->name)
		named = symtab_find(table, symbol->resolver);
	if (!named || !named->name)
		return -ENOENT;
	shown = demangle_name(
		named->name, languages_of(symtab_languages(table), named->name), style);
	if (!shown)
		return -ENOMEM;
	if (symbol->is_plt) {
		if (asprintf(&longer, "%s@plt", shown) < 0)
			longer = NULL;
		free(shown);
		shown = longer;
	}
	symbol->shown = shown;
	return shown ? 0 : -ENOMEM;
}

static const struct functions *functions_of(struct entry *entry)
{
	if (!entry->functions && !entry->functions_failed)
		entry->functions_failed =
			module_read_functions(&entry->module, &entry->functions) != 0;
	return entry->functions;
}

/* End a symbol without a size where call-frame information says that its function ends. */
static void bound_size(struct entry *entry, struct symtab_symbol *symbol)
{
	const struct functions *functions = functions_of(entry);
	uint64_t end = functions ? functions_end(functions, symbol->start) : UINT64_MAX;

	if (end < symbol->end)
		symbol->end = end;
	symbol->is_unsized = 0;
}

/* Set the inline chain of @address in @name. */
static void add_frames(const struct entry *entry, uint64_t address, struct symbols_name *name)
{
	const struct inlines_chain *chain = NULL;

	for (const struct inlines *at = entry->inlines; at && !chain; at = at->next)
		chain = inlines_find(at, address);
	if (chain && chain->count) {
		name->frames = chain->frames;
		name->frame_count = chain->count;
	}
}

/*
 * Read the module's table. After a failure do not try again: a module that is too large for memory
 * would be read again for each frame. Returns 0, -ENOENT or -ENOMEM.
 */
static int read_entry(const struct symbols *symbols, struct entry *entry)
{
	if (entry->table)
		return 0;
	if (entry->failed)
		return -ENOENT;
	entry->module.is_hurried = symbols->is_hurried && symbols->is_hurried();
	entry->failed = module_read(&entry->module, &entry->table, &entry->origin) != 0;
	return entry->failed ? -ENOMEM : 0;
}

static void forget_table(struct entry *entry)
{
	symtab_free(entry->table);
	entry->table = NULL;
	free((char *)entry->origin.path);
	entry->origin = (struct symbols_origin){SYMBOLS_NONE, NULL};
}

static bool lacks_names(const struct entry *entry)
{
	switch (entry->origin.source) {
	case SYMBOLS_NONE:
	case SYMBOLS_DYNSYM:
	case SYMBOLS_MISMATCH:
	case SYMBOLS_REPLACED:
		return true;
	default:
		return false;
	}
}

static bool lacks_lines(const struct entry *entry)
{
	struct elf_file file;

	if (module_open_dwarf(&entry->module, &file))
		return true;
	elf_file_close(&file);
	return false;
}

/*
 * Download the files with common DWARF (.gnu_debugaltlink, made by dwz) to which local debug files
 * refer. Several debug files may refer to the same file.
 */
static void fetch_alternates(struct symbols *symbols, const int *handles, size_t count,
	struct debuginfod_report *report)
{
	uint8_t ids[DEBUGINFOD_MAX][ELF_FILE_ID_MAX];
	struct debuginfod_request requests[DEBUGINFOD_MAX];
	unsigned files = 0, at;

	for (size_t i = 0; i < count && files < DEBUGINFOD_MAX; i++) {
		const struct symbols_module *module = &symbols->entries[handles[i]].module;
		struct elf_file file;
		size_t bytes;

		if (module_open_dwarf(module, &file))
			continue;
		bytes = dwarf_files_missed(&file, module->pid, ids[files]);
		elf_file_close(&file);
		for (at = 0; at < files; at++)
			if (requests[at].build_id_bytes == bytes &&
				!memcmp(ids[at], ids[files], bytes))
				break;
		if (!bytes || at < files)
			continue;
		requests[files] = (struct debuginfod_request){ids[files], bytes, false};
		files++;
	}
	if (files)
		debuginfod_fetch(requests, files, symbols->is_hurried, report);
}

void symbols_fetch(struct symbols *symbols, const int *handles, size_t count,
	void (*on_fetch)(unsigned files), struct debuginfod_report *report)
{
	struct debuginfod_request requests[DEBUGINFOD_MAX];
	struct entry *wanting[DEBUGINFOD_MAX];
	unsigned files = 0;

	/*
	 * In the first pass, request files for modules without names; in the second pass, for
	 * modules with names but without lines.
	 */
	for (size_t i = 0; i < 2 * count && files < DEBUGINFOD_MAX; i++) {
		struct entry *entry = &symbols->entries[handles[i % count]];

		if (!entry->module.build_id_bytes || entry->module.is_vdso ||
			read_entry(symbols, entry) ||
			(i < count ? !lacks_names(entry)
				   : lacks_names(entry) || !lacks_lines(entry)))
			continue;
		wanting[files] = entry;
		requests[files++] = (struct debuginfod_request){
			.build_id = entry->module.build_id,
			.build_id_bytes = entry->module.build_id_bytes,
		};
	}
	if (files && on_fetch)
		on_fetch(files);
	if (files)
		debuginfod_fetch(requests, files, symbols->is_hurried, report);
	for (unsigned i = 0; i < files; i++)
		if (requests[i].came)
			forget_table(wanting[i]);
	if (!report->left && !report->has_no_library)
		fetch_alternates(symbols, handles, count, report);
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Sort @addresses and remove duplicates. Returns how many are left. */
static size_t keep_distinct(uint64_t *addresses, size_t count)
{
	size_t kept = 0;

	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < count; i++)
		if (!kept || addresses[i] != addresses[kept - 1])
			addresses[kept++] = addresses[i];
	return kept;
}

int symbols_resolve(struct symbols *symbols, int handle, const uint64_t *addresses, size_t count)
{
	struct elf_file file;
	struct inlines_request request = {
		.file = &file, .is_hurried = symbols->is_hurried, .style = symbols->style};
	struct inlines *inlines;
	struct entry *entry;
	uint64_t *wanted;
	int error;

	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;
	entry = &symbols->entries[handle];
	if (!count || (symbols->is_hurried && symbols->is_hurried()))
		return 0;
	/* The language of a function is guessed from the symbols of its module. */
	if (!read_entry(symbols, entry))
		request.languages = symtab_languages(entry->table);
	wanted = calloc(count, sizeof(*wanted));
	if (!wanted)
		return -ENOMEM;
	memcpy(wanted, addresses, count * sizeof(*wanted));
	request.addresses = wanted;
	request.count = keep_distinct(wanted, count);
	request.pid = entry->module.pid;
	error = module_open_dwarf(&entry->module, &file);
	if (!error) {
		error = inlines_read(&request, &inlines);
		elf_file_close(&file);
	}
	if (!error) {
		inlines->next = entry->inlines;
		entry->inlines = inlines;
	}
	free(wanted);
	return error == -ENOMEM ? error : 0;
}

int symbols_lookup(struct symbols *symbols, int handle, uint64_t address, struct symbols_name *out)
{
	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;

	struct entry *entry = &symbols->entries[handle];
	int error = read_entry(symbols, entry);

	if (error)
		return error;

	struct symtab_symbol *symbol = symtab_find(entry->table, address);

	if (!symbol)
		return -ENOENT;
	if (symbol->is_unsized)
		bound_size(entry, symbol);
	if (address >= symbol->end)
		return -ENOENT;

	error = make_shown_name(entry->table, symbol, symbols->style);
	if (error)
		return error;
	*out = (struct symbols_name){
		.name = symbol->shown, .start = symbol->start, .size = symbol->end - symbol->start};
	add_frames(entry, address, out);
	return 0;
}

int symbols_function(struct symbols *symbols, int handle, uint64_t address, uint64_t *start)
{
	const struct functions *functions;

	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;
	functions = functions_of(&symbols->entries[handle]);
	return functions ? functions_find(functions, address, start) : -ENOENT;
}

int symbols_offset_address(struct symbols *symbols, int handle, uint64_t offset, uint64_t *address)
{
	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;
	return module_offset_address(&symbols->entries[handle].module, offset, address);
}

int symbols_segment(
	struct symbols *symbols, int handle, uint64_t address, struct symbols_segment *segment)
{
	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;
	return module_segment(&symbols->entries[handle].module, address, segment);
}

void symbols_system_calls(
	struct symbols *symbols, int handle, struct call_number *calls, size_t count)
{
	if (handle >= 0 && handle < symbols->count) {
		module_system_calls(&symbols->entries[handle].module, calls, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		calls[i].number = -1;
		calls[i].passing = 0;
	}
}

struct symbols_origin symbols_module_origin(const struct symbols *symbols, int handle)
{
	return handle < 0 || handle >= symbols->count ? (struct symbols_origin){SYMBOLS_NONE, NULL}
						      : symbols->entries[handle].origin;
}
