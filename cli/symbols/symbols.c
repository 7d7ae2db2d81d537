/* SPDX-License-Identifier: MIT */
/*
 * The registry of modules: handles, one table each from the first look-up on, names demangled when
 * they are first asked for. Where names come from is module.c's business.
 */
#include "cli/symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/demangle.h"
#include "cli/symbols/module.h"
#include "cli/symbols/symtab.h"
#include "libprof/fnv.h"
#include "render/array.h"

struct entry {
	struct symbols_module module; /* path and build_id owned */
	struct symtab *table;         /* NULL until read */
	enum symbols_source source;
	uint64_t hash;
	int next; /* in the same bucket, -1 at the end */
	int failed;
	struct functions *functions; /* NULL until asked for */
	int functions_failed;
};

/*
 * The registry has no limit of its own: it holds the modules of all images of a run, equal ones
 * once. The library tells of at most 4,096 in one image (sampler/modules.c), so that chains stay
 * short.
 */
#define BUCKETS 4096u

struct symbols {
	struct entry *entries;
	int count;
	int room;
	int buckets[BUCKETS]; /* -1: empty */
	bool (*is_hurried)(void);
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
		symtab_free(symbols->entries[i].table);
		functions_free(symbols->entries[i].functions);
	}
	free(symbols->entries);
	free(symbols);
}

void symbols_hurry_when(struct symbols *symbols, bool (*is_hurried)(void))
{
	symbols->is_hurried = is_hurried;
}

static int is_same_module(const struct symbols_module *a, const struct symbols_module *b)
{
	return a->is_vdso == b->is_vdso && a->build_id_bytes == b->build_id_bytes &&
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
	hash = fnv_text(FNV_BEGIN, wanted.path, SIZE_MAX);
	hash = fnv_bytes(hash, wanted.build_id, wanted.build_id_bytes);

	int *bucket = &symbols->buckets[hash % BUCKETS];

	for (int i = *bucket; i >= 0; i = symbols->entries[i].next) {
		struct entry *entry = &symbols->entries[i];

		if (entry->hash != hash || !is_same_module(&entry->module, &wanted))
			continue;
		/* The later process is the likelier one to live when the file is opened. */
		if (wanted.pid && !entry->table)
			entry->module.pid = wanted.pid;
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

/* What to show for @symbol, made once. Returns 0, -ENOENT when it has no name, or -ENOMEM. */
static int make_shown_name(struct symtab *table, struct symtab_symbol *symbol)
{
	const struct symtab_symbol *named = symbol;
	char *shown, *longer;

	if (symbol->shown)
		return 0;
	if (!symbol->name)
		named = symtab_find(table, symbol->resolver);
	if (!named || !named->name)
		return -ENOENT;
	shown = demangle_name(named->name);
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

/* A symbol without a size ends where call-frame information says that its function does. */
static void bound_size(struct entry *entry, struct symtab_symbol *symbol)
{
	const struct functions *functions = functions_of(entry);
	uint64_t end = functions ? functions_end(functions, symbol->start) : UINT64_MAX;

	if (end < symbol->end)
		symbol->end = end;
	symbol->is_unsized = 0;
}

int symbols_lookup(struct symbols *symbols, int handle, uint64_t address, struct symbols_name *out)
{
	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;

	struct entry *entry = &symbols->entries[handle];

	if (!entry->table) {
		/*
		 * Tried once: a module too large for memory must not be read again for each frame.
		 */
		if (entry->failed)
			return -ENOENT;
		entry->module.is_hurried = symbols->is_hurried && symbols->is_hurried();
		if (module_read(&entry->module, &entry->table, &entry->source)) {
			entry->failed = 1;
			return -ENOMEM;
		}
	}

	struct symtab_symbol *symbol = symtab_find(entry->table, address);

	if (!symbol)
		return -ENOENT;
	if (symbol->is_unsized)
		bound_size(entry, symbol);
	if (address >= symbol->end)
		return -ENOENT;

	int error = make_shown_name(entry->table, symbol);

	if (error)
		return error;
	*out = (struct symbols_name){symbol->shown, symbol->start, symbol->end - symbol->start};
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

int symbols_offset_address(
	struct symbols *symbols, int handle, uint64_t offset, uint64_t *address)
{
	if (handle < 0 || handle >= symbols->count)
		return -ENOENT;
	return module_offset_address(&symbols->entries[handle].module, offset, address);
}

enum symbols_source symbols_module_source(const struct symbols *symbols, int handle)
{
	return handle < 0 || handle >= symbols->count ? SYMBOLS_NONE
						       : symbols->entries[handle].source;
}
