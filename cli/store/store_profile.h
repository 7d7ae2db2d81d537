/* SPDX-License-Identifier: MIT */
/*
 * A profile as a store has it: rows of frames, of stacks, and of the weight of each stack. A stack
 * is identified by the hash of its parent and its innermost frame, a frame by the hash of all its
 * fields, so that equal ones have equal numbers in all profiles. Threads and times are not stored.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_STORE_PROFILE_H
#define CLI_STORE_STORE_PROFILE_H

#include <stdint.h>

#include "cli/diag.h"
#include "cli/store/address.h"
#include "cli/store/rows.h"
#include "render/bytes.h"
#include "render/calltree.h"
#include "render/picture.h"

#define STORE_ID_BYTES 33 /* 128 bits in hexadecimal, with NUL */
#define STORE_ROOT     0u /* the empty stack, parent of the outermost frames */

struct store_profile {
	char id[STORE_ID_BYTES];
	char label[STORE_LABELS][STORE_LABEL_BYTES];
	char title[256], count_name[64];
	int64_t start_s;
	uint64_t span_ns;
	uint64_t period_ns;   /* time of one unit of weight; 0: weights are counts */
	uint64_t weight;      /* of all stacks */
	struct bytes frames;  /* hash UInt64, kind UInt8, line UInt32, name, module, file String */
	struct bytes stacks;  /* stack UInt64, parent UInt64, frame UInt64 */
	struct bytes weights; /* stack UInt64, weight UInt64 below 2^32; a stack may have several
			       * rows */
	uint32_t weight_rows;
	char *spooled; /* its file in the spool, owned; NULL: none */
};

/*
 * Make the rows, unit and title of @profile from @tree (finished) and @picture, both borrowed. The
 * caller sets the other labels, start and id. Returns 0 or -ENOMEM. The caller must release it in
 * both cases.
 */
int store_profile_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture);
void store_profile_release(struct store_profile *profile);

/*
 * Set the id from @bytes, labels and start, so that equal files are one profile; or, for a run, to
 * a random number.
 */
void store_profile_identify(struct store_profile *profile, const struct bytes *bytes);
void store_profile_identify_run(struct store_profile *profile);

/* Returns days since the epoch, by which the tables are partitioned. */
uint16_t store_profile_day(const struct store_profile *profile);

/*
 * Serialise a profile, and read it back. store_profile_read() returns 0, -EBADMSG or -ENOMEM; the
 * caller must release @profile in any case.
 */
void store_profile_write(const struct store_profile *profile, struct bytes *out);
int store_profile_read(struct store_profile *profile, const struct bytes *in);

/* Read the next frame of @rows, which are untrusted. The hash is not checked. */
struct store_frame {
	uint64_t hash;
	uint8_t kind;
	uint32_t line;
	char name[ROWS_TEXT_BYTES + 1], module[ROWS_TEXT_BYTES + 1], file[ROWS_TEXT_BYTES + 1];
};
void store_frame_read(struct store_frame *frame, struct rows *rows);

#endif
