/* SPDX-License-Identifier: MIT */
/* Code that threads and handlers will still run is not unloaded. */
#ifndef LIBPROF_SAMPLER_STAY_LOADED_H
#define LIBPROF_SAMPLER_STAY_LOADED_H

/*
 * Keep the library's code mapped until the process ends, also where it is part of a plugin that is
 * closed. The first call does it. Context: any thread, not a handler and not under a lock of ours:
 * a constructor that waits for that lock may hold the loader's.
 */
void stay_loaded(void);

#endif
