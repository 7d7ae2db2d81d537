/* SPDX-License-Identifier: MIT */
/*
 * The threads of a program that samples itself. Those born through the interposers arm themselves;
 * all others (older than the session, made by raw clone, in programs without interposers) are found
 * in /proc/self/task. Threads of the profiler's own are kept out.
 */
#ifndef LIBPROF_SAMPLER_TASKS_H
#define LIBPROF_SAMPLER_TASKS_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"

/*
 * Arm the calling thread with @thread, claimed, whose stack bounds the caller has set. When a
 * rescan was faster that claim is given back and the one it made keeps sampling, with these bounds.
 * Returns the entry that samples the thread now, or NULL: @thread has been given back.
 * Context: the thread itself, not a handler.
 */
struct sampler_thread *tasks_arm_self(struct sampler_thread *thread);

/*
 * Look through /proc/self/task: arm threads that nobody armed, settle those that are gone.
 * Returns 0, or -errno when the list can't be read. Context: one thread at a time, not a handler.
 */
int tasks_rescan(void);

/*
 * The same if there may be new threads: the number of links of /proc/self/task, which is that of
 * threads and two (Linux, gVisor), is not what it was, or cannot tell; or one of those that were
 * armed from outside is gone. Costs a few system calls, one of them for each of those; while the
 * process is idle, a single one. Never takes more than a two-hundredth of a CPU.
 * Returns and context as tasks_rescan().
 */
int tasks_look(void);

/* In a fork child: no thread but the calling one, no lock held. */
void tasks_reset_in_child(void);

#endif
