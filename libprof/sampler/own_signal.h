/* SPDX-License-Identifier: MIT */
/*
 * The kernel's action for the sampling signal. Our handler is installed when sampling begins;
 * host.c stores the program's action. Our handler stays installed after sampling ends, because an
 * expiry may be pending for as long as a thread blocks the signal, and would kill a program without
 * a handler.
 */
#ifndef LIBPROF_SAMPLER_OWN_SIGNAL_H
#define LIBPROF_SAMPLER_OWN_SIGNAL_H

#include <stdint.h>

/*
 * Argument of rt_sigaction; equal on all supported architectures. libc sets the restorer and adds
 * flags.
 */
struct kernel_action {
	uintptr_t handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/*
 * Install our handler and store the program's action. Does nothing if our handler is installed.
 * Returns 0 or -errno. Context: one thread at a time, not a handler.
 */
int own_signal_install(void);

/*
 * Set the kernel's action: own_signal_restore() sets the program's, own_signal_reinstall() ours.
 * Context: signal-safe.
 */
void own_signal_restore(void);
void own_signal_reinstall(void);

/*
 * Returns 1 if our handler is not installed or was replaced by a system call. Context: any thread,
 * signal-safe.
 */
int own_signal_is_displaced(void);

/*
 * Returns 1 if another profiler uses our signal: there is a handler for it and a timer that sends
 * it. A handler alone does not count. Context: one thread, not a handler, not sampling.
 */
int own_signal_is_used_by_program(void);

#endif
