/* SPDX-License-Identifier: MIT */
/* Report where the names of a run came from: one row per file, or other kind of code. */
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

/* Add a row for the file called @name in pictures; none without weight or if out of memory. */
void sources_add_module(struct sources *sources, const char *name,
	const struct symbols_origin *origin, const struct sources_share *share);

/* Add the row of code in no file that @pid generated; @map is the file with its names, or "". */
void sources_add_generated(
	struct sources *sources, uint32_t pid, const char *map, const struct sources_share *share);

/* Add the row of functions that programs reported by flameprof_stub.h. */
void sources_add_reported(struct sources *sources, const struct sources_share *share);

/* Print the rows with -v: those with the most samples first, with an upper limit. */
void sources_print(const struct sources *sources);

/* Print the results of debuginfod requests. */
void sources_print_fetched(const struct debuginfod_report *fetched);

void sources_release(struct sources *sources);

#endif
