/* SPDX-License-Identifier: MIT */
/*
 * System calls that a traced thread makes for its tracer: its registers are set so that it is about
 * to run the instruction of the vDSO that makes a system call, it runs that one instruction, and
 * gets its own registers back. Nothing is written to code.
 *
 * Context: the tracing thread, in which SIGCHLD is blocked; the other one is in a stop in which a
 * signal is, or would have been, delivered, or in one at the end of a system call (ptrace(2)).
 */
#ifndef CLI_OUTSIDE_REMOTE_CALL_H
#define CLI_OUTSIDE_REMOTE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/ptrace.h"

/* Memory of the thread that arguments may lie in. */
#define REMOTE_WORDS 8u

struct remote_call {
	pid_t tid;
	uint64_t regset[ARCH_REGSET_BYTES / 8]; /* its own */
	uint64_t blocked;			/* signals, too */
	uintptr_t instruction;
	uintptr_t scratch; /* address of REMOTE_WORDS words in the thread's memory */
	uintptr_t kept[REMOTE_WORDS]; /* what they were */
	int signal;	   /* that came meanwhile and is to be delivered, 0: none */
	bool has_stopped;  /* all of its process was stopped meanwhile */
	bool is_forbidden; /* a filter, or the program itself, takes its system calls */
};

/*
 * Prepare the stopped thread @tid, in whose memory the vDSO begins at @vdso. Words just below its
 * stack pointer are used for arguments, and get back what they were.
 * Returns 0; -ENOSYS: there is no such instruction; -EAGAIN: not at this stop, its registers may
 * not be changed now, or it has no room on its stack; or -ESRCH when it has gone.
 */
int remote_begin(struct remote_call *call, pid_t tid, uintptr_t vdso);

/* Write and read the words at call->scratch. Returns 0 or -errno. */
int remote_put(
	const struct remote_call *call, unsigned index, const uintptr_t *words, unsigned count);
int remote_get(const struct remote_call *call, unsigned index, uintptr_t *word);

/*
 * Make system call @number. Returns its result; -ESRCH: the thread is ending; or -ENOSYS with
 * call->is_forbidden: the call was not made.
 */
long remote_run(struct remote_call *call, long number, const uintptr_t arguments[6]);

/*
 * Give the thread its registers back; it is still stopped. Returns the signal to let it go on with,
 * or 0. When call->has_stopped, it is to be asked to stop again after that (PTRACE_INTERRUPT).
 */
int remote_end(struct remote_call *call);

#endif
