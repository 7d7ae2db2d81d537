/* SPDX-License-Identifier: MIT */
/*
 * libdw is not used, because the version in Debian 12 reads no .dwp, finds nothing in units without
 * .debug_aranges, and needs twice the time and 19 times the memory of this code.
 *
 * Each unit that contains an address of the request is read once. The ranges of each unit determine
 * which addresses it contains, because no index is written by all compilers.
 *
 * Threads process one unit after another, each thread with its own readers and memory. An address
 * is assigned to one unit only, so threads share nothing but the list of units.
 */
#include "cli/symbols/inlines.h"

#include <dwarf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/dwarf_files.h"
#include "cli/symbols/unit_chains.h"

#define NO_UNIT	     UINT32_MAX
/* With at most this many groups, only one thread is used. */
#define GROUPS_ALONE 8
/* number of bytes of .debug_info that a walk reads at once */
#define WINDOW_BYTES (256u << 10)
/* The limit for the work of a search grows by this many bytes for each address. */
#define NAMES_BYTES  (64u << 10)
/* number of bytes of dwz's alternate file that are read at once */
#define SHARED_BYTES 4096u

/* One file with DWARF; all readers of the file share this. */
struct source {
	struct dwarf_sections sections;
	struct dwarf_unit *units; /* owned */
	size_t unit_count;
};

/* The addresses of one unit: @count elements of search->numbers from index @first on. */
struct group {
	uint32_t unit;
	uint32_t count;
	size_t first;
};

struct inlines_search {
	const struct inlines_request *request;
	struct inlines *result;
	struct source main;
	struct source alternate; /* dwz's alternate file */
	struct elf_file alternate_file;
	bool has_alternate;
	uint32_t *unit_of; /* [address] -> its unit, or NO_UNIT */
	/* indexes of the addresses, grouped by unit */
	uint32_t *numbers;
	struct group *groups;
	size_t group_count;
	size_t largest; /* addresses in the largest group */
	_Atomic size_t next_group;
};

/* The state of one thread. */
struct inlines_searcher {
	struct inlines_search *search;
	struct dwarf_reader main;
	struct dwarf_reader alternate;
	struct unit_chains chains;
	uint64_t *addresses; /* owned; of the current group */
	struct inlines_chain *found;
	int error;
};

/* ---- assigning addresses to units ------------------------------------------------------------ */

struct assignment {
	struct inlines_search *search;
	uint32_t unit;
};

static bool assign_range(void *context, uint64_t low, uint64_t high)
{
	const struct assignment *assignment = context;
	const struct inlines_request *request = assignment->search->request;
	uint32_t *unit_of = assignment->search->unit_of;
	size_t at = instances_first(request->addresses, request->count, low);

	for (; at < request->count && request->addresses[at] < high; at++)
		if (unit_of[at] == NO_UNIT)
			unit_of[at] = assignment->unit;
	return true;
}

/* Implements dwarf_unit_fn. */
static void assign_unit(
	void *context, struct dwarf_reader *reader, const struct dwarf_unit *unit, uint32_t number)
{
	struct assignment assignment = {context, number};

	if (unit->has_code)
		dwarf_unit_ranges(reader, unit, assign_range, &assignment);
}

