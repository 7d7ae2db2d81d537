/* SPDX-License-Identifier: MIT */
/*
 * Attaches to processes and their threads, and keeps their struct target and struct tracee.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_ATTACH_H
#define CLI_OUTSIDE_ATTACH_H

#include <stdbool.h>

#include "cli/outside/tracer.h"

enum attach_since {
	ATTACH_NOW,   /* count CPU time from now on */
	ATTACH_BIRTH, /* the first stack also stands for the CPU time before */
	ATTACH_EXEC,  /* count from its next exec on; it is not sampled before */
};

/*
 * Attach to every thread of @pid without stopping it.
 *
 * @since	  from when on CPU time is counted
 * @start_cpu_ns  CPU time of the process that does not belong to its image
 *
 * Returns 0, or -errno with @message filled; then nothing is attached.
 */
int attach_process(struct tracer *tracer, pid_t pid, enum attach_since since,
	uint64_t start_cpu_ns, struct diag_message *message);

/*
 * Attach to threads of @target that are not attached yet. The kernel attaches the tracer to threads
 * that a traced thread creates, but not to its own workers, for example io_uring's.
 */
void attach_new_threads(struct tracer *tracer, struct target *target);

/*
 * @tid, which the kernel attached because its creator was traced, has stopped for the first time.
 * Returns its tracee, or NULL: it is not to be sampled, and has been detached.
 */
struct tracee *attach_born(struct tracer *tracer, pid_t tid);

/*
 * @target has exec'd: its only thread is @tid now, and stopped. attach_exec() ends the old image,
 * attach_next_image() begins the new one.
 */
void attach_exec(struct tracer *tracer, struct target *target, pid_t tid);
void attach_next_image(struct tracer *tracer, struct target *target, pid_t tid);

/* Record the end of @target's image, or of its sampling: CPU time and waits. */
void attach_end_image(struct tracer *tracer, struct target *target, bool has_ended,
	bool left_by_exec);

/* Record that @target's image has ended with target->cpu_ns of CPU time. */
void attach_end_target(struct tracer *tracer, struct target *target);

/* Detach @tracee, which is stopped, delivering @signal if that is not 0, and free it. */
void attach_detach_thread(struct tracer *tracer, struct tracee *tracee, int signal);

/*
 * Do two processes share their memory, as a vfork(2) child and its parent do? Returns false if the
 * kernel does not tell.
 */
bool attach_shares_memory(pid_t pid, pid_t other);

/* Returns the target with @pid, or NULL. */
struct target *attach_find(const struct tracer *tracer, pid_t pid);

/* Remove and free @target, of which no thread is traced any more. */
void attach_remove_target(struct tracer *tracer, struct target *target);

#endif
