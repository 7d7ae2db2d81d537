/* SPDX-License-Identifier: MIT */
/*
 * The profile of a compute node: a table of the stacks of all its ranks (MPI processes), and the
 * weights of each rank. The format is in flamerun-ranks(5). Each rank is one message that refers to
 * stacks by number. Numbers never change, so writing one rank copies the messages of the others.
 *
 * Files are untrusted: all numbers are checked, and memory and work are bounded by a multiple of
 * the file's size.
 */
#ifndef CLI_FORMATS_RANKS_FILE_H
#define CLI_FORMATS_RANKS_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/diag.h"
#include "libprof/pprof/protobuf.h"
#include "render/bytes.h"
#include "render/calltree.h"

#define RANKS_FILE_ENDING ".ranks"

/* Is @name (without folder) the name of a node's file, and not hidden? */
bool ranks_file_is_name(const char *name);

/* First byte of a file: the tag of its first field, a text. */
#define RANKS_FILE_FIRST 0x0a
#define RANKS_FILE_MAGIC "flamerun-ranks 1"

/* Limits. WORK_MAX limits ranks * stacks, and so the time to add up a file. */
#define RANKS_FILE_RANKS_MAX  (1u << 16)
#define RANKS_FILE_STACKS_MAX (1u << 23)
#define RANKS_FILE_WORK_MAX   (1ull << 31)

enum ranks_file_state {
	/* no end was recorded: the rank runs, or flamerun was killed */
	RANK_BEGAN = 0,
	RANK_ENDED = 1,
};

/* One rank; the lists are borrowed from the file. */
struct ranks_file_rank {
	uint32_t number;
	enum ranks_file_state state;
	uint64_t began_s;     /* since the epoch */
	uint64_t duration_ns; /* sampled time, up to the last commit */
	uint32_t status;      /* exit status, if @signal is 0 */
	uint32_t signal;      /* the signal that killed it, or 0 */
	struct protobuf stacks, weights;
	struct protobuf message; /* the rank's whole message */
};

struct ranks_file_frame {
	uint32_t name, module, file; /* indices of texts */
	uint32_t line;
	enum calltree_frame_kind kind;
};

/* Facts that all ranks share. Texts are borrowed. */
struct ranks_file_head {
	const char *job, *node, *title;
	uint64_t period_ns; /* time of one unit of weight */
	uint32_t size;	    /* ranks of the job; 0: unknown */
};

struct ranks_file {
	struct ranks_file_head head;
	const char **texts;
	struct ranks_file_frame *frames;
	uint32_t *parents, *frame_of; /* [stack]; stack 0 is the empty stack */
	struct ranks_file_rank *ranks;
	uint32_t text_count, frame_count, stack_count, rank_count;
	/* the file, into which all pointers point */
	struct bytes bytes;
};

/*
 * Parse @bytes, whose ownership moves to @out in any case; they are changed. @name is for messages.
 * Returns 0, or -errno with @message filled and nothing to release: -EBADMSG (not such a file),
 * -E2BIG, -ENOMEM.
 */
int ranks_file_parse(struct ranks_file *out, struct bytes *bytes, const char *name,
	struct diag_message *message);

/* Read all of @in and parse it. Returns as ranks_file_parse() does, or an error of reading. */
int ranks_file_read(
	struct ranks_file *out, FILE *in, const char *name, struct diag_message *message);
void ranks_file_release(struct ranks_file *file); /* an all-zero struct is fine */

/* Numbers of ranks and of ended ranks, which are stored near the beginning of a file. */
struct ranks_file_counts {
	uint32_t ranks, ended;
	char job[128];
};

/* Read the start of the file at @descriptor. Returns 0, or -errno if it is not such a file. */
int ranks_file_count(struct ranks_file_counts *out, int descriptor);

/* Iterates over a rank's stacks and weights. Zero-initialise all but @rank. */
struct ranks_file_walk {
	const struct ranks_file_rank *rank;
	struct protobuf_field stacks, weights;
	uint64_t stack;
	int is_begun;
};

/* Returns 1 with the next stack (below stack_count) and its weight, 0 at the end, or -EBADMSG. */
int ranks_file_next(const struct ranks_file *file, struct ranks_file_walk *walk, uint32_t *stack,
	uint64_t *weight);

/*
 * Write a file to @out. Stack numbers are @tree's node numbers. The ranks of @kept (NULL: none) are
 * copied; @rank is added or replaced, with @weights by node. All arguments are borrowed. Returns 0
 * or -errno.
 */
int ranks_file_write(FILE *out, const struct ranks_file_head *head, const struct calltree *tree,
	const struct ranks_file *kept, const struct ranks_file_rank *rank, const uint64_t *weights);

#endif
