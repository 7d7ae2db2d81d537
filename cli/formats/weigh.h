/* SPDX-License-Identifier: MIT */
/*
 * Compute weights of all ranks (processes of an MPI job) in one file: the sum per stack, minimum,
 * maximum and sum per function, and totals per rank. Ranks are handled one after the other, so that
 * memory is proportional to the file's stacks and not to its ranks.
 *
 * Context: any thread, with a struct weigh of its own.
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
	/* [stack] -> weight of all ranks, on CPU and waiting */
	uint64_t *self;
	/* the functions; function N is frame N of this tree */
	struct calltree *names;
	struct ranks_function *function; /* [function] */
	struct ranks_one *one;		 /* [rank]; member `node` is not set */
	/* Private. */
	uint32_t *function_of; /* [stack] */
	uint8_t *marks;	       /* [stack] */
	uint64_t *total;       /* [stack] -> weight in the current rank */
	/* [function] -> total weight in the current rank */
	uint64_t *in_function;
};

/*
 * Compute the weights of @file (borrowed). Returns 0, -EBADMSG if a rank is damaged, -EOVERFLOW or
 * -ENOMEM. The caller must release @out in all cases.
 */
int weigh_file(struct weigh *out, const struct ranks_file *file, enum calltree_times times);
void weigh_release(struct weigh *weigh);

#endif
