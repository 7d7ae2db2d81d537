/* SPDX-License-Identifier: MIT */
/*
 * When an output could not be written, a run that may have taken hours is not thrown away: its
 * stacks go to a file in the folder for temporary files, from which they can be drawn again.
 */
#ifndef CLI_RUN_RESCUE_H
#define CLI_RUN_RESCUE_H

#include <limits.h>

#include "cli/diag.h"
#include "render/calltree.h"

/*
 * Write @tree (finished) as folded stacks to a new file "flamerun-XXXXXX.folded" in $TMPDIR, or
 * where that is not set or has no room for it, in /tmp, /var/tmp or, as memory may be what is left,
 * in /dev/shm.
 *
 * Returns 0 and its name in @path, or -errno with @message filled and nothing left behind.
 */
int rescue_stacks(const struct calltree *tree, char path[PATH_MAX], struct diag_message *message);

#endif
