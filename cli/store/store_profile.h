/* SPDX-License-Identifier: MIT */
/*
 * A profile as it is stored: rows of frames, of stacks, and of the weight of each stack. The hash
 * of a stack's parent and innermost frame identifies the stack. The hash of all fields identifies a
 * frame. So equal stacks have equal hashes in all profiles. Threads and times are not stored.
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
/* hash of the empty stack, the parent of outermost frames */
#define STORE_ROOT     0u

struct store_profile {
	char id[STORE_ID_BYTES];
	char label[STORE_LABELS][STORE_LABEL_BYTES];
	char title[256], count_name[64];
	int64_t start_s;
	uint64_t span_ns;
	/* ns per unit of weight; 0: weights are counts */
	uint64_t period_ns;
	uint64_t weight;      /* of all stacks */
	/* rows of: hash UInt64, kind UInt8, line UInt32, name, module, file String */
	struct bytes frames;
	struct bytes stacks;  /* stack UInt64, parent UInt64, frame UInt64 */
	/* rows of: stack UInt64, weight UInt64 below 2^32; a stack may have several rows */
	struct bytes weights;
	uint32_t weight_rows;
	char *spooled; /* spool's file, owned; NULL: none */
};

/*
 * Make the rows, unit and title of @profile from @tree (finished) and @picture, both borrowed. The
 * caller sets the other labels, start and id, and must release @profile, after errors as well.
 * Returns 0 or -ENOMEM.
 */
int store_profile_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture);
void store_profile_release(struct store_profile *profile);

/*
 * Set the id. store_profile_identify() hashes @bytes, labels and start, so that equal files are one
 * profile. store_profile_identify_run() uses a random number, because each run is a new profile.
 */
void store_profile_identify(struct store_profile *profile, const struct bytes *bytes);
void store_profile_identify_run(struct store_profile *profile);

/* Returns the profile's day, counted from the epoch. The tables are partitioned by day. */
uint16_t store_profile_day(const struct store_profile *profile);

/*
 * Serialise a profile, and read it back. The caller must release the @profile that was read, after
 * errors as well. store_profile_read() returns 0, -EBADMSG or -ENOMEM.
 */
void store_profile_write(const struct store_profile *profile, struct bytes *out);
int store_profile_read(struct store_profile *profile, const struct bytes *in);

/* A frame that store_frame_read() read from untrusted @rows. The hash was not checked. */
struct store_frame {
	uint64_t hash;
	uint8_t kind;
	uint32_t line;
	char name[ROWS_TEXT_BYTES + 1], module[ROWS_TEXT_BYTES + 1], file[ROWS_TEXT_BYTES + 1];
};
void store_frame_read(struct store_frame *frame, struct rows *rows);

#endif