/* Group the addresses by unit. Returns 0 or -ENOMEM. */
static int make_groups(struct inlines_search *search)
{
	size_t units = search->main.unit_count, first = 0;
	struct group *by_unit = calloc(units + 1, sizeof(*by_unit));

	search->numbers = calloc(search->request->count + 1, sizeof(*search->numbers));
	search->groups = calloc(units + 1, sizeof(*search->groups));
	if (!by_unit || !search->numbers || !search->groups) {
		free(by_unit);
		return -ENOMEM;
	}
	for (size_t i = 0; i < search->request->count; i++)
		if (search->unit_of[i] != NO_UNIT)
			by_unit[search->unit_of[i]].count++;
	for (uint32_t i = 0; i < units; i++) {
		by_unit[i].unit = i;
		by_unit[i].first = first;
		first += by_unit[i].count;
		if (by_unit[i].count)
			search->groups[search->group_count++] = by_unit[i];
		if (by_unit[i].count > search->largest)
			search->largest = by_unit[i].count;
	}
	for (uint32_t i = 0; i < search->request->count; i++)
		if (search->unit_of[i] != NO_UNIT)
			search->numbers[by_unit[search->unit_of[i]].first++] = i;
	free(by_unit);
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void searcher_release(struct inlines_searcher *searcher)
{
	unit_chains_release(&searcher->chains);
	dwarf_reader_release(&searcher->main);
	dwarf_reader_release(&searcher->alternate);
	free(searcher->addresses);
	free(searcher->found);
}

/*
 * Initialise @searcher for groups of up to @addresses_max addresses. Returns 0 or -ENOMEM; call
 * searcher_release() in any case.
 */
static int searcher_init(struct inlines_searcher *searcher, struct inlines_search *search,
	struct text_pool *pool, size_t addresses_max)
{
	*searcher = (struct inlines_searcher){
		.search = search,
		.addresses = calloc(addresses_max + 1, sizeof(*searcher->addresses)),
		.found = calloc(addresses_max + 1, sizeof(*searcher->found)),
	};
	if (!searcher->addresses || !searcher->found ||
		dwarf_reader_init(&searcher->main, &search->main.sections, WINDOW_BYTES) ||
		unit_chains_init(
			&searcher->chains, search->request, &searcher->main, pool, addresses_max))
		return -ENOMEM;
	searcher->main.units = search->main.units;
	searcher->main.unit_count = search->main.unit_count;
	if (!search->has_alternate)
		return 0;
	if (dwarf_reader_init(&searcher->alternate, &search->alternate.sections, SHARED_BYTES))
		return -ENOMEM;
	searcher->alternate.units = search->alternate.units;
	searcher->alternate.unit_count = search->alternate.unit_count;
	searcher->main.alternate = &searcher->alternate;
	return 0;
}

static void read_group(struct inlines_searcher *searcher, const struct group *group)
{
	const struct inlines_search *search = searcher->search;
	const uint32_t *numbers = search->numbers + group->first;

	for (uint32_t i = 0; i < group->count; i++)
		searcher->addresses[i] = search->request->addresses[numbers[i]];
	memset(searcher->found, 0, group->count * sizeof(*searcher->found));
	searcher->error = unit_chains_read(&searcher->chains, &search->main.units[group->unit],
		searcher->addresses, group->count, searcher->found);
	for (uint32_t i = 0; i < group->count; i++)
		if (searcher->found[i].count)
			search->result->chains[numbers[i]] = searcher->found[i];
}

static bool is_hurried(const struct inlines_search *search)
{
	return search->request->is_hurried && search->request->is_hurried();
}

static void *search_groups(void *opaque)
{
	struct inlines_searcher *searcher = opaque;
	struct inlines_search *search = searcher->search;
	size_t next;

	while (!searcher->error &&
		(next = atomic_fetch_add(&search->next_group, 1)) < search->group_count &&
		!is_hurried(search))
		read_group(searcher, &search->groups[next]);
	return NULL;
}

static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

/* Read all groups, by several threads if there are many groups. Returns 0 or -ENOMEM. */
static int read_groups(struct inlines_search *search)
{
	struct inlines_searcher searchers[INLINES_POOLS];
	pthread_t threads[INLINES_POOLS];
	unsigned most = search->group_count > GROUPS_ALONE ? processors() : 1;
	unsigned wanted = most < INLINES_POOLS ? most : INLINES_POOLS, ready = 0, started = 1;
	int error = 0;

	for (; !error && ready < wanted; ready++)
		error = searcher_init(
			&searchers[ready], search, &search->result->pools[ready], search->largest);
	/* If a thread cannot be created, the other threads process all groups. */
	while (!error && started < ready &&
		!pthread_create(&threads[started], NULL, search_groups, &searchers[started]))
		started++;
	if (!error)
		search_groups(&searchers[0]);
	for (unsigned i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < ready; i++) {
		error = error ? error : searchers[i].error;
		searcher_release(&searchers[i]);
	}
	return error;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Read the units of @source, and call @each with each unit. Returns 0 or -ENOMEM. */
static int read_units(struct source *source, dwarf_unit_fn *each, void *context)
{
	struct dwarf_reader reader;
	int error = dwarf_reader_init(&reader, &source->sections, WINDOW_BYTES);

	if (!error)
		error = dwarf_units_read(
			&reader, &source->units, &source->unit_count, each, context);
	dwarf_reader_release(&reader);
	return error;
}

static void source_release(struct source *source)
{
	free(source->units);
	dwarf_sections_release(&source->sections);
}

/* Open dwz's alternate file if there is one. Returns 0 or -ENOMEM. */
static int open_alternate(struct inlines_search *search)
{
	const struct inlines_request *request = search->request;
	int error =
		dwarf_files_open_alternate(&search->alternate_file, request->file, request->pid);

	if (error)
		return 0;
	error = dwarf_sections_init(&search->alternate.sections, &search->alternate_file, false);
	if (error) {
		elf_file_close(&search->alternate_file);
		return error == -ENOMEM ? error : 0;
	}
	search->has_alternate = true;
	return read_units(&search->alternate, NULL, NULL);
}

/* Assign the addresses to units, then read those units. Returns 0 or -ENOMEM. */
static int run_search(struct inlines_search *search)
{
	int error = open_alternate(search);

	memset(search->unit_of, 0xff, search->request->count * sizeof(*search->unit_of));
	if (!error)
		error = read_units(&search->main, assign_unit, search);
	if (!error)
		error = make_groups(search);
	return error ? error : read_groups(search);
}

/* Open the DWARF of the file and search it. Returns 0, -ENOENT or -ENOMEM. */
static int search_file(struct inlines_search *search)
{
	const struct inlines_request *request = search->request;
	int error = dwarf_sections_init(&search->main.sections, request->file, false);

	if (error)
		return error;
	search->main.sections.work_max += request->count * NAMES_BYTES;
	search->unit_of = calloc(request->count + 1, sizeof(*search->unit_of));
	error = search->unit_of ? run_search(search) : -ENOMEM;
	if (search->has_alternate) {
		source_release(&search->alternate);
		elf_file_close(&search->alternate_file);
	}
	source_release(&search->main);
	free(search->unit_of);
	free(search->numbers);
	free(search->groups);
	return error;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Return an owned object for @count addresses, all zero, or NULL if out of memory. */
static struct inlines *inlines_new(size_t count)
{
	struct inlines *inlines = calloc(1, sizeof(*inlines));

	if (!inlines)
		return NULL;
	inlines->addresses = calloc(count + 1, sizeof(*inlines->addresses));
	inlines->chains = calloc(count + 1, sizeof(*inlines->chains));
	inlines->count = count;
	if (inlines->addresses && inlines->chains)
		return inlines;
	inlines_free(inlines);
	return NULL;
}

void inlines_free(struct inlines *inlines)
{
	if (!inlines)
		return;
	for (int i = 0; i < INLINES_POOLS; i++)
		text_pool_release(&inlines->pools[i]);
	free(inlines->addresses);
	free(inlines->chains);
	free(inlines);
}

const struct inlines_chain *inlines_find(const struct inlines *inlines, uint64_t address)
{
	size_t at = instances_first(inlines->addresses, inlines->count, address);

	return at < inlines->count && inlines->addresses[at] == address ? &inlines->chains[at]
									: NULL;
}

int inlines_read(const struct inlines_request *request, struct inlines **inlines)
{
	struct inlines_search search = {.request = request, .result = inlines_new(request->count)};
	int error;

	if (!search.result)
		return -ENOMEM;
	memcpy(search.result->addresses, request->addresses,
		request->count * sizeof(*request->addresses));
	error = search_file(&search);
	if (error)
		inlines_free(search.result);
	else
		*inlines = search.result;
	return error;
}
