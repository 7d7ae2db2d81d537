/* SPDX-License-Identifier: MIT */
/*
 * Make the inline chains of given addresses in one DWARF unit, from the unit's functions, inlined
 * calls, lines and names. They are in the program's file or in the unit's .dwo.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_UNIT_CHAINS_H
#define CLI_SYMBOLS_UNIT_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/dwarf_containers.h"
#include "cli/symbols/dwarf_lines.h"
#include "cli/symbols/dwarf_unit.h"
#include "cli/symbols/inlines.h"
#include "cli/symbols/instances.h"
#include "cli/symbols/text_pool.h"

struct unit_chains {
	/* borrowed; has the program's file, from which .dwo files are found */
	const struct inlines_request *request;
	struct dwarf_reader *reader; /* borrowed; reads the file of @request */
	struct text_pool *pool;	     /* borrowed; memory for the result */
	struct dwarf_lines lines;
	struct dwarf_line *found; /* owned; lines of the addresses */
	struct instances instances;
	struct dwarf_containers containers;
	/* owned array: path of each file of the line program; NULL: not read yet */
	const char **paths;
	uint32_t path_room;
	struct elf_file package_file; /* the .dwp, valid if @has_package */
	struct dwarf_sections package;
	bool has_package, is_package_tried;
};

/*
 * Initialise for up to @addresses_max addresses per call of unit_chains_read().
 * Returns 0 or -ENOMEM; call unit_chains_release() in any case.
 */
int unit_chains_init(struct unit_chains *chains, const struct inlines_request *request,
	struct dwarf_reader *reader, struct text_pool *pool, size_t addresses_max);
void unit_chains_release(struct unit_chains *chains);

/*
 * Set @out[i] for each of the @count sorted @addresses (borrowed) that @unit describes. Other
 * elements of @out are not changed. Returns 0 or -ENOMEM.
 */
int unit_chains_read(struct unit_chains *chains, const struct dwarf_unit *unit,
	const uint64_t *addresses, size_t count, struct inlines_chain *out);

#endif
