/* SPDX-License-Identifier: MIT */
/*
 * From Go's table of functions to a symtab.
 */
#ifndef CLI_SYMBOLS_GOSYMS_H
#define CLI_SYMBOLS_GOSYMS_H

#include "cli/symbols/elfimage.h"
#include "cli/symbols/symtab.h"

/*
 * Add the functions that @image's Go table (gopclntab.h) knows to @table, which keeps its own copy
 * of the names. Returns how many were added (0: no such table, or a broken one), or -ENOMEM.
 */
int gosyms_add(struct symtab *table, const struct elfimage *image);

#endif
