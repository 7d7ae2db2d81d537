/* SPDX-License-Identifier: MIT */
/*
 * What the ranks of one file weigh: of each stack all of them together, of each function the least,
 * the most and the sum, of each rank what it did. One rank after the other, so that memory is in
 * proportion to the stacks of the file and not to its ranks.
 *
 * Context: any thread, each with its own.
 */
#ifndef CLI_FORMATS_WEIGH_H
#define CLI_FORMATS_WEIGH_H

#include <stdint.h>

#include "cli/formats/ranks.h"
#include "cli/formats/ranks_file.h"
#include "render/calltree.h"

struct weigh {
	const struct ranks_file *file;
	enum calltree_times times;
	/* Results. */
	uint64_t *self;			 /* [stack], of all ranks, all times */
	struct calltree *names;		 /* whose frame number N is function N */
	struct ranks_function *function; /* [function] */
	struct ranks_one *one;		 /* [rank]; nodes are not numbered */
	/* Private. */
	uint32_t *function_of; /* [stack] */
	uint8_t *marks;	       /* [stack] */
	uint64_t *total;       /* [stack], of one rank */
	uint64_t *in_function; /* [function], likewise */
};

/*
 * Weigh @file (borrowed). Returns 0, -EBADMSG where a rank is damaged, -EOVERFLOW, -ENOMEM; to be
 * released in any case.
 */
int weigh_file(struct weigh *out, const struct ranks_file *file, enum calltree_times times);
void weigh_release(struct weigh *weigh);

#endif
