/* SPDX-License-Identifier: MIT */
/*
 * One profiler for a process that holds two copies of the library: libflameprof.a in the program,
 * and libflameprof.so beside it, by LD_PRELOAD or as somebody's dependency. The shared one sees
 * threads, forks and signals, and may be flamerun's: it is the profiler, and the copy in the
 * program passes on what it is asked.
 */
#ifndef LIBPROF_SESSION_INJECTED_H
#define LIBPROF_SESSION_INJECTED_H

#include "libprof/flameprof.h"

/* The shared library's functions; all NULL when this copy is the profiler. */
struct injected {
	int (*active)(void);
	enum flameprof_status (*status)(void);
	int (*pause)(void);
	int (*resume)(void);
	int (*mark)(const char *name);
};

/* Written by a constructor, before the program's own code runs; read by all. */
extern struct injected injected __attribute__((visibility("hidden")));

/* Is another copy the profiler? Context: signal-safe. */
static inline int injected_is_there(void)
{
	return injected.active != NULL;
}

#endif
