/* SPDX-License-Identifier: MIT */
/*
 * Getting hold of processes and their threads.
 *
 * Context: the tracing thread.
 */
#ifndef CLI_OUTSIDE_ATTACH_H
#define CLI_OUTSIDE_ATTACH_H

#include <stdbool.h>

#include "cli/outside/tracer.h"

enum attach_since {
	ATTACH_NOW,
	ATTACH_BIRTH, /* its first stack stands for what its threads have used until then, too */
	ATTACH_EXEC,  /* the next one: until then it is not sampled */
};

/*
 * Attach to every thread of @pid; none is stopped. @since: from when on samples count.
 * @start_cpu_ns: CPU time of the process that is not its image's.
 * Returns 0, or -errno with @message filled, and nothing is attached.
 */
int attach_process(struct tracer *tracer, pid_t pid, enum attach_since since,
	uint64_t start_cpu_ns, struct diag_message *message);

/*
 * Attach to threads of @target that are not attached yet. The kernel attaches us to those that a
 * traced thread creates, but not to its own workers, as io_uring's.
 */
void attach_new_threads(struct tracer *tracer, struct target *target);

/*
 * @tid, which the kernel attached for us because its creator was, has stopped for the first time.
 * Returns it, or NULL: it is none of ours, and free again.
 */
struct tracee *attach_born(struct tracer *tracer, pid_t tid);

/*
 * @target has exec'd: its only thread is @tid now, and stopped. The image that was is over.
 * attach_next_image() goes on with what it runs now.
 */
void attach_exec(struct tracer *tracer, struct target *target, pid_t tid);
void attach_next_image(struct tracer *tracer, struct target *target, pid_t tid);

/* The image of @target is over, or our interest in it: tell what it used and waited for. */
void attach_end_image(struct tracer *tracer, struct target *target, bool has_ended,
	bool left_by_exec);

/* The image of @target is over: tell what it used by target->cpu_ns, and that it left. */
void attach_end_target(struct tracer *tracer, struct target *target);

/* Let go of @tracee, which is stopped, with @signal for it, or 0, and free it. */
void attach_detach_thread(struct tracer *tracer, struct tracee *tracee, int signal);

/*
 * Do two processes run on the same memory, as a child by vfork(2) does? False where nobody tells.
 */
bool attach_shares_memory(pid_t pid, pid_t other);

/* The target of that pid, or NULL. */
struct target *attach_find(const struct tracer *tracer, pid_t pid);

/* None of its threads is traced any more: forget and free @target. */
void attach_remove_target(struct tracer *tracer, struct target *target);

#endif
