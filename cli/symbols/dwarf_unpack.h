/* SPDX-License-Identifier: MIT */
/*
 * The compressed sections of a file's DWARF, unpacked by the libraries that know how.
 */
#ifndef CLI_SYMBOLS_DWARF_UNPACK_H
#define CLI_SYMBOLS_DWARF_UNPACK_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/symbols/dwarf_sections.h"

/*
 * Unpack @packed, of at most ELF_FILE_SECTION_MAX bytes, into @section, which owns what comes out:
 * @bytes_max at most. One that is broken, larger, or compressed in another way is left empty.
 * @is_old: it is a ".zdebug_", about which no header tells.
 * Returns 0 or -ENOMEM.
 */
int dwarf_unpack(struct dwarf_section *section, Elf_Scn *packed, bool is_old, uint64_t bytes_max);

#endif
