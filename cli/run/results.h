/* SPDX-License-Identifier: MIT */
/*
 * One call tree, written to every output that was asked for.
 */
#ifndef CLI_RUN_RESULTS_H
#define CLI_RUN_RESULTS_H

#include "cli/options.h"
#include "cli/run/outputs.h"
#include "render/calltree.h"
#include "render/picture.h"

/*
 * Write @tree (finished) to @outputs, which were opened from options->outputs, each in the format
 * of its name. A failure is reported and the other outputs are still written.
 * Returns how many could not be written.
 */
unsigned results_write(const struct calltree *tree, const struct picture_options *picture,
	const struct options *options, struct outputs *outputs);

#endif
