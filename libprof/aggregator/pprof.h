/* SPDX-License-Identifier: MIT */
/*
 * A profile as pprof has it, uncompressed. Nothing is named but what its owner named: names of code
 * in files are found later, by whoever reads the mappings.
 * Format: https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#ifndef LIBPROF_AGGREGATOR_PPROF_H
#define LIBPROF_AGGREGATOR_PPROF_H

#include "libprof/flameprof_profile.h"

/*
 * What is not in profile.proto's own words:
 *
 *   sample types  samples/count, then cpu/nanoseconds (wall/nanoseconds of elapsed time,
 *                 vm/nanoseconds of FLAMEPROF_CLOCK_VM); where both are there, vm/nanoseconds
 *                 third: each stack has one of the two times
 *   functions     those of virtual machines have a file and lie in a mapping "[vm]"
 *   labels        "thread_id", a number, and "thread", its name
 *   comments      "title: TEXT"; "dropped: WEIGHT" when samples are missing; for each mark
 *                 "mark: MS TID NAME": milliseconds since the start with three decimals, the
 *                 thread, the name
 *   no stack      credit that has none lies in a function "[unsampled]", others in "[no stack]"
 */
#define PPROF_TITLE	     "title: "
#define PPROF_DROPPED	     "dropped: "
#define PPROF_MARK	     "mark: "

/*
 * Replace @path by @profile, however the name ends.
 * Returns 0, -ENOMEM, or -errno of the file: then what was there is untouched.
 * Context: one thread at a time for each profile, not a handler.
 */
int profile_write_pb(const struct flameprof_profile *profile, const char *path);

#endif
