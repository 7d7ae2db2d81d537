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

/* Read all that the pipes hold now. Never blocks. Returns 0 or -ENOMEM (what was read stays). */
int pipe_reader_read(struct pipe_reader *pipe_reader);

/* Sleep until there is something to read, at most @timeout_ms. */
void pipe_reader_wait(const struct pipe_reader *pipe_reader, int timeout_ms);

/* Programs that could not be sampled, for the same reason. */
#define PIPE_READER_REFUSALS 8
struct pipe_reader_refusal {
	uint64_t programs; /* 0: no such reason */
	bool by_stops;	   /* they were sampled all the same, see struct record_refusal */
	char text[256];	   /* of the first */
};

#define PIPE_READER_LIVES_MAX 65536u

/* What has been read so far. */
struct pipe_reader_state {
	bool has_ended[RECORD_SOURCES]; /* the stream has */
	unsigned live;	     /* images that have not ended */
	uint64_t images_met; /* ever */
	uint64_t round;	     /* of the last RECORD_ROUND; UINT64_MAX: none will come any more */
	struct record_waits waits[RECORD_SOURCES];
	struct record_life *lives; /* owned by the reader, as they came; no more than MAX */
	unsigned life_count, life_room;
	struct pipe_reader_refusal refusals[PIPE_READER_REFUSALS];
};
const struct pipe_reader_state *pipe_reader_state(const struct pipe_reader *pipe_reader);

/* Files of modules, opened when records named them; owned by @pipe_reader, NULL without memory. */
const struct held_files *pipe_reader_held(const struct pipe_reader *pipe_reader);

/* Owned by @pipe_reader. */
struct flameprof_profile *pipe_reader_profile(const struct pipe_reader *pipe_reader);

#endif
