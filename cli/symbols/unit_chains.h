/* SPDX-License-Identifier: MIT */
/*
 * The chains of some addresses of one unit: instances of functions, lines and names brought
 * together, out of the file itself or the .dwo that the unit is in.
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
	const struct inlines_request *request; /* borrowed: whose .dwo files are looked for */
	struct dwarf_reader *reader;	       /* borrowed: of its file */
	struct text_pool *pool;		       /* borrowed: of what is found */
	struct dwarf_lines lines;
	struct dwarf_line *found; /* owned; line by address */
	struct instances instances;
	struct dwarf_containers containers;
	const char **paths; /* owned; by file of the line program, NULL until asked for */
	uint32_t path_room;
	struct elf_file package_file; /* the .dwp, where @has_package */
	struct dwarf_sections package;
	bool has_package, is_package_tried;
};

/*
 * For up to @addresses_max addresses of a unit.
 * Returns 0 or -ENOMEM; unit_chains_release() in any case.
 */
int unit_chains_init(struct unit_chains *chains, const struct inlines_request *request,
	struct dwarf_reader *reader, struct text_pool *pool, size_t addresses_max);
void unit_chains_release(struct unit_chains *chains);

/*
 * Set @out[i] for each of the @count sorted @addresses that @unit knows; the others are left as
 * they are.
 * Returns 0 or -ENOMEM.
 */
int unit_chains_read(struct unit_chains *chains, const struct dwarf_unit *unit,
	const uint64_t *addresses, size_t count, struct inlines_chain *out);

#endif
