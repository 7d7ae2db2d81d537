/* SPDX-License-Identifier: MIT */
/* Read the records of .eh_frame in one pass, with the unwinder's code, and sort them. */
#include "cli/symbols/functions.h"

#include <stdlib.h>

#include "render/array.h"

/* The section that functions_parse() is reading: its bytes and its ELF virtual address. */
static struct {
	const char *bytes;
	uintptr_t start;
} reading;

#define UNWIND_CFI_POINTER(address) ((const void *)(reading.bytes + ((address)-reading.start)))

#include "libprof/unwind/cfi.h"

#define FUNCTIONS_MAX (8u << 20)

/* Add all FDEs of @module up to the terminator or the first broken record. Returns 0 or -ENOMEM. */
static int collect(struct functions *functions, const struct unwind_module *module)
{
	uintptr_t at = module->start;
	struct cfi_bytes record;
	uintptr_t id_address;
	uint64_t id;

	for (; !cfi_open_record(module, at, &record, &id_address, &id); at = record.end) {
		struct cfi_fde fde;

		if (!id || cfi_parse_fde(module, at, &fde) || fde.begin >= fde.end ||
			functions->count >= FUNCTIONS_MAX)
			continue;
		if (ARRAY_GROW(functions->extents, functions->count, functions->room, 1024))
			return -ENOMEM;
		functions->extents[functions->count++] =
			(struct functions_extent){fde.begin, fde.end, at};
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct functions_extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int functions_parse(
	struct functions **out, const char *frames, uint64_t bytes, uint64_t vaddr)
{
	const struct unwind_module module = {.start = vaddr, .end = vaddr + bytes};
	struct functions *functions = calloc(1, sizeof(*functions));

	if (!functions)
		return -ENOMEM;
	reading.bytes = frames;
	reading.start = vaddr;
	if (collect(functions, &module)) {
		functions_free(functions);
		return -ENOMEM;
	}
	if (functions->count)
		qsort(functions->extents, functions->count, sizeof(*functions->extents), by_start);
	*out = functions;
	return 0;
}

int functions_read(struct functions **out, const struct elf_file *file)
{
	GElf_Shdr header = {0};
	Elf_Scn *scn = elf_file_section(file, ".eh_frame", &header);
	Elf_Data *data = scn ? elf_file_data(scn, &header) : NULL;

	return functions_parse(
		out, data ? data->d_buf : NULL, data ? data->d_size : 0, header.sh_addr);
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	free(functions->extents);
	free(functions);
}

/* Return the number of functions that begin at or before @address. */
static size_t count_before(const struct functions *functions, uint64_t address)
{
	return ARRAY_UPTO(functions->extents, functions->count, start, address);
}

int functions_find(const struct functions *functions, uint64_t address, uint64_t *start)
{
	size_t before = count_before(functions, address);

	if (!before || address >= functions->extents[before - 1].end)
		return -ENOENT;
	*start = functions->extents[before - 1].start;
	return 0;
}

uint64_t functions_end(const struct functions *functions, uint64_t address)
{
	size_t before = count_before(functions, address);

	if (before && address < functions->extents[before - 1].end)
		return functions->extents[before - 1].end;
	return before < functions->count ? functions->extents[before].start : UINT64_MAX;
}
