/* SPDX-License-Identifier: MIT */
/*
 * A .dwp, in which the .dwo files of a program are put together: its index says which part of each
 * section is whose.
 *
 * Source: DWARF Debugging Information Format 5, section 7.3.5; before, GCC's "DebugFissionDWP".
 */
#ifndef CLI_SYMBOLS_DWARF_PACKAGE_H
#define CLI_SYMBOLS_DWARF_PACKAGE_H

#include <stdint.h>

#include "cli/symbols/dwarf_sections.h"

/*
 * Find the unit @split_id in @package. @part is then what a .dwo of that unit alone would have; it
 * borrows from @package and is not to be released.
 * Returns 0, -ENOENT when there is none, -EBADMSG, or -ENOMEM.
 */
int dwarf_package_find(
	struct dwarf_sections *package, uint64_t split_id, struct dwarf_sections *part);

#endif
