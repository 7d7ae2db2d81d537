/* SPDX-License-Identifier: MIT */
/*
 * Names for the entries of procedure linkage tables, which no symbol table lists: the code of an
 * entry says which slot it jumps through, the relocations say which symbol fills that slot.
 */
#ifndef CLI_SYMBOLS_PLT_H
#define CLI_SYMBOLS_PLT_H

#include "cli/symbols/elfimage.h"
#include "cli/symbols/symtab.h"

/*
 * Add the entries of .plt, .plt.sec and .plt.got of @image (x86_64 or aarch64) to @table.
 * Returns how many were added, or -ENOMEM.
 */
int plt_add(struct symtab *table, const struct elfimage *image);

#endif
