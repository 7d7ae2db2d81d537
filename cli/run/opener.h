/* SPDX-License-Identifier: MIT */
/*
 * Showing a finished picture: the person's browser is started and left alone.
 */
#ifndef CLI_RUN_OPENER_H
#define CLI_RUN_OPENER_H

#include "cli/diag.h"

/*
 * Start $BROWSER (names separated by ':', "%s" in one is where the file goes) or, when that is not
 * set, xdg-open on @path. It belongs to no session, terminal or output of ours, and is not waited
 * for: only its exec is.
 *
 * Returns 0, or -errno with @message filled when nothing could be started.
 */
int opener_start(const char *path, struct diag_message *message);

#endif
