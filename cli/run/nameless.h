/* SPDX-License-Identifier: MIT */
/*
 * Where the samples without a function's name are, and what would name them.
 */
#ifndef CLI_RUN_NAMELESS_H
#define CLI_RUN_NAMELESS_H

#include "libprof/profile/names.h"
#include "render/calltree.h"

struct nameless {
	char where[256];  /* the module that has most of them, in words; "" when nothing is known */
	char remedy[512]; /* what to do about it; "" likewise */
};

/* Fill @out from @tree (borrowed, finished), whose modules are those of @names (borrowed). */
void nameless_find(struct nameless *out, const struct calltree *tree, const struct names *names);

#endif
