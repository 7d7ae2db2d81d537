/* SPDX-License-Identifier: MIT */
/*
 * Make a stopped thread of another process execute system calls for the tracer. The tracer sets the
 * thread's registers for the call and its pc to a system call instruction in the vDSO, lets the
 * thread run this one instruction, and restores the registers. The program's code is not changed.
 *
 * Context: the tracing thread, with SIGCHLD blocked. The traced thread must be in a
 * signal-delivery-stop, in a PTRACE_EVENT_STOP or at the end of a system call (ptrace(2)), because
 * at other stops the kernel overwrites registers when it resumes the thread.
 */
#ifndef CLI_OUTSIDE_REMOTE_CALL_H
#define CLI_OUTSIDE_REMOTE_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/ptrace.h"

/* Number of scratch words in the thread's memory, for the arguments of calls. */
#define REMOTE_WORDS 8u

/* Registers in the layout of arch/ptrace.h. */
#define REMOTE_REGSET_WORDS (ARCH_REGSET_BYTES / 8)

/*
 * Read or write the registers of the stopped thread @tid. Returns 0, or -errno, which is -EINVAL if
 * the program has another word size.
 */
int remote_get_registers(pid_t tid, uint64_t regset[REMOTE_REGSET_WORDS]);
int remote_set_registers(pid_t tid, const uint64_t regset[REMOTE_REGSET_WORDS]);

struct remote_call {
	pid_t tid;
	uint64_t regset[REMOTE_REGSET_WORDS]; /* as the thread left them */
	uint64_t blocked;		      /* its signal mask */
	/* Address of a system call instruction in the thread's vDSO. */
	uintptr_t instruction;
	/* Address of REMOTE_WORDS scratch words in the thread's memory. */
	uintptr_t scratch;
	uintptr_t kept[REMOTE_WORDS]; /* saved scratch words */
	/* A signal that arrived during the call and must be delivered later; or 0. */
	int signal;
	/* A stop signal such as SIGSTOP stopped the process during the call. */
	bool has_stopped;
	/* A seccomp filter or the program itself intercepted the call. */
	bool is_forbidden;
};

/*
 * Prepare calls in the stopped thread @tid. @vdso is the address of the vDSO in its memory, 0 if it
 * has none. Words for arguments lie below the thread's stack pointer; remote_end() restores them.
 * Returns 0; -ENOSYS if there is no system call instruction; -EAGAIN if the thread cannot make
 * calls at this stop; or another -errno, mostly -ESRCH because the thread has ended.
 */
int remote_begin(struct remote_call *call, pid_t tid, uintptr_t vdso);

/* Write or read words at call->scratch, from word @index on. Returns 0 or -errno. */
int remote_put(
	const struct remote_call *call, unsigned index, const uintptr_t *words, unsigned count);
int remote_get(const struct remote_call *call, unsigned index, uintptr_t *word);

/*
 * Execute system call @number in the thread. Returns the call's result; -ESRCH if the thread is
 * ending; or -ENOSYS with call->is_forbidden set if the call was intercepted.
 */
long remote_run(struct remote_call *call, long number, const uintptr_t arguments[6]);

/*
 * Restore the thread, which stays stopped. Returns the signal with which to resume it, or 0. If a
 * stop signal arrived during the calls, the thread stops again as soon as it is resumed.
 */
int remote_end(struct remote_call *call);

#endif
