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
 * The same with the bounds of its stack looked up, and its end watched where interposers can.
 */
struct sampler_thread *tasks_begin_self(struct sampler_thread *thread);

/*
 * Look through /proc/self/task: arm threads that nobody armed, credit and end those that are gone.
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
int tasks_scan(void);

/* In a fork child: no thread but the calling one, no lock held. */
void tasks_reset_in_child(void);

/* ---- where stacks lie ------------------------------------------------------------------------ */
/*
 * Where stacks lie. A thread that met us at its birth told the bounds of its own; for others the
 * handler shows once what it sees, and whoever empties the rings looks it up here. Until then, and
 * for stacks that stay unknown, the kernel does the handler's loads: slower, never wrong.
 */

struct sampler_thread;

/*
 * Look up the stacks that handlers have shown since the last call. Returns how many became known.
 * Context: one thread at a time, not a handler.
 */
unsigned stack_publish_seen(void);

/*
 * The part of mapping [@start, @end) that is the stack of a thread that had @sp in it and its
 * control block at @self. Returns its end, or 0 when it can't be told from others'.
 */
uintptr_t stack_end(uintptr_t start, uintptr_t end, uintptr_t sp, uintptr_t self);

#endif
