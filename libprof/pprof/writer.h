/* SPDX-License-Identifier: MIT */
/*
 * A pprof profile, part by part, onto a sink: what a program wrote of itself and what flamerun
 * recorded come out of this alike. Whoever writes decides what is a function, a location, a sample;
 * here are their numbers, the table of texts and the form of each message. protobuf.h says what our
 * profiles have beyond profile.proto.
 *
 * Nothing needs a check at each step: the first failure is kept, and pprof_writer_end() tells.
 * Context: one thread at a time, not a signal handler.
 */
#ifndef LIBPROF_PPROF_WRITER_H
#define LIBPROF_PPROF_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/pprof/protobuf.h"
#include "libprof/profile/lookup.h"

/* ---- texts ----------------------------------------------------------------------------------- */
/*
 * Texts with numbers, counted from 0: equal ones have one. Memory is the kernel's, so that a
 * host's malloc() is left alone.
 */

/* All zero is an empty table. */
struct texts {
	struct pages_account account;
	struct pages bytes;  /* NUL-terminated each */
	struct pages starts; /* uint32_t by number: offset in bytes */
	uint32_t used;	     /* of bytes */
	uint32_t count;
	struct lookup lookup;
};

/*
 * The number of the text that is @head followed by @tail_bytes of @tail; copied when it is new.
 * Returns 0 and *@number; -ENOSPC beyond 4 GiB in all, -ENOMEM. A failed call changed nothing that
 * is seen.
 */
int texts_add(struct texts *texts, const char *head, const char *tail, size_t tail_bytes,
	uint32_t *number);

/* Valid until the next texts_add(). */
static inline char *texts_at(const struct texts *texts, uint32_t number)
{
	return (char *)texts->bytes.at + ((const uint32_t *)texts->starts.at)[number];
}

void texts_release(struct texts *texts);

/* ---- the writer ------------------------------------------------------------------------------ */

/* Private but for where it lies. */
struct pprof_writer {
	struct protobuf_out out;
	struct texts texts;
	uint32_t process, thread, thread_id;	 /* texts */
	uint32_t mappings, functions, locations; /* written so far */
	size_t sample, stack, location;		 /* begun in `out` */
};

/* Begin a profile in @writer, whatever that holds. @sink is given @context with each piece. */
void pprof_writer_begin(struct pprof_writer *writer, protobuf_sink *sink, void *context);

/*
 * Write what is left, the texts, and give all memory back; also after a failure, which may have
 * left a part of a profile in the sink. Returns 0, -ENOMEM, -ENOSPC for too many texts, or what the
 * sink returned.
 */
int pprof_writer_end(struct pprof_writer *writer);

/* The number of a text, of its first @bytes bytes. Bytes that are no UTF-8 are written as '?'. */
uint32_t pprof_put_text(struct pprof_writer *writer, const char *text);
uint32_t pprof_put_text_part(struct pprof_writer *writer, const char *text, size_t bytes);

/* Values of samples stand in the order of these. */
void pprof_put_sample_type(struct pprof_writer *writer, const char *type, const char *unit);
/* What lies between samples, in which type; that one is shown when nobody asks for another. */
void pprof_put_period(struct pprof_writer *writer, const char *type, uint64_t period_ns);
/* That alone, where nothing regular lies between samples. */
void pprof_put_default_type(struct pprof_writer *writer, const char *type);

void pprof_put_times(struct pprof_writer *writer, int64_t start_s, uint64_t duration_ns);

/* Comments: nothing for an empty text and for a weight of 0. @time_ns counts from the start. */
void pprof_put_title(struct pprof_writer *writer, const char *title);
void pprof_put_filters(struct pprof_writer *writer, const char *filters);
void pprof_put_runs(struct pprof_writer *writer, unsigned runs);
void pprof_put_dropped(struct pprof_writer *writer, uint64_t weight);
void pprof_put_mark(
	struct pprof_writer *writer, uint64_t time_ns, uint32_t tid, const char *text);

/* What is 0 or "" is not known. */
struct pprof_mapping_fields {
	uint64_t start, limit, offset;
	const char *file, *build_id; /* in hex */
	int has_functions;	     /* its locations have their names here */
};

/*
 * Each returns the number of what it wrote, counting from 1. The first mapping is the program, says
 * the format. Functions' arguments are numbers of texts, 0 for none; readers take a name apart as
 * C++'s where its @system_name is the same.
 */
uint32_t pprof_put_mapping(struct pprof_writer *writer, const struct pprof_mapping_fields *mapping);
uint32_t pprof_put_function(
	struct pprof_writer *writer, uint32_t name, uint32_t system_name, uint32_t file);
uint32_t pprof_put_location(struct pprof_writer *writer, uint32_t mapping, uint64_t address,
	uint32_t function, uint64_t line);

/* A location with several functions: begin, each from the innermost out, end. */
uint32_t pprof_begin_location(struct pprof_writer *writer, uint32_t mapping, uint64_t address);
void pprof_location_line(struct pprof_writer *writer, uint32_t function, uint64_t line);
void pprof_end_location(struct pprof_writer *writer);

/* Whose a sample is, and of which kind a wait; what is NULL, "" or 0 is not known. */
struct pprof_labels {
	const char *process, *thread, *wait;
	uint32_t tid;
};

/* One sample: begin, its locations from the leaf on, end with a value for each sample type. */
void pprof_begin_sample(struct pprof_writer *writer);
void pprof_sample_location(struct pprof_writer *writer, uint32_t location);
void pprof_end_sample(struct pprof_writer *writer, const uint64_t *values, unsigned count,
	const struct pprof_labels *labels);

#endif
