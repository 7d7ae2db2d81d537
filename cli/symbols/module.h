/* SPDX-License-Identifier: MIT */
/*
 * One module's names gathered from wherever they are: which file is the one that ran, and which of
 * its own tables, its debug file, its compressed symbols and its PLT are read, in which order.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_MODULE_H
#define CLI_SYMBOLS_MODULE_H

#include <stdbool.h>

#include "cli/symbols/elf_file.h"
#include "cli/symbols/functions.h"
#include "cli/symbols/symbols.h"
#include "cli/symbols/symtab.h"

/*
 * Is what is now at the path of @module (borrowed), which has no build-id, another file than ran,
 * or the same written to since? True when it changed after @module->seen_ns.
 */
bool module_is_changed(const struct symbols_module *module);

/* Open the file of @module (borrowed) that ran. Returns a descriptor, owned, or -errno. */
int module_open_file(const struct symbols_module *module);

/*
 * Read the names of @module (borrowed). A file that is missing, broken, or not the one that ran
 * gives an empty table.
 * Returns 0 with an owned, finished table and where it came from, the path owned; or -ENOMEM.
 */
int module_read(const struct symbols_module *module, struct symtab **table,
	struct symbols_origin *origin);

/*
 * Read where the functions of @module (borrowed) lie, from the file that ran.
 * Returns 0 with an owned object; -ENOENT when the file can't be had; or -ENOMEM.
 */
int module_read_functions(const struct symbols_module *module, struct functions **functions);

/*
 * Find out which system calls the @count @calls (borrowed) make, by the file of @module (borrowed).
 * Their number is -1 when the file can't be had.
 */
void module_system_calls(
	const struct symbols_module *module, struct call_number *calls, size_t count);

/*
 * Open the file that has the DWARF of @module (borrowed): its own, or its debug file.
 * Returns 0 and @file, to be closed by the caller; or -ENOENT.
 */
int module_open_dwarf(const struct symbols_module *module, struct elf_file *file);

/*
 * Where the byte at @offset of @module's file (borrowed) lies when it is loaded.
 * Returns 0 and its ELF virtual address; or -ENOENT when the file can't be had or does not load it.
 */
int module_offset_address(const struct symbols_module *module, uint64_t offset, uint64_t *address);

#endif
