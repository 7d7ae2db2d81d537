/* SPDX-License-Identifier: MIT */
/*
 * The frames of a server, and names for frames without one: by build-id and address, from symbols
 * that were pushed to the store.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_NAMED_FRAMES_H
#define CLI_STORE_NAMED_FRAMES_H

#include "cli/diag.h"
#include "cli/store/picks.h"
#include "cli/store/rows.h"
#include "render/calltree.h"

/* The table `symbols` has a row for each page of this size (1 << bits) that a function touches. */
#define STORE_PAGE_BITS 12

/* All zero is empty. Bytes below are arrays, indexed like @hashes. */
struct named_frames {
	struct hashes hashes;
	struct bytes offsets;	    /* size_t: offset of the frame's row in @rows */
	struct bytes tree_frames;   /* uint32_t: frame of the tree + 1; 0: none yet */
	struct bytes is_used;	    /* uint8_t */
	const struct bytes *rows;   /* borrowed */
	struct bytes symbols;	    /* the answer, owned */
	struct bytes symbol_table;  /* struct named_symbol, sorted by start */
};

/* Index @rows, an answer borrowed as long as @frames. Returns 0, -EPROTO (damaged) or -ENOMEM. */
int named_frames_index(struct named_frames *frames, const struct bytes *rows);
void named_frames_release(struct named_frames *frames);

/* Mark the frame @hash, if there is one, as used. */
void named_frames_use(struct named_frames *frames, uint64_t hash);

/* Ask @server for names of used frames. Returns 0, or -errno with @message filled. */
int named_frames_ask(struct named_frames *frames, const struct store_server *server,
	struct diag_message *message);

/* Find or add the frame @hash in @tree. Returns 0, or -ENOENT if the server has no such frame. */
int named_frames_in(
	struct named_frames *frames, uint64_t hash, struct calltree *tree, uint32_t *number);

#endif
