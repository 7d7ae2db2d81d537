/* SPDX-License-Identifier: MIT */
/*
 * Write a profile as pprof, uncompressed. Only names that the code's owner announced are in it; a
 * reader of the file symbolizes the rest by the mappings.
 */
#ifndef LIBPROF_AGGREGATOR_PPROF_H
#define LIBPROF_AGGREGATOR_PPROF_H

#include "libprof/flameprof_profile.h"

/*
 * Write @profile to @path, whatever its ending, replacing a file there. Credit without a stack has
 * the function "[unsampled]", other samples without a stack have "[no stack]".
 * Returns 0, -ENOMEM, or -errno of the file, which is unchanged then.
 * Context: one thread at a time per profile, not a handler.
 */
int profile_write_pb(const struct flameprof_profile *profile, const char *path);

#endif
