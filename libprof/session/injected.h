/* SPDX-License-Identifier: MIT */
/*
 * Choose which copy of the library is the profiler if a process has two: libflameprof.a in the
 * program, and libflameprof.so, loaded by LD_PRELOAD or as a dependency. The shared library is the
 * profiler, because it sees threads, forks and signals and may belong to flamerun. The copy in the
 * program forwards its calls.
 */
#ifndef LIBPROF_SESSION_INJECTED_H
#define LIBPROF_SESSION_INJECTED_H

#include "libprof/flameprof.h"

/* The shared library's functions; all NULL if this copy is the profiler. */
struct injected {
	int (*active)(void);
	enum flameprof_status (*status)(void);
	int (*pause)(void);
	int (*resume)(void);
	int (*mark)(const char *name);
};

/* Written by a constructor, before the program's own code runs. */
extern struct injected injected __attribute__((visibility("hidden")));

/* Returns 1 if another copy is the profiler. Context: signal-safe. */
static inline int injected_is_there(void)
{
	return injected.active != NULL;
}

#endif
