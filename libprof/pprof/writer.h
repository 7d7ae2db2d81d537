/* SPDX-License-Identifier: MIT */
/*
 * Write a pprof profile to a sink, part by part; used by the library and by flamerun. The caller
 * decides what the functions, locations and samples are; the writer numbers them, collects texts
 * and encodes messages. protobuf.h lists our conventions beyond profile.proto.
 *
 * No call reports an error except pprof_writer_end(), which returns the first failure. Context: one
 * thread at a time, not a signal handler.
 */
#ifndef LIBPROF_PPROF_WRITER_H
#define LIBPROF_PPROF_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/pprof/protobuf.h"
#include "libprof/profile/lookup.h"

/* ---- texts ----------------------------------------------------------------------------------- */
/* A table of distinct texts, numbered from 0. Memory is mapped, not from the host's malloc(). */

/* All zero is an empty table. */
struct texts {
	struct pages_account account;
	struct pages bytes;  /* NUL-terminated */
	struct pages starts; /* uint32_t by number: offset in `bytes` */
	uint32_t used;	     /* bytes used in `bytes` */
	uint32_t count;
	struct lookup lookup;
};

/*
 * Find or add the text @head followed by at most @tail_bytes bytes of @tail; copied.
 * Returns 0 and *@number; -ENOSPC beyond 4 GiB in all; -ENOMEM. A failed call has no visible
 * effect.
 */
int texts_add(struct texts *texts, const char *head, const char *tail, size_t tail_bytes,
	uint32_t *number);

/* Returns text @number, which is valid until the next texts_add(). */
static inline char *texts_at(const struct texts *texts, uint32_t number)
{
	return (char *)texts->bytes.at + ((const uint32_t *)texts->starts.at)[number];
}

void texts_release(struct texts *texts);

/* ---- the writer ------------------------------------------------------------------------------ */

/* A writer. The caller owns the memory but does not use the fields. */
struct pprof_writer {
	struct protobuf_out out;
	struct texts texts;
	uint32_t process, thread, thread_id;	 /* numbers of label texts */
	uint32_t mappings, functions, locations; /* written so far */
	size_t sample, stack, location;		 /* open messages in `out` */
};

/* Initialise @writer and begin a profile. @sink is called with @context for each piece. */
void pprof_writer_begin(struct pprof_writer *writer, protobuf_sink *sink, void *context);

/*
 * Write the buffered bytes and the texts, and free all memory, also after a failure, which may
 * leave a partial profile in the sink. Returns 0, -ENOMEM, -ENOSPC for too many texts, or the
 * sink's error.
 */
int pprof_writer_end(struct pprof_writer *writer);

/* Returns the number of @text, or of its first @bytes bytes. Invalid UTF-8 is written as '?'. */
uint32_t pprof_put_text(struct pprof_writer *writer, const char *text);
uint32_t pprof_put_text_part(struct pprof_writer *writer, const char *text, size_t bytes);

/* Add a sample type. Samples have their values in the order of these calls. */
void pprof_put_sample_type(struct pprof_writer *writer, const char *type, const char *unit);
/* Set the type and length of the sampling period. The type also becomes the default sample type. */
void pprof_put_period(struct pprof_writer *writer, const char *type, uint64_t period_ns);
/* Set only the default sample type, if samples are not periodic. */
void pprof_put_default_type(struct pprof_writer *writer, const char *type);

void pprof_put_times(struct pprof_writer *writer, int64_t start_s, uint64_t duration_ns);

/*
 * Each of these functions writes one fact as a comment of the profile, or nothing if the text is ""
 * or the weight 0. @time_ns is the time since the profile's start.
 */
void pprof_put_title(struct pprof_writer *writer, const char *title);
void pprof_put_filters(struct pprof_writer *writer, const char *filters);
void pprof_put_runs(struct pprof_writer *writer, unsigned runs);
void pprof_put_dropped(struct pprof_writer *writer, uint64_t weight);
void pprof_put_mark(
	struct pprof_writer *writer, uint64_t time_ns, uint32_t tid, const char *text);

/* A mapping; 0 and "" mean unknown. */
struct pprof_mapping_fields {
	uint64_t start, limit, offset;
	const char *file, *build_id; /* in hex */
	int has_functions;	     /* its locations name functions */
};

/*
 * Write an entry and return its number, from 1. pprof requires that the first mapping is the
 * program. The text arguments of a function are numbers of texts, 0: none. If @system_name equals
 * @name, readers demangle it as C++. @start_line is the line of its declaration, 0: unknown.
 */
uint32_t pprof_put_mapping(struct pprof_writer *writer, const struct pprof_mapping_fields *mapping);
uint32_t pprof_put_function(struct pprof_writer *writer, uint32_t name, uint32_t system_name,
	uint32_t file, uint32_t start_line);
uint32_t pprof_put_location(struct pprof_writer *writer, uint32_t mapping, uint64_t address,
	uint32_t function, uint64_t line);

/*
 * Write a location with several functions: begin it, add each function from the innermost on, end
 * it.
 */
uint32_t pprof_begin_location(struct pprof_writer *writer, uint32_t mapping, uint64_t address);
void pprof_location_line(struct pprof_writer *writer, uint32_t function, uint64_t line);
void pprof_end_location(struct pprof_writer *writer);

/* Labels of a sample: process, thread, kind of wait; NULL, "" and 0 mean unknown. */
struct pprof_labels {
	const char *process, *thread, *wait;
	uint32_t tid;
};

/*
 * Write a sample: begin it, add its locations from the innermost on, end it with one value per
 * sample type.
 */
void pprof_begin_sample(struct pprof_writer *writer);
void pprof_sample_location(struct pprof_writer *writer, uint32_t location);
void pprof_end_sample(struct pprof_writer *writer, const uint64_t *values, unsigned count,
	const struct pprof_labels *labels);

#endif
