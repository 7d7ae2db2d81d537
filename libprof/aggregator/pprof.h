/* SPDX-License-Identifier: MIT */
/*
 * Write a profile as pprof, uncompressed. The file names only functions whose names were announced
 * to the library. A pprof reader finds the other names by the mappings.
 */
#ifndef LIBPROF_AGGREGATOR_PPROF_H
#define LIBPROF_AGGREGATOR_PPROF_H

#include "libprof/flameprof_profile.h"

/*
 * Write @profile to @path, whatever the ending of @path is, replacing an existing file. A stack
 * without frames gets the function "[unsampled]" if its kind is WIRE_KIND_CREDIT, else "[no
 * stack]".
 * Returns 0, -ENOMEM, or -errno of the file; then the existing file is unchanged.
 * Context: one thread at a time per profile, not a handler.
 */
int profile_write_pb(const struct flameprof_profile *profile, const char *path);

#endif
