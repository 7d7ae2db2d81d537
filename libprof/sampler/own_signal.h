/* SPDX-License-Identifier: MIT */
/*
 * The kernel's action for our signal: our handler is installed when sampling begins, and the
 * program's own action is kept in host.c. Ours stays after the end, too, because a signal of ours
 * may be pending for as long as a thread blocks it, and would kill a program that has no handler.
 */
#ifndef LIBPROF_SAMPLER_OWN_SIGNAL_H
#define LIBPROF_SAMPLER_OWN_SIGNAL_H

#include <stdint.h>

/*
 * The kernel's struct, on every architecture that is supported; libc adds flags and the restorer.
 */
struct kernel_action {
	uintptr_t handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/*
 * Put our handler in, keeping what was there; nothing to do when it is in. Returns 0 or -errno.
 * Context: one thread at a time, not a handler.
 */
int own_signal_install(void);

/* What the program asked for into the kernel's entry, and ours again. Context: signal-safe. */
void own_signal_restore(void);
void own_signal_reinstall(void);

/* Has somebody, past the interposers, put another handler in? Context: any thread, signal-safe. */
int own_signal_is_displaced(void);

/*
 * Does another profiler use our signal? It has a handler, and a timer that sends the signal. A
 * handler alone does not count. Context: one thread, not a handler, not sampling.
 */
int own_signal_is_used_by_program(void);

#endif
