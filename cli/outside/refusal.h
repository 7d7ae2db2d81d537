/* SPDX-License-Identifier: MIT */
/*
 * Why a process cannot be sampled from outside, in words: which rule said no, and what would allow
 * it. Rules: ptrace(2), "Ptrace access mode checking"; the kernel's Documentation/admin-guide/LSM/
 * Yama.rst.
 */
#ifndef CLI_OUTSIDE_REFUSAL_H
#define CLI_OUTSIDE_REFUSAL_H

#include <sys/types.h>

#include "cli/diag.h"

/*
 * What can be said before trying: no such process, a thread's number, a kernel thread, one that has
 * ended, is traced already, or is of another word size.
 * Returns 0, or -errno with @message filled.
 */
int refusal_foresee(pid_t pid, struct diag_message *message);

/* Fill @message for @error (a negative errno) of attaching to @pid. Returns @error. */
int refusal_explain(pid_t pid, int error, struct diag_message *message);

#endif
