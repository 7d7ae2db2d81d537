/* SPDX-License-Identifier: MIT */
/*
 * Read the names of one module: find the file that ran, then read its symbol tables, its debug
 * file, its compressed symbols and its PLT, in the order that module.c defines.
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
 * Return whether the file that is now at the path of @module (borrowed; it has no build-id) was
 * replaced or written to after @module->seen_ns. If so, it is not the file that ran.
 */
bool module_is_changed(const struct symbols_module *module);

/*
 * Find and open the file from which the code of @module (borrowed) ran, which may no longer be at
 * its path. Returns an owned descriptor or -errno.
 */
int module_open_file(const struct symbols_module *module);

/*
 * Read the names of @module (borrowed). The table is empty if the file is missing, broken, or not
 * the one that ran. Returns 0 with an owned, finished table and the origin of the names (the caller
 * owns its path); or -ENOMEM.
 */
int module_read(const struct symbols_module *module, struct symtab **table,
	struct symbols_origin *origin);

/*
 * Read the extents of the functions of @module (borrowed) from the file that ran.
 * Returns 0 with an owned object; -ENOENT if the file cannot be opened; or -ENOMEM.
 */
int module_read_functions(const struct symbols_module *module, struct functions **functions);

/*
 * Find which system call each of the @count @calls (borrowed) makes, from the code in the file of
 * @module (borrowed). Sets `number` to -1 if the file cannot be opened.
 */
void module_system_calls(
	const struct symbols_module *module, struct call_number *calls, size_t count);

/*
 * Open the file with the DWARF of @module (borrowed): the module's own file or its debug file.
 * Returns 0 and @file, which the caller closes; or -ENOENT.
 */
int module_open_dwarf(const struct symbols_module *module, struct elf_file *file);

/*
 * Set *@address to the ELF virtual address at which the byte at @offset of @module's file
 * (borrowed) is loaded. Returns 0, or -ENOENT if the file cannot be opened or no segment contains
 * the byte.
 */
int module_offset_address(const struct symbols_module *module, uint64_t offset, uint64_t *address);

/*
 * Set *@segment to the segment of @module's file (borrowed) that contains the code at ELF virtual
 * address @address. Returns 0, -ENOENT if the file cannot be opened, or -EINVAL if no segment does.
 */
int module_segment(
	const struct symbols_module *module, uint64_t address, struct symbols_segment *segment);

#endif
