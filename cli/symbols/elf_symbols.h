/* SPDX-License-Identifier: MIT */
/*
 * From an ELF file to a symtab: which symbols are functions, what they are worth, where their
 * section ends; and the entries of procedure linkage tables, which no symbol table lists. No policy
 * about which file to read.
 */
#ifndef CLI_SYMBOLS_ELF_SYMBOLS_H
#define CLI_SYMBOLS_ELF_SYMBOLS_H

#include "cli/symbols/elf_file.h"
#include "cli/symbols/symtab.h"

/*
 * Add the functions of @file's section of type @type (SHT_SYMTAB or SHT_DYNSYM) to @table, which
 * keeps its own copy of the names. Symbols of sections that hold no code are left out, and so are
 * marks of the assembler that are no names ($x, $d, .L).
 * Returns how many were added (0: no such section, or a broken one), or -ENOMEM.
 */
int elf_symbols_add(struct symtab *table, const struct elf_file *file, GElf_Word type);

/*
 * Add the entries of .plt, .plt.sec and .plt.got of @file (x86_64 or aarch64) to @table.
 * Returns 0 or -ENOMEM.
 */
int plt_add(struct symtab *table, const struct elf_file *file);

#endif
