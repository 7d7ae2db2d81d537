/* SPDX-License-Identifier: MIT */
/* Report which files named the functions of a run: one row per module, or other kind of code. */
#ifndef CLI_PROFILE_SOURCES_H
#define CLI_PROFILE_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/debuginfod.h"
#include "cli/symbols/symbols.h"

/* Weight of samples whose innermost frame is in one file or kind of code. */
struct sources_share {
	uint64_t weight;
	uint64_t named; /* part of `weight` with a name */
};

struct sources_row {
	char *name;   /* file, or a description */
	char *origin; /* where its names are from, in words */
	struct sources_share share;
};

/* Zero-initialise. */
struct sources {
	struct sources_row *rows;
	size_t count, room;
};

/* Add a row for the file called @name in pictures, unless it has no weight or memory is short. */
void sources_add_module(struct sources *sources, const char *name,
	const struct symbols_origin *origin, const struct sources_share *share);

/* Add a row for code that @pid generated at run time. @map: the file with its names, or "". */
void sources_add_generated(
	struct sources *sources, uint32_t pid, const char *map, const struct sources_share *share);

/* Add a row for functions that programs themselves reported through flameprof_stub.h. */
void sources_add_reported(struct sources *sources, const struct sources_share *share);

/* With -v, print the rows, those with the most samples first. The number of rows is limited. */
void sources_print(const struct sources *sources);

/* Print the results of debuginfod requests. */
void sources_print_fetched(const struct debuginfod_report *fetched);

void sources_release(struct sources *sources);

#endif
