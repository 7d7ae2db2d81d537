/* SPDX-License-Identifier: MIT */
/* From a profile in a file to what flamerun makes of it. */
#ifndef LIBPROF_API_DRAW_H
#define LIBPROF_API_DRAW_H

/*
 * Have flamerun name the profile in @profile (.pb) and write it to @path, whose ending says what
 * as. Both names are taken as they are.
 *
 * Returns 0; -ENOENT when there is no flamerun; -ENOMEM; -EIO when it failed.
 * Context: any thread, not a handler; no lock held. Waits. What the host notices: outsider.h.
 */
int draw(const char *profile, const char *path);

#endif
