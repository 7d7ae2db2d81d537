/* SPDX-License-Identifier: MIT */
/*
 * The file of a node: the stacks of all ranks that run there in one table, and of each rank how
 * much it has of which. flamerun-ranks(5) has the form. A rank is a message of its own that refers
 * to stacks by number, and numbers stay: when a rank is written anew, or another comes, the others'
 * bytes are copied as they are.
 *
 * What is read may hold anything: every number is checked, and neither memory nor work is more than
 * a multiple of the file's size.
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

/* Is it the name of such a file, and no hidden one? Without its folder. */
bool ranks_file_is_name(const char *name);

/* What a file begins with: its first field is a text. */
#define RANKS_FILE_FIRST 0x0a
#define RANKS_FILE_MAGIC "flamerun-ranks 1"

/* More is refused. The last: of one with the other, what it takes to count a file. */
#define RANKS_FILE_RANKS_MAX  (1u << 16)
#define RANKS_FILE_STACKS_MAX (1u << 23)
#define RANKS_FILE_WORK_MAX   (1ull << 31)

enum ranks_file_state {
	RANK_BEGAN = 0, /* nobody said that it ended: it runs, or flamerun itself was killed */
	RANK_ENDED = 1,
};

/* One rank; the lists are borrowed from the file. */
struct ranks_file_rank {
	uint32_t number;
	enum ranks_file_state state;
	uint64_t began_s;     /* since the epoch */
	uint64_t duration_ns; /* for which it was sampled, up to the last commit */
	uint32_t status;      /* of its end: exit status, unless */
	uint32_t signal;      /* not 0: what killed it */
	struct protobuf stacks, weights;
	struct protobuf message; /* all of it, as it stands in the file */
};

struct ranks_file_frame {
	uint32_t name, module, file; /* texts */
	uint32_t line;
	enum calltree_frame_kind kind;
};

/* What all ranks have in common. Texts are borrowed. */
struct ranks_file_head {
	const char *job, *node, *title;
	uint64_t period_ns; /* of one unit of weight */
	uint32_t size;	    /* ranks of the job; 0: not known */
};

struct ranks_file {
	struct ranks_file_head head;
	const char **texts;
	struct ranks_file_frame *frames;
	uint32_t *parents, *frame_of; /* [stack]; stack 0 is the empty one */
	struct ranks_file_rank *ranks;
	uint32_t text_count, frame_count, stack_count, rank_count;
	struct bytes bytes; /* what all of this points into */
};

/*
 * Take @bytes (taken over in any case, and changed) apart; @name is for messages.
 * Returns 0, or -errno with @message filled and nothing to release: -EBADMSG for what is no such
 * file, -E2BIG, -ENOMEM.
 */
int ranks_file_parse(struct ranks_file *out, struct bytes *bytes, const char *name,
	struct diag_message *message);

/* Likewise of all that @in has. */
int ranks_file_read(
	struct ranks_file *out, FILE *in, const char *name, struct diag_message *message);
void ranks_file_release(struct ranks_file *file); /* all zero is fine */

/* How many ranks a file has, and how many of them have ended: it says so near its beginning. */
struct ranks_file_counts {
	uint32_t ranks, ended;
	char job[128];
};

/* Read the beginning of the file at @descriptor. Returns 0, or -errno for what is no such file. */
int ranks_file_count(struct ranks_file_counts *out, int descriptor);

/* The stacks of a rank, with what each weighs; zero-initialise but for ->rank. */
struct ranks_file_walk {
	const struct ranks_file_rank *rank;
	struct protobuf_field stacks, weights;
	uint64_t stack;
	int is_begun;
};

/* Returns 1 with the next stack, below ->stack_count, and its weight; 0 at the end, -EBADMSG. */
int ranks_file_next(const struct ranks_file *file, struct ranks_file_walk *walk, uint32_t *stack,
	uint64_t *weight);

/*
 * Write a file to @out: @tree has the stacks, a node's number being the stack's, @kept the ranks
 * that stay (NULL: none), and @rank is anew, with @weights by node (borrowed, all).
 * Returns 0 or -errno.
 */
int ranks_file_write(FILE *out, const struct ranks_file_head *head, const struct calltree *tree,
	const struct ranks_file *kept, const struct ranks_file_rank *rank, const uint64_t *weights);

#endif
