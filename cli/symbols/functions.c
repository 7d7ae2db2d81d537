/* SPDX-License-Identifier: MIT */
/*
 * libdw walks the entries of .eh_frame; the start address in each is decoded here, by the encoding
 * its CIE names.
 */
#include "cli/symbols/functions.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "render/array.h"

#define FUNCTIONS_MAX (8u << 20)

/* Bytes of a pointer by the low bits of its encoding; 0: of no fixed size, not used here. */
static const uint8_t encoded_bytes[8] = {
	[DW_EH_PE_absptr] = 8, [DW_EH_PE_udata2] = 2, [DW_EH_PE_udata4] = 4, [DW_EH_PE_udata8] = 8};

struct extent {
	uint64_t start;
	uint64_t end;
};

struct functions {
	struct extent *extents; /* sorted by start */
	size_t count;
	size_t room;
};

struct section {
	const uint8_t *bytes;
	uint64_t address;
	Elf_Data *data;
	const unsigned char *e_ident;
	/* The CIE asked for last: neighbours share one. */
	Dwarf_Off cie;
	uint8_t encoding;
};

/* The pointer encoding that CIE @cie gives its FDEs: 'R' of the augmentation. */
static uint8_t cie_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	const uint8_t *end = data + cie->augmentation_data_size;

	if (cie->augmentation[0] != 'z')
		return DW_EH_PE_absptr;
	for (const char *letter = cie->augmentation + 1; *letter && data < end; letter++) {
		uint8_t encoding = *data;

		if (*letter == 'R')
			return encoding;
		if (*letter == 'L') {
			data++;
		} else if (*letter == 'P') {
			if (!encoded_bytes[encoding & 7])
				return DW_EH_PE_omit;
			data += 1 + encoded_bytes[encoding & 7];
		}
	}
	return DW_EH_PE_absptr;
}

static int encoding_of(struct section *section, Dwarf_Off cie, uint8_t *encoding)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;

	if (section->cie != cie) {
		if (dwarf_next_cfi(section->e_ident, section->data, true, cie, &next, &entry) ||
			entry.CIE_id != DW_CIE_ID_64)
			return -ENOEXEC;
		section->encoding = cie_encoding(&entry.cie);
		section->cie = cie;
	}
	*encoding = section->encoding;
	return 0;
}

/* Read a little-endian number of @encoding's format at @at, which has @room bytes. */
static int read_encoded(uint8_t encoding, const uint8_t *at, size_t room, uint64_t *value,
	size_t *taken)
{
	size_t size = encoded_bytes[encoding & 7];
	uint64_t raw = 0;

	if (!size || size > room)
		return -ENOEXEC;
	memcpy(&raw, at, size);
	if (encoding & DW_EH_PE_signed && size < 8 && raw >> (size * 8 - 1))
		raw |= ~0ULL << (size * 8);
	*value = raw;
	*taken = size;
	return 0;
}

static int add_extent(struct functions *functions, uint64_t start, uint64_t end)
{
	if (end <= start || functions->count >= FUNCTIONS_MAX)
		return 0;
	if (ARRAY_GROW(functions->extents, functions->count, functions->room, 1024))
		return -ENOMEM;
	functions->extents[functions->count++] = (struct extent){start, end};
	return 0;
}

static int add_fde(struct functions *functions, struct section *section, const Dwarf_FDE *fde)
{
	const uint8_t *at = fde->start;
	size_t room = at < fde->end ? (size_t)(fde->end - at) : 0;
	uint64_t start, bytes;
	uint8_t encoding;
	size_t taken;

	if (encoding_of(section, fde->CIE_pointer, &encoding) ||
		read_encoded(encoding, at, room, &start, &taken))
		return 0;
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		start += section->address + (uint64_t)(at - section->bytes);
	else if (encoding & 0x70)
		return 0;
	if (read_encoded(encoding & 0x07, at + taken, room - taken, &bytes, &taken))
		return 0;
	return add_extent(functions, start, start + bytes);
}

static int by_start(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_section(struct functions *functions, struct section *section)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off offset = 0, next;
	int error = 0;

	while (!error && dwarf_next_cfi(section->e_ident, section->data, true, offset, &next,
				 &entry) == 0) {
		if (next <= offset)
			break;
		if (entry.CIE_id != DW_CIE_ID_64)
			error = add_fde(functions, section, &entry.fde);
		offset = next;
	}
	if (functions->count)
		qsort(functions->extents, functions->count, sizeof(*functions->extents), by_start);
	return error;
}

int functions_read(struct functions **out, const struct elf_file *file)
{
	struct functions *functions = calloc(1, sizeof(*functions));
	GElf_Shdr header;
	Elf_Scn *scn = elf_file_section(file, ".eh_frame", &header);
	Elf_Data *data = scn ? elf_file_data(scn, &header) : NULL;
	int error = 0;

	if (!functions)
		return -ENOMEM;
	if (data && data->d_buf) {
		struct section section = {
			.bytes = data->d_buf,
			.address = header.sh_addr,
			.data = data,
			.e_ident = (const unsigned char *)elf_getident(file->elf, NULL),
			.cie = ~(Dwarf_Off)0,
		};

		error = read_section(functions, &section);
	}
	if (error) {
		functions_free(functions);
		return error;
	}
	*out = functions;
	return 0;
}

void functions_free(struct functions *functions)
{
	if (!functions)
		return;
	free(functions->extents);
	free(functions);
}

/* How many begin at @address or before. */
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
