/* SPDX-License-Identifier: MIT */
/*
 * The threads of a program that profiles itself. Threads that are created through the interposers
 * arm themselves. All others (older than the session, made by a raw clone(2), or in programs
 * without interposers) are found in /proc/self/task. The profiler's own threads are left out.
 */
#ifndef LIBPROF_SAMPLER_TASKS_H
#define LIBPROF_SAMPLER_TASKS_H

#include <stdint.h>

#include "libprof/sampler/sampler.h"

/*
 * Arm the calling thread with @thread, a claimed entry in which the caller has set the stack
 * bounds. If a scan has armed the thread already, @thread is released, and the scan's entry gets
 * these bounds.
 * Returns the entry that samples the thread now, or NULL if the thread could not be armed and
 * @thread was released. Context: the thread itself, not a handler.
 */
struct sampler_thread *tasks_arm_self(struct sampler_thread *thread);

/*
 * Find out the calling thread's stack bounds, arm it as tasks_arm_self() does, and watch for its
 * end if there are interposers. Returns as tasks_arm_self().
 */
struct sampler_thread *tasks_begin_self(struct sampler_thread *thread);

/*
 * Read /proc/self/task: arm threads that are not armed; end the sampling of threads that are gone.
 * Returns 0, or -errno if the list cannot be read. Context: one thread at a time, not a handler.
 */
int tasks_rescan(void);

/*
 * Call tasks_rescan() if there may be new threads. That is so if the link count of /proc/self/task,
 * which is the number of threads plus two (Linux, gVisor), has changed or is unknown, or if a
 * thread has ended that cannot report its own end.
 * A call makes a few system calls, and one more for each thread that cannot report its end. While
 * the process is idle, it makes only one or two. All calls together use at most 1/200 of a CPU.
 * Returns as tasks_rescan(). Context: as tasks_rescan().
 */
int tasks_scan(void);

/* Forget the parent's threads in a fork child, and unlock the lock. */
void tasks_reset_in_child(void);

/* ---- where stacks lie ------------------------------------------------------------------------ */
/*
 * Addresses of stacks. A thread that was created through the interposers stores the bounds of its
 * stack itself. For others the handler stores the stack pointer once, and the thread that drains
 * the rings finds the bounds here. Until then, and for stacks that stay unknown, the handler reads
 * the stack by system calls, which is slower.
 */

struct sampler_thread;

/*
 * Find the bounds of the stacks whose stack pointers handlers have stored since the last call.
 * Returns the number of stacks that were found. Context: one thread at a time, not a handler.
 */
unsigned stack_publish_seen(void);

/*
 * Returns the end of the stack of a thread with stack pointer @sp and control block @self in
 * mapping [@start, @end); 0 if the stack cannot be distinguished from others.
 */
uintptr_t stack_end(uintptr_t start, uintptr_t end, uintptr_t sp, uintptr_t self);

#endif
