/* SPDX-License-Identifier: MIT */
/*
 * One pass over the records, by the unwinder's own reader, then a sort. Source of the layout: LSB
 * Core, "The .eh_frame_hdr section".
 */
#include "cli/outside/cfi_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The copy that is being read, and where it belongs. */
static struct {
	const char *copy;
	uintptr_t start;
} reading;

#define UNWIND_CFI_POINTER(address) ((const void *)(reading.copy + ((address) - reading.start)))

#include "libprof/unwind/cfi.h"

#define HEADER_BYTES 12u
#define ENTRY_BYTES  8u

struct entry {
	uintptr_t begin, record;
};

struct list {
	struct entry *entry;
	uint64_t count, room;
};

static int add(struct list *list, const struct entry *entry)
{
	if (list->count == list->room) {
		uint64_t room = list->room ? list->room * 2 : 1024;
		struct entry *more = realloc(list->entry, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->entry = more;
		list->room = room;
	}
	list->entry[list->count++] = *entry;
	return 0;
}

/* All FDEs of [module->start, module->end), up to the terminator or the first that is broken. */
static int collect(const struct unwind_module *module, struct list *list)
{
	uintptr_t at = module->start;
	int error = 0;

	while (!error) {
		struct cfi_bytes record;
		struct cfi_fde fde;
		uintptr_t id_address;
		uint64_t id;

		if (cfi_open_record(module, at, &record, &id_address, &id))
			break;
		if (id && !cfi_parse_fde(module, at, &fde) && fde.begin < fde.end) {
			const struct entry entry = {fde.begin, at};

			error = add(list, &entry);
		}
		at = record.end;
	}
	return error;
}

static int by_begin(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void put(char *to, uint64_t value)
{
	uint32_t word = (uint32_t)value;

	memcpy(to, &word, sizeof(word));
}

/* Offsets are of 32 bits: what is further away than that is left out by whoever made the entry. */
static void lay_out(char *to, uintptr_t frames, uintptr_t header, const struct list *list)
{
	const char kinds[] = {1, CFI_PTR_PCREL | CFI_PTR_SDATA4, CFI_PTR_UDATA4,
		CFI_PTR_DATAREL | CFI_PTR_SDATA4};

	/* version and encodings; where .eh_frame is; count; table */
	memcpy(to, kinds, sizeof(kinds));
	put(to + 4, frames - (header + 4));
	put(to + 8, list->count);
	to += HEADER_BYTES;
	for (uint64_t i = 0; i < list->count; i++, to += ENTRY_BYTES) {
		put(to, list->entry[i].begin - header);
		put(to + 4, list->entry[i].record - header);
	}
}

int cfi_table_make(const char *frames, uint64_t bytes, uint64_t vaddr, char **copy,
	uint64_t *copy_bytes, uint64_t *header)
{
	const struct unwind_module module = {.start = vaddr, .end = vaddr + bytes};
	struct list list = {0};
	uint64_t rounded = (bytes + 7) & ~7ULL;
	char *made;
	int error;

	reading.copy = frames;
	reading.start = vaddr;
	error = collect(&module, &list);
	if (!error && !list.count)
		error = -ENOENT;
	if (error)
		goto out;
	qsort(list.entry, list.count, sizeof(*list.entry), by_begin);
	*copy_bytes = rounded + HEADER_BYTES + list.count * ENTRY_BYTES;
	made = calloc(1, *copy_bytes);
	error = made ? 0 : -ENOMEM;
	if (error)
		goto out;
	memcpy(made, frames, bytes);
	lay_out(made + rounded, vaddr, vaddr + rounded, &list);
	*copy = made;
	*header = vaddr + rounded;
out:
	free(list.entry);
	return error;
}
