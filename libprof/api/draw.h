/* SPDX-License-Identifier: MIT */
/* From a profile in a file to what flamerun makes of it. */
#ifndef LIBPROF_API_DRAW_H
#define LIBPROF_API_DRAW_H

/*
 * Have flamerun name the profile in @profile (.pb) and write it to @path, whose ending says as what.
 * Both names are taken as they are.
 *
 * Returns 0; -ENOENT when there is no flamerun; -ENOMEM; -EIO when it failed.
 * Context: any thread, not a handler; no lock held. Waits; see outsider.h for what the host notices.
 */
int draw(const char *profile, const char *path);

#endif
