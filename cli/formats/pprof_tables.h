/* SPDX-License-Identifier: MIT */
/*
 * Tables of a pprof profile's messages, with lookup by id. Private to cli/formats/pprof_*.c.
 * Messages point into the profile's bytes, which are borrowed.
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
	uint64_t type, unit; /* indices of texts */
};

/* `id` must be the first field of mapping, function and location: pprof_find() compares it. */
struct pprof_mapping {
	uint64_t id;
	uint64_t start, limit, offset;
	uint64_t file, build_id; /* indices of texts */
	/* handle in tables.symbols; -1: there is no file with symbols; or PPROF_NOT_ASKED */
	int handle;
	/* open_mapping() was called, so @bias is set */
	bool is_resolved;
	uint64_t bias;	  /* address - ELF virtual address */
	uint64_t unnamed; /* locations that could not be named */
};

struct pprof_function {
	uint64_t id;
	uint64_t name, system_name, file; /* indices of texts */
	uint64_t start_line;
	struct {
		const struct pprof_mapping *mapping;
		uint32_t frame; /* PPROF_UNSET: none yet */
	} last[2];		/* last frame; [1]: inlined */
};

struct pprof_location {
	uint64_t id;
	uint64_t mapping; /* id; 0: none */
	uint64_t address;
	struct protobuf message;
	/* index of the innermost frame in tables.frames; PPROF_UNSET: not named yet */
	uint32_t first_frame;
	uint32_t frame_count;
};

/* A growing array; items with ids are sorted by id. */
struct pprof_table {
	void *items;
	uint32_t count, room;
};

struct pprof_tables {
	const uint8_t *start; /* of the whole profile */
	struct protobuf whole;
	const char *name;		     /* of the file, for messages */
	const struct input_request *request; /* borrowed */
	struct diag_message *message;
	struct pprof_type types[PPROF_TYPES_MAX];
	uint32_t type_count;
	struct pprof_type period_type;
	uint64_t period, time_ns, duration_ns, default_type;
	struct bytes text_bytes;  /* texts, each with a NUL */
	struct pprof_table texts; /* uint32_t: offset in text_bytes */
	struct pprof_table mappings, functions, locations;
	struct pprof_table comments; /* uint64_t: index of a text */
	/* items are uint32_t: frame numbers of the tree, for all locations named so far */
	struct pprof_table frames;
	struct symbols *symbols; /* NULL until a name is looked up */
};

/* Fill the message "cannot read NAME: WHAT at byte N" for the offset of @at. Returns -EBADMSG. */
int pprof_damaged(const struct pprof_tables *tables, const uint8_t *at, const char *what);

/* Append *@item (@bytes long). Returns 0, or -E2BIG or -ENOMEM with the message filled. */
int pprof_append(
	struct pprof_tables *tables, struct pprof_table *table, const void *item, size_t bytes);

/*
 * Read everything except the samples. The caller sets whole, name, request and message and sets all
 * other fields to 0. Returns 0, or -errno with the message filled. Call pprof_tables_release() in
 * both cases.
 */
int pprof_tables_read(struct pprof_tables *tables);
void pprof_tables_release(struct pprof_tables *tables);

/* Returns text number @text, shorter than PPROF_NAME_BYTES, or "" if there is none. */
static inline const char *pprof_text(const struct pprof_tables *tables, uint64_t text)
{
	return text < tables->texts.count
		? (const char *)tables->text_bytes.data +
			((const uint32_t *)tables->texts.items)[text]
		: "";
}

/* Find the item with @id in a table of items of @bytes each. Returns NULL if there is none. */
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

/* @index is less than mappings.count. */
static inline struct pprof_mapping *pprof_mapping_at(
	const struct pprof_tables *tables, uint32_t index)
{
	return (struct pprof_mapping *)tables->mappings.items + index;
}

/*
 * Ask debuginfod servers for missing symbols of files with unnamed addresses, and report the
 * result. Call it before pprof_name().
 */
void pprof_fetch(struct pprof_tables *tables);

/*
 * Turn @location into frames of @tree: set its first_frame and frame_count. Call it once per
 * location. Returns 0, or -errno with the message filled.
 */
int pprof_name(struct pprof_tables *tables, struct pprof_location *location,
	struct calltree *tree);

/* Report the files whose addresses could not be named, if any. */
void pprof_report_unnamed(const struct pprof_tables *tables);

#endif
