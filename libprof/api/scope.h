/* SPDX-License-Identifier: MIT */
/* From a running profiler to a file and a report of it: what scopes and snapshots end with. */
#ifndef LIBPROF_API_SCOPE_H
#define LIBPROF_API_SCOPE_H

#include "libprof/flameprof_scope.h"

/*
 * Stop the profiler, then name, draw and write what it recorded to @path; fills in @report but for
 * `left` and `error`. Returns 0 or what flameprof_stop() or flameprof_profile_write() returned.
 * Context: any thread, not a handler, no lock held.
 */
int scope_write(const char *path, struct flameprof_scope_report *report);

#endif
