/* SPDX-License-Identifier: MIT */
/*
 * From an ELF symbol section to a symtab: which symbols are functions, what they are worth, where
 * their section ends. No policy about which file to read.
 */
#ifndef CLI_SYMBOLS_ELFSYMS_H
#define CLI_SYMBOLS_ELFSYMS_H

#include "cli/symbols/elfimage.h"
#include "cli/symbols/symtab.h"

/*
 * Add the functions of @image's section of type @type (SHT_SYMTAB or SHT_DYNSYM) to @table, which
 * keeps its own copy of the names. Symbols of sections that hold no code are left out, and so are
 * marks of the assembler that are no names ($x, $d, .L).
 * Returns how many were added (0: no such section, or a broken one), or -ENOMEM.
 */
int elfsyms_add(struct symtab *table, const struct elfimage *image, GElf_Word type);

#endif
