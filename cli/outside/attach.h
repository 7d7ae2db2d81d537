/* SPDX-License-Identifier: MIT */
/*
 * Attach to processes and their threads by ptrace(2), and keep a struct target for each process and
 * a struct tracee for each thread.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_ATTACH_H
#define CLI_OUTSIDE_ATTACH_H

#include <stdbool.h>

#include "cli/outside/tracer.h"

enum attach_since {
	ATTACH_NOW, /* count CPU time from now */
	/* Count all CPU time. The weight of the first stack includes the time before it. */
	ATTACH_BIRTH,
	/* Sample the process and count its CPU time only from its next exec on. */
	ATTACH_EXEC,
};

/*
 * Attach to every thread of @pid without stopping it.
 *
 * @since         the time from which CPU time is counted
 * @start_cpu_ns  CPU time in ns of the process that is not counted for its image
 *
 * Returns 0, or -errno with @message filled and nothing attached.
 */
int attach_process(struct tracer *tracer, pid_t pid, enum attach_since since,
	uint64_t start_cpu_ns, struct diag_message *message);

/*
 * Attach to threads of @target that are not attached yet. The kernel attaches the tracer to each
 * thread that a traced thread creates. It does not do so for workers that the kernel creates, for
 * example for io_uring.
 */
void attach_new_threads(struct tracer *tracer, struct target *target);

/*
 * Handle the first stop of thread @tid, which the kernel attached because its creator is traced.
 * Returns its tracee. If the thread is not to be sampled, detach it and return NULL.
 */
struct tracee *attach_born(struct tracer *tracer, pid_t tid);

/*
 * Handle an exec of @target, whose only thread is now @tid and is stopped. First call
 * attach_exec(), which ends the old image, then attach_next_image(), which begins the new one.
 */
void attach_exec(struct tracer *tracer, struct target *target, pid_t tid);
void attach_next_image(struct tracer *tracer, struct target *target, pid_t tid);

/* Record the CPU time and waits of @target's image, whose sampling ends now. */
void attach_end_image(struct tracer *tracer, struct target *target, bool has_ended,
	bool left_by_exec);

/* Record that @target's image has ended; target->cpu_ns is the CPU time at its end. */
void attach_end_target(struct tracer *tracer, struct target *target);

/* Detach the stopped @tracee and free it. If @signal is not 0, the thread gets this signal. */
void attach_detach_thread(struct tracer *tracer, struct tracee *tracee, int signal);

/*
 * Do two processes share their memory, as after vfork(2)? False also if the kernel refuses kcmp(2).
 */
bool attach_shares_memory(pid_t pid, pid_t other);

/* Returns the target with @pid, or NULL. */
struct target *attach_find(const struct tracer *tracer, pid_t pid);

/* Remove and free @target. Call this when none of its threads is traced any more. */
void attach_remove_target(struct tracer *tracer, struct target *target);

#endif
