/* SPDX-License-Identifier: MIT */
/*
 * Read the records that the collector and the tracing process write to their pipes, and add them to
 * the profile. Every record is checked once more, because any process of the same user can write to
 * the pipes.
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

/*
 * Returns the writing end of @source's pipe, non-blocking and close-on-exec. Owned by @pipe_reader.
 */
int pipe_reader_writer(const struct pipe_reader *pipe_reader, enum record_source source);

/* Returns a descriptor that is ready for POLLIN when a pipe can be read. Owned by @pipe_reader. */
int pipe_reader_descriptor(const struct pipe_reader *pipe_reader);

/* Read all that the pipes hold. Never blocks. Returns 0, or -ENOMEM: read records stay. */
int pipe_reader_read(struct pipe_reader *pipe_reader);

/* Sleep until a pipe can be read, for at most @timeout_ms. */
void pipe_reader_wait(const struct pipe_reader *pipe_reader, int timeout_ms);

/* A reason why programs could not be sampled, or only by stops. This many reasons are kept. */
#define PIPE_READER_REFUSALS 8
struct pipe_reader_refusal {
	uint64_t programs; /* 0: unused entry */
	/* The programs were sampled by stops, see struct record_refusal. */
	bool by_stops;
	char text[256]; /* the reason, as for the first program */
};

#define PIPE_READER_LIVES_MAX 65536u

/* Results of the records that were read so far. */
struct pipe_reader_state {
	bool has_ended[RECORD_SOURCES]; /* RECORD_END was read */
	/* number of live images */
	unsigned live;
	uint64_t images_seen; /* number of images ever seen */
	/* Number in the last RECORD_ROUND. UINT64_MAX if the collector's stream is damaged. */
	uint64_t round;
	struct record_waits waits[RECORD_SOURCES];
	/* The first PIPE_READER_LIVES_MAX RECORD_LIFE records. Owned by the reader. */
	struct record_life *lives;
	unsigned life_count, life_room;
	struct pipe_reader_refusal refusals[PIPE_READER_REFUSALS];
};
const struct pipe_reader_state *pipe_reader_state(const struct pipe_reader *pipe_reader);

/*
 * Returns the modules' files, opened when their records were read. Borrowed; NULL without memory.
 */
const struct held_files *pipe_reader_held(const struct pipe_reader *pipe_reader);

/* Returns the profile, borrowed. */
struct flameprof_profile *pipe_reader_profile(const struct pipe_reader *pipe_reader);

#endif
