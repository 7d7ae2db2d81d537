/* SPDX-License-Identifier: MIT */
/*
 * The compressed sections of a file's DWARF, unpacked: by the libraries that know how, once for
 * each build-id where they are neither few nor many bytes, else out of the cache.
 */
#ifndef CLI_SYMBOLS_DWARF_UNPACK_H
#define CLI_SYMBOLS_DWARF_UNPACK_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/symbols/dwarf_sections.h"

/* What is kept of one file: unpacking less takes no time, and of more there are chains. */
#define DWARF_UNPACK_KEPT_MIN (1u << 20)
#define DWARF_UNPACK_KEPT_MAX (16u << 20)

/* A section as the file has it. */
struct dwarf_packed {
	Elf_Scn *section; /* NULL: it is not compressed */
	uint64_t file_offset;
	uint64_t bytes;
	bool is_old; /* ".zdebug_", which no header tells about */
};

/*
 * Give those of @sections that are in @packed, of @file (borrowed), what is in them. One that is
 * broken, or compressed in a way that nobody knows, has nothing.
 * Returns 0 or -ENOMEM.
 */
int dwarf_unpack(struct dwarf_sections *sections, const struct elf_file *file,
	const struct dwarf_packed packed[DWARF_SECTION_COUNT]);

#endif
