/* SPDX-License-Identifier: MIT */
/*
 * Each call of chains_add() makes one struct answers. A name is demangled once: equal names of a
 * batch are one string, so the demangled name is found by the address of the raw name.
 */
#include "cli/symbols/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/demangle.h"
#include "cli/symbols/inlines.h"
#include "cli/symbols/module.h"
#include "cli/symbols/text_pool.h"
#include "render/array.h"

/* The chains of one batch. Each address is in one batch only. */
struct answers {
	struct answers *next;
	struct inlines *inlines;
	/* [index of the address] -> its frames; NULL until chains_find() is called for it */
	struct symbols_frame **shown;
};

struct chains {
	struct answers *answers;
	struct text_pool pool; /* memory of frames and their names */
	/* owned; found by hash of the raw name's address */
	struct shown_name *names;
	uint32_t name_count, name_room;
	struct lookup lookup;
	struct pages_account account;
	enum demangle_style style;
};

struct shown_name {
	const char *raw;
	const char *shown;
};

struct chains *chains_new(enum demangle_style style)
{
	struct chains *chains = calloc(1, sizeof(*chains));

	if (chains)
		chains->style = style;
	return chains;
}

static void answers_free(struct answers *answers)
{
	inlines_free(answers->inlines);
	free(answers->shown);
	free(answers);
}

void chains_free(struct chains *chains)
{
	if (!chains)
		return;
	while (chains->answers) {
		struct answers *next = chains->answers->next;

		answers_free(chains->answers);
		chains->answers = next;
	}
	text_pool_release(&chains->pool);
	free(chains->names);
	pages_release(&chains->account, &chains->lookup.slots);
	free(chains);
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Return the batch that contains @address, and set *@index to its index there; or return NULL. */
static struct answers *find_answers(const struct chains *chains, uint64_t address, size_t *index)
{
	for (struct answers *answers = chains->answers; answers; answers = answers->next) {
		const struct inlines_chain *found = inlines_find(answers->inlines, address);

		if (found) {
			*index = (size_t)(found - answers->inlines->chains);
			return answers;
		}
	}
	return NULL;
}

/* Add the chains @inlines as a batch, which takes ownership of them. Returns 0 or -ENOMEM. */
static int add_answers(struct chains *chains, struct inlines *inlines)
{
	struct answers *answers = calloc(1, sizeof(*answers));

	if (!answers)
		return -ENOMEM;
	answers->inlines = inlines;
	answers->shown = calloc(inlines->count + 1, sizeof(struct symbols_frame *));
	answers->next = chains->answers;
	if (!answers->shown) {
		free(answers);
		return -ENOMEM;
	}
	chains->answers = answers;
	return 0;
}

/* Sort @addresses. Remove duplicates and those in earlier batches. Returns the remaining number. */
static size_t keep_new(const struct chains *chains, uint64_t *addresses, size_t count)
{
	size_t kept = 0, index;

	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	for (size_t i = 0; i < count; i++)
		if ((!kept || addresses[i] != addresses[kept - 1]) &&
			!find_answers(chains, addresses[i], &index))
			addresses[kept++] = addresses[i];
	return kept;
}

/*
 * Read chains from the module's DWARF into *@inlines (owned). Without DWARF, *@inlines is
 * unchanged. Returns 0 or -ENOMEM.
 */
static int read_inlines(const struct symbols_module *module, const uint64_t *addresses,
	size_t count, bool (*is_hurried)(void), struct inlines **inlines)
{
	struct elf_file file;
	struct inlines_request request = {.file = &file,
		.addresses = addresses,
		.count = count,
		.pid = module->pid,
		.is_hurried = is_hurried};
	int error = count ? module_open_dwarf(module, &file) : -ENOENT;

	if (error)
		return 0;
	error = inlines_read(&request, inlines);
	elf_file_close(&file);
	return error == -ENOMEM ? error : 0;
}

int chains_add(struct chains *chains, const struct symbols_module *module,
	const uint64_t *addresses, size_t count, bool (*is_hurried)(void))
{
	uint64_t *wanted = calloc(count + 1, sizeof(*wanted));
	struct inlines *inlines = NULL;
	int error;

	if (!wanted)
		return -ENOMEM;
	memcpy(wanted, addresses, count * sizeof(*wanted));
	count = keep_new(chains, wanted, count);
	error = read_inlines(module, wanted, count, is_hurried, &inlines);
	if (!error && inlines)
		error = add_answers(chains, inlines);
	if (error)
		inlines_free(inlines);
	free(wanted);
	return error;
}

/* ---- names for display ----------------------------------------------------------------------- */

static uint32_t hash_of(const char *raw)
{
	return lookup_hash((uintptr_t)raw);
}

/* Implements lookup_hash_fn. */
static uint32_t hash_name(const void *chains, uint32_t number)
{
	return hash_of(((const struct chains *)chains)->names[number - 1].raw);
}

/* Return @raw demangled for display, or NULL if out of memory. */
static const char *show_name(struct chains *chains, const char *raw)
{
	struct lookup_probe probe;
	uint32_t number;
	const char *kept;
	char *shown;

	chains->account.limit_bytes = SIZE_MAX;
	if (lookup_reserve(&chains->lookup, &chains->account, 1, hash_name, chains) ||
		ARRAY_GROW(chains->names, chains->name_count, chains->name_room, 256))
		return NULL;
	probe = lookup_begin(&chains->lookup, hash_of(raw));
	while ((number = lookup_next(&chains->lookup, &probe)))
		if (chains->names[number - 1].raw == raw)
			return chains->names[number - 1].shown;
	shown = demangle_name(raw, chains->style);
	kept = shown ? text_pool_add(&chains->pool, shown) : NULL;
	free(shown);
	if (!kept)
		return NULL;
	chains->names[chains->name_count++] = (struct shown_name){raw, kept};
	lookup_put(&chains->lookup, &probe, chains->name_count);
	return kept;
}

struct symbols_frame *chains_find(struct chains *chains, uint64_t address, uint32_t *count)
{
	size_t index = 0;
	struct answers *answers = find_answers(chains, address, &index);
	const struct inlines_chain *raw = answers ? &answers->inlines->chains[index] : NULL;
	struct symbols_frame *frames;

	*count = raw ? raw->count : 0;
	if (!*count || answers->shown[index])
		return *count ? answers->shown[index] : NULL;
	frames = text_pool_memory(&chains->pool, *count * sizeof(*frames));
	for (uint32_t i = 0; frames && i < *count; i++) {
		const struct inlines_frame *frame = &raw->frames[i];

		frames[i] = (struct symbols_frame){
			*frame->name ? show_name(chains, frame->name) : "[unknown function]",
			frame->file, frame->line};
		if (!frames[i].name)
			frames = NULL;
	}
	if (!frames)
		*count = 0;
	return answers->shown[index] = frames;
}
