/* SPDX-License-Identifier: MIT */
/*
 * One profile as a store has it: rows of frames, of stacks, and of what each stack weighs. A stack
 * is the hash of the one below it and of its innermost frame, a frame that of all that is known of
 * it; so equal ones have one number, whoever pushed them. Threads and moments are left out.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_PROFILE_H
#define CLI_STORE_PROFILE_H

#include <stdint.h>

#include "cli/diag.h"
#include "cli/store/address.h"
#include "cli/store/rows.h"
#include "render/bytes.h"
#include "render/calltree.h"
#include "render/picture.h"

#define STORE_ID_BYTES 33 /* 128 bits in hexadecimal, and a NUL */
#define STORE_ROOT     0u /* the stack below all others */

struct store_profile {
	char id[STORE_ID_BYTES];
	char label[STORE_LABELS][STORE_LABEL_BYTES];
	char title[256], count_name[64];
	int64_t start_s;
	uint64_t span_ns;
	uint64_t period_ns;   /* time of one unit of weight; 0: it is no time */
	uint64_t weight;      /* of all stacks */
	struct bytes frames;  /* hash UInt64, kind UInt8, line UInt32, name, module, file String */
	struct bytes stacks;  /* stack UInt64, parent UInt64, frame UInt64 */
	struct bytes weights; /* stack UInt64, weight UInt64 below 2^32: several of a stack */
	uint32_t weight_rows;
	char *spooled; /* the file it waits in, owned; NULL: none */
};

/*
 * Make rows of @tree (finished), of which @picture (both borrowed) tells what it counts. Labels,
 * start and id are the caller's; but for the unit, which the label stays without.
 * Returns 0, or -ENOMEM. To be released in any case.
 */
int store_profile_make(struct store_profile *profile, const struct calltree *tree,
	const struct picture_options *picture);
void store_profile_release(struct store_profile *profile);

/*
 * The id of what is known by @bytes and the profile's labels and start: of equal files there is one
 * profile. store_profile_identify_run(): there was never one like it.
 */
void store_profile_identify(struct store_profile *profile, const struct bytes *bytes);
void store_profile_identify_run(struct store_profile *profile);

/* Days since the epoch, by which tables are partitioned. */
uint16_t store_profile_day(const struct store_profile *profile);

/*
 * The same as one run of bytes, and back. store_profile_read() returns 0, -EBADMSG or -ENOMEM;
 * @profile is to be released in any case.
 */
void store_profile_write(const struct store_profile *profile, struct bytes *out);
int store_profile_read(struct store_profile *profile, const struct bytes *in);

/*
 * Take the next frame of @rows, which may be damaged, its hash aside. @texts: name, module and
 * file.
 */
struct store_frame {
	uint64_t hash;
	uint8_t kind;
	uint32_t line;
	char name[ROWS_TEXT_BYTES + 1], module[ROWS_TEXT_BYTES + 1], file[ROWS_TEXT_BYTES + 1];
};
void store_frame_read(struct store_frame *frame, struct rows *rows);

#endif
