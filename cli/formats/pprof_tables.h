/* SPDX-License-Identifier: MIT */
/*
 * A profile between its bytes and the tree: what its fields say, found again by id. Private to
 * cli/formats/pprof_*.c. Messages point into the profile's bytes, which are borrowed.
 */
#ifndef CLI_FORMATS_PPROF_TABLES_H
#define CLI_FORMATS_PPROF_TABLES_H

#include <stdint.h>

#include "cli/diag.h"
#include "cli/formats/pprof.h"
#include "cli/symbols/symbols.h"
#include "libprof/pprof/protobuf.h"
#include "render/bytes.h"
#include "render/calltree.h"

#define PPROF_UNSET	UINT32_MAX
#define PPROF_NOT_ASKED (-2)

struct pprof_type {
	uint64_t type, unit; /* numbers of texts */
};

/* The ids of locations, functions and mappings come first: one look-up serves all three. */
struct pprof_mapping {
	uint64_t id;
	uint64_t start, limit, offset;
	uint64_t file, build_id; /* numbers of texts */
	int handle;		 /* of symbols; -1: no file to ask; PPROF_NOT_ASKED */
	bool is_resolved;	 /* what its file says of all addresses is known */
	uint64_t bias;		 /* address - ELF virtual address, once that is so */
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

/* Items in the order of their ids if they have any. */
struct pprof_table {
	void *items;
	uint32_t count, room;
};

struct pprof_tables {
	const uint8_t *start;	   /* of the whole profile */
	struct protobuf whole;
	const char *name;	   /* of the file, for messages */
	const struct input_request *request; /* borrowed */
	struct diag_message *message;
	struct pprof_type types[PPROF_TYPES_MAX];
	uint32_t type_count;
	struct pprof_type period_type;
	uint64_t period, time_ns, duration_ns, default_type;
	struct bytes text_bytes;  /* each text with a NUL behind it */
	struct pprof_table texts; /* uint32_t by number: offset in text_bytes */
	struct pprof_table mappings, functions, locations;
	struct pprof_table comments; /* uint64_t, numbers of texts */
	struct pprof_table frames;   /* uint32_t, of locations that were named */
	struct symbols *symbols;     /* NULL until asked */
};

/* "cannot read NAME: WHAT at byte N": @at is where the message or field in question begins. */
int pprof_damaged(const struct pprof_tables *tables, const uint8_t *at, const char *what);

/*
 * Append *@item, of @bytes bytes, to @table. Returns 0, or -E2BIG, -ENOMEM with the message filled.
 */
int pprof_append(
	struct pprof_tables *tables, struct pprof_table *table, const void *item, size_t bytes);

/*
 * Read everything but the samples. @tables has whole, name, request and message set, else zero.
 * Returns 0, or -errno with the message filled; pprof_tables_release() in both cases.
 */
int pprof_tables_read(struct pprof_tables *tables);
void pprof_tables_release(struct pprof_tables *tables);

/* Text number @text, of less than PPROF_NAME_BYTES; "" for a number that is none. */
static inline const char *pprof_text(const struct pprof_tables *tables, uint64_t text)
{
	return text < tables->texts.count
		? (const char *)tables->text_bytes.data +
			((const uint32_t *)tables->texts.items)[text]
		: "";
}

/* By id, NULL when there is none. @bytes: of one item. */
void *pprof_find(const struct pprof_table *table, size_t bytes, uint64_t id);

static inline struct pprof_mapping *pprof_mapping(const struct pprof_tables *tables, uint64_t id)
{
	return pprof_find(&tables->mappings, sizeof(struct pprof_mapping), id);
}

static inline struct pprof_function *pprof_function(const struct pprof_tables *tables, uint64_t id)
{
	return pprof_find(&tables->functions, sizeof(struct pprof_function), id);
}

static inline struct pprof_location *pprof_location(const struct pprof_tables *tables, uint64_t id)
{
	return pprof_find(&tables->locations, sizeof(struct pprof_location), id);
}

/* By place, less than mappings.count. */
static inline struct pprof_mapping *pprof_mapping_at(
	const struct pprof_tables *tables, uint32_t index)
{
	return (struct pprof_mapping *)tables->mappings.items + index;
}

/*
 * Ask debuginfod servers for what is not here of the files whose addresses the profile does not
 * name, and say what became of it. Before pprof_name().
 */
void pprof_fetch(struct pprof_tables *tables);

/*
 * Turn @location into frames of @tree, once: location->first_frame and frame_count are set.
 * Returns 0, or -errno with the message filled.
 */
int pprof_name(struct pprof_tables *tables, struct pprof_location *location,
	struct calltree *tree);

/* Say of which files names are missing, if any. */
void pprof_report_unnamed(const struct pprof_tables *tables);

#endif
