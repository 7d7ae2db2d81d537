/* SPDX-License-Identifier: MIT */
/*
 * Hold the frames that one server of a store sent. Frames without a name get one by build-id and
 * address, from symbols that were pushed to the store. Context: one thread.
 */
#ifndef CLI_STORE_NAMED_FRAMES_H
#define CLI_STORE_NAMED_FRAMES_H

#include "cli/diag.h"
#include "cli/store/picks.h"
#include "cli/store/rows.h"
#include "render/calltree.h"

/* Table `symbols` has a row for each page (1 << STORE_PAGE_BITS bytes) that a function touches. */
#define STORE_PAGE_BITS 12

/*
 * Zeroed when empty. The arrays `offsets`, `tree_frames` and `is_used` are indexed like `hashes`.
 */
struct named_frames {
	struct hashes hashes;
	struct bytes offsets; /* size_t: offset of row */
	struct bytes tree_frames;   /* uint32_t: index in the tree + 1; 0: none yet */
	struct bytes is_used;	    /* uint8_t */
	const struct bytes *rows;   /* borrowed */
	struct bytes symbols;	    /* the answer, owned */
	/* struct named_symbol, by start */
	struct bytes symbol_table;
};

/* Index @rows (borrowed as long as @frames). Returns 0, -EPROTO (@rows are damaged) or -ENOMEM. */
int named_frames_index(struct named_frames *frames, const struct bytes *rows);
void named_frames_release(struct named_frames *frames);

/* Make named_frames_ask() ask for the name of the frame with @hash. Ignore an unknown hash. */
void named_frames_use(struct named_frames *frames, uint64_t hash);

/* Ask @server for the requested names. Returns 0, or -errno with @message filled. */
int named_frames_ask(struct named_frames *frames, const struct store_server *server,
	struct diag_message *message);

/* Find or add frame @hash in @tree. Returns 0, or -ENOENT if the server did not send the frame. */
int named_frames_in(
	struct named_frames *frames, uint64_t hash, struct calltree *tree, uint32_t *number);

#endif
