/* SPDX-License-Identifier: MIT */
/*
 * Makes a stopped thread of another process execute system calls for its tracer. The tracer sets
 * the thread's registers for the call and its pc to a system call instruction in the vDSO, lets it
 * run that one instruction, and restores the registers afterwards. The program's code is not
 * changed.
 *
 * Context: the thread that traces, with SIGCHLD blocked. The traced thread has to be in a
 * signal-delivery-stop, in a PTRACE_EVENT_STOP or at the end of a system call (ptrace(2)): in other
 * stops the kernel overwrites registers on its way out.
 */
#ifndef CLI_OUTSIDE_REMOTE_CALL_H
#define CLI_OUTSIDE_REMOTE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/ptrace.h"

/* Number of words in the thread's memory for arguments. */
#define REMOTE_WORDS 8u

/* Registers in the layout of arch/ptrace.h. */
#define REMOTE_REGSET_WORDS (ARCH_REGSET_BYTES / 8)

/*
 * Read or write the registers of the stopped thread @tid. Returns 0 or -errno; -EINVAL: the program
 * has another word size.
 */
int remote_get_registers(pid_t tid, uint64_t regset[REMOTE_REGSET_WORDS]);
int remote_set_registers(pid_t tid, const uint64_t regset[REMOTE_REGSET_WORDS]);

struct remote_call {
	pid_t tid;
	uint64_t regset[REMOTE_REGSET_WORDS]; /* the thread's own registers */
	uint64_t blocked;	      /* the signals that it blocks */
	/* address of a system call instruction */
	uintptr_t instruction;
	/* address of REMOTE_WORDS words in the thread's memory */
	uintptr_t scratch;
	uintptr_t kept[REMOTE_WORDS]; /* the words before the call */
	/* a signal that arrived during the call and is to be delivered, or 0 */
	int signal;
	/* the process was stopped during the call, by SIGSTOP or the like */
	bool has_stopped;
	/* a seccomp filter, or the program, intercepts its system calls */
	bool is_forbidden;
};

/*
 * Prepare calls in the stopped thread @tid. @vdso: start of the vDSO in its memory, 0: it has none.
 * Words below its stack pointer are used for arguments; remote_end() restores them. Returns 0;
 * -ENOSYS: there is no system call instruction; -EAGAIN: the thread cannot make calls at this stop;
 * or another -errno, mostly -ESRCH: the thread has ended.
 */
int remote_begin(struct remote_call *call, pid_t tid, uintptr_t vdso);

/* Write and read the words at call->scratch. Returns 0 or -errno. */
int remote_put(
	const struct remote_call *call, unsigned index, const uintptr_t *words, unsigned count);
int remote_get(const struct remote_call *call, unsigned index, uintptr_t *word);

/*
 * Execute system call @number. Returns its result; -ESRCH: the thread is ending; or -ENOSYS with
 * call->is_forbidden set: the call was intercepted.
 */
long remote_run(struct remote_call *call, long number, const uintptr_t arguments[6]);

/*
 * Restore the thread, which stays stopped. Returns the signal to resume it with, or 0. If its
 * process was stopped during the calls, the thread stops as well once it is resumed.
 */
int remote_end(struct remote_call *call);

#endif
