/* SPDX-License-Identifier: MIT */
/*
 * What the threads of a process that profiles itself wait for (FLAMEPROF_CLOCK_ELAPSED): its worker
 * looks at them as flamerun does at those of its programs (libprof/waits/). The profile filled is
 * session.profile.
 *
 * Context: the worker.
 */
#ifndef LIBPROF_SESSION_OWN_WAITS_H
#define LIBPROF_SESSION_OWN_WAITS_H

#include <stdint.h>

/* Begin, where the session counts elapsed time; else nothing of this does anything. */
void own_waits_begin(void);

/* Do what is due. Returns when there will be more (CLOCK_MONOTONIC), UINT64_MAX: never. */
uint64_t own_waits_round(void);

/* Put what is known by now into the profile, which another one follows. */
void own_waits_tell(void);

/* Put all that is known into the profile, and end. */
void own_waits_end(void);

#endif
