/* SPDX-License-Identifier: MIT */
/*
 * Scopes inside libprof/api/. What the session has to do with them: one that longjmp() left behind
 * still holds the profiler, and is ended before anybody else is told that it is busy.
 */
#ifndef LIBPROF_API_SCOPE_H
#define LIBPROF_API_SCOPE_H

#include "libprof/flameprof_scope.h"

/*
 * End the running scope, picture and all, if it lies in this thread's stack below @frame: its block
 * has been left. One elsewhere may be alive for all we know, and is left alone.
 *
 * @frame  __builtin_frame_address(0) of the function the program called
 *
 * Context: any thread, not a handler, no lock held; waits as flameprof_scope_end().
 */
void scope_end_left(const void *frame);

/*
 * Stop the profiler, then name, draw and write what it recorded to @path; fills in @report but for
 * `left` and `error`. Returns 0 or what flameprof_stop() or flameprof_profile_write() returned.
 * Context: any thread, not a handler, no lock held.
 */
int scope_write(const char *path, struct flameprof_scope_report *report);

#endif
