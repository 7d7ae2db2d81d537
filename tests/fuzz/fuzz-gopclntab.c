/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as Go's table of functions (.gopclntab), in an ELF file that is made around it.
 * Names must end, extents must be in order, and it must be possible to make a search table for the
 * call-frame information that is made from the table.
 */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/outside/cfi_table.h"
#include "cli/symbols/gopclntab.h"
#include "cli/symbols/symtab.h"

#define VADDR 0x400000u

static const char section_names[] = "\0.gopclntab\0.shstrtab";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Make an ELF file of a header, three section headers, their names and the table. */
static char *make_file(const uint8_t *data, size_t size, size_t *bytes)
{
	const size_t names_at = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Shdr);
	const size_t table_at = (names_at + sizeof(section_names) + 7) & ~(size_t)7;
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2};
	const Elf64_Shdr sections[3] = {[1] = {.sh_name = 1,
						.sh_type = SHT_PROGBITS,
						.sh_offset = table_at,
						.sh_size = size},
		[2] = {.sh_name = 12,
			.sh_type = SHT_STRTAB,
			.sh_offset = names_at,
			.sh_size = sizeof(section_names)}};
	char *file = calloc(1, table_at + size);

	if (!file)
		abort();
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), sections, sizeof(sections));
	memcpy(file + names_at, section_names, sizeof(section_names));
	if (size)
		memcpy(file + table_at, data, size);
	*bytes = table_at + size;
	return file;
}

static void read_functions(const struct gopclntab *table)
{
	for (uint64_t i = 0; i < table->count; i++) {
		struct gopclntab_function function;
		struct gopclntab_row row = {.bytes = -1};
		uint64_t at;

		if (gopclntab_function(table, i, &function))
			continue;
		if (function.start >= function.end || strlen(function.name) >= table->size)
			abort();
		row.end = function.start;
		at = function.row;
		while (!gopclntab_row(table, &at, &row))
			;
		if (at > table->size && at != function.row)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *frames, *copy, *file;
	uint64_t bytes, copied, header;
	struct gopclntab table;
	struct elf_file image;
	struct symtab *names;
	size_t file_bytes;

	file = make_file(data, size, &file_bytes);
	if (elf_file_init_memory(&image, file, file_bytes))
		abort();
	names = symtab_new();
	if (names && gosyms_add(names, &image) >= 0 && !symtab_finish(names))
		symtab_find(names, VADDR);
	symtab_free(names);
	if (!gopclntab_open(&table, &image))
		read_functions(&table);
	if (!go_cfi_make(&image, VADDR, &frames, &bytes)) {
		if (!cfi_table_make(frames, bytes, VADDR, &copy, &copied, &header)) {
			if (copied < bytes || header < VADDR + bytes || header >= VADDR + copied)
				abort();
			free(copy);
		}
		free(frames);
	}
	elf_file_close(&image);
	return 0;
}
