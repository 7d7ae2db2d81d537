/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: "outermost;...;innermost weight\n", the format of stackcollapse and flamegraph.pl.
 */
#ifndef CLI_FORMATS_FOLDED_H
#define CLI_FORMATS_FOLDED_H

#include <stdint.h>
#include <stdio.h>

#include "render/calltree.h"

/*
 * Write every node of @tree (finished) that has self weight as one line, in a stable order. ';',
 * control bytes and newlines in names are replaced.
 * Returns 0, or -errno of @out.
 */
int folded_write(const struct calltree *tree, FILE *out);

/*
 * Add the stacks of @in to @tree (not finished by this). Lines that are not "stack weight" are
 * counted in *@bad, with the number of the first one in *@first_bad (from 1); lines of any length.
 * Returns 0, or -errno of reading, or -ENOMEM.
 */
int folded_read(struct calltree *tree, FILE *in, uint64_t *bad, uint64_t *first_bad);

#endif
