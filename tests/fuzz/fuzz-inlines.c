/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as an ELF file in memory. Whatever its DWARF says, finding the inlined functions
 * of an address must take bounded time and memory, and a chain that is found can be read. `make
 * fuzz` begins with small files of all DWARF versions.
 *
 *	clang-14 -g -O1 -std=gnu11 -D_GNU_SOURCE -I. \
 *		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
 *		-o fuzz-inlines tests/fuzz/fuzz-inlines.c \
 *		cli/symbols/{demangle,dwarf_*,elf_file,inlines,instances,text_pool}.c \
 *		cli/symbols/unit_chains.c -lelf -liberty -llzma -lz -lpthread
 *	./fuzz-inlines -max_total_time=60 corpus
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbols/inlines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses at which the small files have code. */
#define ADDRESSES 128u
#define STEP	  2u
#define START	  0x200u

static void check(const struct inlines_chain *chain)
{
	volatile size_t bytes = 0;

	if (!chain->frames != !chain->count)
		abort();
	for (uint32_t i = 0; i < chain->count; i++)
		bytes += strlen(chain->frames[i].name) + strlen(chain->frames[i].file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inlines_request request = {.count = ADDRESSES};
	uint64_t addresses[ADDRESSES];
	struct inlines *inlines;
	struct elf_file file;
	char *copy = malloc(size + 1);

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (elf_file_init_memory(&file, copy, size)) {
		free(copy);
		return 0;
	}
	for (size_t i = 0; i < ADDRESSES; i++)
		addresses[i] = START + i * STEP;
	request.file = &file;
	request.addresses = addresses;
	if (!inlines_read(&request, &inlines)) {
		for (size_t i = 0; i < ADDRESSES; i++)
			check(&inlines->chains[i]);
		inlines_free(inlines);
	}
	elf_file_close(&file);
	return 0;
}
