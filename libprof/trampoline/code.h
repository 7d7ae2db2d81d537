/* SPDX-License-Identifier: MIT */
/* The host's own code: regions of one slot each. Its API is flameprof_code_add() and _remove(). */
#ifndef LIBPROF_TRAMPOLINE_CODE_H
#define LIBPROF_TRAMPOLINE_CODE_H

/* Hold the lock across fork(). Context: pthread_atfork handlers. */
void code_fork_prepare(void);
void code_fork_done(void);

#endif
