/* SPDX-License-Identifier: MIT */
/*
 * Read records from the pipes of the collector and of the tracing process into the profile. Every
 * record is checked here once more, because any process of the same user can write to the pipes.
 *
 * Context: one thread.
 */
#ifndef CLI_GATHER_PIPE_READER_H
#define CLI_GATHER_PIPE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/gather/pipe_record.h"
#include "libprof/profile/profile.h"

struct held_files;
struct pipe_reader;

/* Returns 0 and an owned object, or -errno. */
int pipe_reader_open(struct pipe_reader **out, uint32_t rate_hz);
void pipe_reader_free(struct pipe_reader *pipe_reader); /* NULL is fine */

/* The writing end of the pipe of @source, non-blocking and close-on-exec. Owned by @pipe_reader. */
int pipe_reader_writer(const struct pipe_reader *pipe_reader, enum record_source source);

/* Poll this for POLLIN: one of the pipes can be read. Owned by @pipe_reader. */
int pipe_reader_descriptor(const struct pipe_reader *pipe_reader);

/* Read all that the pipes hold now. Never blocks. Returns 0, or -ENOMEM: earlier records stay. */
int pipe_reader_read(struct pipe_reader *pipe_reader);

/* Sleep until there is something to read, at most @timeout_ms. */
void pipe_reader_wait(const struct pipe_reader *pipe_reader, int timeout_ms);

/* Programs that could not be sampled for one reason. */
#define PIPE_READER_REFUSALS 8
struct pipe_reader_refusal {
	uint64_t programs; /* 0: unused entry */
	bool by_stops;	   /* they were sampled by stops, see struct record_refusal */
	char text[256];	   /* reason of the first program */
};

#define PIPE_READER_LIVES_MAX 65536u

/* Results of the records that were read so far. */
struct pipe_reader_state {
	bool has_ended[RECORD_SOURCES]; /* RECORD_END was read */
	unsigned live;	     /* number of images that have not ended */
	uint64_t images_met; /* number of images ever seen */
	uint64_t round;	     /* number of the last RECORD_ROUND; UINT64_MAX: no more will come */
	struct record_waits waits[RECORD_SOURCES];
	struct record_life *lives; /* owned by the reader; first MAX lives to arrive */
	unsigned life_count, life_room;
	struct pipe_reader_refusal refusals[PIPE_READER_REFUSALS];
};
const struct pipe_reader_state *pipe_reader_state(const struct pipe_reader *pipe_reader);

/* Borrow the files of modules, opened when their records were read. NULL without memory. */
const struct held_files *pipe_reader_held(const struct pipe_reader *pipe_reader);

/* Borrow the profile. */
struct flameprof_profile *pipe_reader_profile(const struct pipe_reader *pipe_reader);

#endif
