/* SPDX-License-Identifier: MIT */
/*
 * A server's frames, and names for those that had none where they were sampled: by build-id and
 * address, from the symbols that somebody pushed.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_NAMED_FRAMES_H
#define CLI_STORE_NAMED_FRAMES_H

#include "cli/diag.h"
#include "cli/store/picks.h"
#include "cli/store/rows.h"
#include "render/calltree.h"

/* Functions stand in the table `symbols` on each page of so many bytes that they touch. */
#define STORE_PAGE_BITS 12

/* All zero is an empty one. */
struct named_frames {
	struct hashes hashes;
	struct bytes offsets;	    /* size_t by place: where the frame's row begins in ->rows */
	struct bytes tree_frames;   /* uint32_t by place: the tree's frame plus 1, 0: none yet */
	struct bytes is_used;	    /* uint8_t by place */
	const struct bytes *rows;   /* borrowed */
	struct bytes symbols;	    /* the answer, owned */
	struct bytes symbol_places; /* struct named_symbol, sorted */
};

/* Take @rows, an answer, borrowed as long as @frames. Returns 0, -EPROTO for damage, -ENOMEM. */
int named_frames_take(struct named_frames *frames, const struct bytes *rows);
void named_frames_release(struct named_frames *frames);

/* The frame @hash, if it is there, will be wanted. */
void named_frames_use(struct named_frames *frames, uint64_t hash);

/* Ask @server for names of those. Returns 0, or -errno with @message filled. */
int named_frames_ask(struct named_frames *frames, const struct store_server *server,
	struct diag_message *message);

/* The frame @hash in @tree. Returns 0, or -ENOENT when there is none. */
int named_frames_in(
	struct named_frames *frames, uint64_t hash, struct calltree *tree, uint32_t *number);

#endif
