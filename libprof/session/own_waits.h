/* SPDX-License-Identifier: MIT */
/*
 * Record what the threads of a process that profiles itself wait for (FLAMEPROF_CLOCK_ELAPSED). The
 * worker observes them as flamerun observes its programs (libprof/waits/) and adds the waits to
 * session.profile.
 *
 * Context: the worker.
 */
#ifndef LIBPROF_SESSION_OWN_WAITS_H
#define LIBPROF_SESSION_OWN_WAITS_H

#include <stdint.h>

/*
 * Start to observe the process's threads if the clock is FLAMEPROF_CLOCK_ELAPSED. With other clocks
 * all functions of this file do nothing.
 */
void own_waits_begin(void);

/*
 * Observe threads if an observation is due. Returns the time of the next call (CLOCK_MONOTONIC);
 * UINT64_MAX: never.
 */
uint64_t own_waits_round(void);

/*
 * Add the waits that are known by now to session.profile. Call this before session.profile is
 * replaced.
 */
void own_waits_report(void);

/* Add all waits to session.profile and end the observation. */
void own_waits_end(void);

#endif
