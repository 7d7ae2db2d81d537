/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as an ELF file in memory: read its tables and unpack its debug data. The names and
 * functions that are found must cover the addresses asked for.
 *
 *	clang-14 -g -O1 -std=gnu11 -D_GNU_SOURCE -I. \
 *		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
 *		-o fuzz-symbols tests/fuzz/fuzz-symbols.c \
 *		cli/symbols/{demangle,elf_file,elf_symbols,functions,symtab}.c \
 *		-lelf -llzma -liberty -lz
 *	mkdir corpus && cp some-small.so corpus && ./fuzz-symbols -max_total_time=60 corpus
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/demangle.h"
#include "cli/symbols/elf_file.h"
#include "cli/symbols/elf_symbols.h"
#include "cli/symbols/functions.h"
#include "cli/symbols/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct symtab *table, uint64_t address)
{
	struct symtab_symbol *found = symtab_find(table, address);
	char *name;

	if (!found)
		return;
	if (address < found->start || address >= found->end)
		abort();
	if (!found->name)
		return;
	name = demangle_name(found->name, DEMANGLE_SHORT);
	if (name && strlen(name) > strlen(found->name) && strlen(name) > DEMANGLE_MAX_BYTES)
		abort();
	free(name);
}

static void ask_functions(const struct elf_file *image)
{
	struct functions *functions;
	uint64_t start;

	if (functions_read(&functions, image))
		abort();
	for (uint64_t address = 0; address < 0x10000; address += 16)
		if (!functions_find(functions, address, &start) &&
			(start > address || functions_end(functions, address) <= address))
			abort();
	functions_free(functions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symtab *table = symtab_new();
	struct elf_file image, mini;
	char *copy = malloc(size + 1);

	if (!table || !copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (elf_file_init_memory(&image, copy, size)) {
		free(copy);
		symtab_free(table);
		return 0;
	}

	const uint8_t *id;
	size_t bytes = elf_file_build_id(&image, &id);

	elf_file_has_build_id(&image, data, size < bytes ? size : bytes);
	elf_symbols_add(table, &image, SHT_SYMTAB);
	elf_symbols_add(table, &image, SHT_DYNSYM);
	plt_add(table, &image);
	if (!minidebug_open(&mini, &image)) {
		elf_symbols_add(table, &mini, SHT_SYMTAB);
		elf_file_close(&mini);
	}
	ask_functions(&image);
	elf_file_close(&image);
	if (!symtab_finish(table))
		for (uint64_t address = 0; address < 0x10000; address += 16)
			ask(table, address);
	symtab_free(table);
	return 0;
}
