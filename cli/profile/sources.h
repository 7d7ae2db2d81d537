/* SPDX-License-Identifier: MIT */
/*
 * Where the names of a run came from: a row for each file, or whatever else has code, that samples
 * are in.
 *
 * Context: one thread.
 */
#ifndef CLI_PROFILE_SOURCES_H
#define CLI_PROFILE_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/symbols/debuginfod.h"
#include "cli/symbols/symbols.h"

/* Samples whose innermost frame is in one place. */
struct sources_share {
	uint64_t weight;
	uint64_t named; /* of these, with a name */
};

struct sources_row {
	char *name;   /* of the file, or in words */
	char *origin; /* what its names are from, in words */
	struct sources_share share;
};

/* Zero-initialise. */
struct sources {
	struct sources_row *rows;
	size_t count, room;
};

/*
 * Add what symbol tables named, or should have, of the file that pictures call @name. Nothing for
 * a share without weight; without memory neither.
 */
void sources_add_module(struct sources *sources, const char *name,
	const struct symbols_origin *origin, const struct sources_share *share);

/* The same of code in no file, which @pid made; @map is the file that has its names, "": none. */
void sources_add_generated(
	struct sources *sources, uint32_t pid, const char *map, const struct sources_share *share);

/* The same of code that programs told of. */
void sources_add_told(struct sources *sources, const struct sources_share *share);

/* Say all that for who wants to know, with -v: the most samples first, and not without end. */
void sources_print(const struct sources *sources);

/* Say what became of asking servers for symbols. */
void sources_print_fetched(const struct debuginfod_report *fetched);

void sources_release(struct sources *sources);

#endif
