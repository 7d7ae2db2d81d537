/* SPDX-License-Identifier: MIT */
/*
 * A profile as pprof has it, uncompressed. Nothing is named but what its owner named: names of code
 * in files are found later, by whoever reads the mappings.
 */
#ifndef LIBPROF_AGGREGATOR_PPROF_H
#define LIBPROF_AGGREGATOR_PPROF_H

#include "libprof/flameprof_profile.h"

/*
 * Replace @path by @profile, however the name ends. Credit without a stack lies in a function
 * "[unsampled]", others in "[no stack]".
 * Returns 0, -ENOMEM, or -errno of the file: then what was there is untouched.
 * Context: one thread at a time for each profile, not a handler.
 */
int profile_write_pb(const struct flameprof_profile *profile, const char *path);

#endif
