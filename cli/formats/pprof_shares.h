/* SPDX-License-Identifier: MIT */
/* The weight of a tree by node and thread. Private to cli/formats/pprof_*.c. */
#ifndef CLI_FORMATS_PPROF_SHARES_H
#define CLI_FORMATS_PPROF_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "render/calltree.h"

#define PPROF_NO_THREAD UINT32_MAX

struct pprof_share {
	uint32_t node;
	uint32_t thread; /* PPROF_NO_THREAD: nobody's */
	uint64_t weight; /* > 0 */
};

/*
 * Whose is the self weight of each node of @tree (finished)? What its samples say, never more than
 * the node has; the rest is nobody's. One share for each node and thread, in their order.
 *
 * Returns 0, *@shares (from malloc) and their *@count; or -ENOMEM.
 */
int pprof_share_out(const struct calltree *tree, struct pprof_share **shares, size_t *count);

#endif
