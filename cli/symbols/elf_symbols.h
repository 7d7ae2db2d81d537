/* SPDX-License-Identifier: MIT */
/*
 * Add the functions of one ELF file to a symtab: the function symbols of its symbol tables, and the
 * entries of its procedure linkage tables (PLT), which no symbol table lists. module.c decides
 * which file to read.
 */
#ifndef CLI_SYMBOLS_ELF_SYMBOLS_H
#define CLI_SYMBOLS_ELF_SYMBOLS_H

#include "cli/symbols/elf_file.h"
#include "cli/symbols/symtab.h"

/*
 * Add the functions of @file's section of type @type (SHT_SYMTAB or SHT_DYNSYM) to @table, which
 * keeps its own copy of the names. Symbols outside of code sections and the assembler's marks ($x,
 * $d, .L) are left out.
 * Returns the number of symbols added, 0 if the section is missing or broken; or -ENOMEM.
 */
int elf_symbols_add(struct symtab *table, const struct elf_file *file, GElf_Word type);

/*
 * Add the entries of .plt, .plt.sec and .plt.got of @file (x86_64 or aarch64) to @table.
 * Returns 0 or -ENOMEM.
 */
int plt_add(struct symtab *table, const struct elf_file *file);

#endif
