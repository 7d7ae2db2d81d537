/* SPDX-License-Identifier: MIT */
/*
 * A profile between its bytes and the tree: what its fields say, found again by id. Private to
 * cli/formats/pprof_*.c. Everything points into the profile's bytes, which are borrowed.
 */
#ifndef CLI_FORMATS_PPROF_TABLES_H
#define CLI_FORMATS_PPROF_TABLES_H

#include <stdint.h>

#include "cli/diag.h"
#include "cli/formats/pprof.h"
#include "cli/formats/protobuf.h"
#include "cli/symbols/symbols.h"
#include "render/calltree.h"

#define PPROF_UNSET UINT32_MAX

struct pprof_type {
	uint64_t type, unit; /* numbers of texts */
};

/* The ids of locations, functions and mappings come first: one look-up serves all three. */
struct pprof_mapping {
	uint64_t id;
	uint64_t start, limit, offset;
	uint64_t file, build_id; /* numbers of texts */
	int handle;		 /* of symbols; -1: no file to ask, -2: not asked yet */
	uint64_t bias;		 /* address - ELF virtual address, once there is a handle */
	uint64_t unnamed;	 /* locations in it that could not be named */
};

struct pprof_function {
	uint64_t id;
	uint64_t name, system_name, file; /* numbers of texts */
	struct {
		const struct pprof_mapping *mapping;
		uint32_t frame; /* PPROF_UNSET: none yet */
	} last[2];		/* what it became last: [1] where it was inlined */
};

struct pprof_location {
	uint64_t id;
	uint64_t mapping; /* id, 0: none */
	uint64_t address;
	struct protobuf message;
	uint32_t first_frame; /* in tables.frames, innermost first; PPROF_UNSET: none yet */
	uint32_t frame_count;
};

struct pprof_tables {
	const uint8_t *start;	   /* of the whole profile */
	struct protobuf whole;
	const char *name;	   /* of the file, for messages */
	struct diag_message *message;
	struct pprof_type types[64];
	uint32_t type_count;
	struct pprof_type period_type;
	uint64_t period, time_ns, duration_ns, default_type;
	struct protobuf *texts;
	uint32_t text_count, text_room;
	struct pprof_mapping *mappings;
	uint32_t mapping_count, mapping_room;
	struct pprof_function *functions;
	uint32_t function_count, function_room;
	struct pprof_location *locations;
	uint32_t location_count, location_room;
	uint64_t *comments; /* numbers of texts */
	uint32_t comment_count, comment_room;
	uint32_t *frames; /* of locations that were named */
	uint32_t frame_count, frame_room;
	struct symbols *symbols; /* NULL until asked */
	void *grown;		 /* while an array is made larger */
};

/* "cannot read NAME: WHAT at byte N": @at is where the message or field in question begins. */
int pprof_damaged(const struct pprof_tables *tables, const uint8_t *at, const char *what);

/*
 * Make room for one more item behind the @count that @array (from malloc) has.
 * Returns the array, moved maybe, or NULL with it as it was: see pprof_grow_error().
 */
void *pprof_grow(void *array, uint32_t count, uint32_t *room, size_t item_bytes);

/* Why there was no room for item number @count: -E2BIG, PPROF_ITEMS_MAX are enough, or -ENOMEM. */
static inline int pprof_grow_error(uint32_t count)
{
	return count >= PPROF_ITEMS_MAX ? -E2BIG : -ENOMEM;
}

/*
 * Read everything but the samples. @tables has whole, name and message set, else zero.
 * Returns 0, or -errno with the message filled; pprof_tables_release() in both cases.
 */
int pprof_tables_read(struct pprof_tables *tables);
void pprof_tables_release(struct pprof_tables *tables);

/* Copy text number @text, cut to @room and at a NUL. Returns @out, "" for a number that is none. */
const char *pprof_text(const struct pprof_tables *tables, uint64_t text, char *out, size_t room);

/* By id; NULL when there is none. */
struct pprof_mapping *pprof_mapping(const struct pprof_tables *tables, uint64_t id);
struct pprof_function *pprof_function(const struct pprof_tables *tables, uint64_t id);
struct pprof_location *pprof_location(const struct pprof_tables *tables, uint64_t id);

/*
 * Turn @location into frames of @tree, once: location->first_frame and frame_count are set.
 * Returns 0, or -errno with the message filled.
 */
int pprof_name(struct pprof_tables *tables, struct pprof_location *location,
	struct calltree *tree);

/*
 * Fill @facts, whose unit is known already, from the tables: @weight is that of all samples of
 * sample type number @type. Returns 0, or -ENOMEM with the message filled.
 */
int pprof_facts_fill(struct pprof_facts *facts, const struct pprof_tables *tables, uint32_t type,
	uint64_t weight);

/* Say of which files names are missing, if any. */
void pprof_report_unnamed(const struct pprof_tables *tables);

#endif
