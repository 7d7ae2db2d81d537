/* SPDX-License-Identifier: MIT */
/* Where the flamerun program is that belongs to this library. */
#ifndef LIBPROF_API_FIND_FLAMERUN_H
#define LIBPROF_API_FIND_FLAMERUN_H

#include <limits.h>

/*
 * Look beside the library (or the program that holds it), where flamerun was installed, then in the
 * folders of PATH that begin with '/', but not there in a set-user-ID program.
 *
 * Returns 0 and a path in @out, or -ENOENT. Context: any thread, not a handler.
 */
int find_flamerun(char out[PATH_MAX]);

#endif
