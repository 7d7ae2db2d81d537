/* SPDX-License-Identifier: MIT */
/*
 * fork() with no lock of this folder held by a thread that the child will not have. Stubs and their
 * addresses are the child's, too.
 */
#ifndef LIBPROF_TRAMPOLINE_FORK_H
#define LIBPROF_TRAMPOLINE_FORK_H

/*
 * To be called before the first lock is taken; does its work once. publish.c's lock is taken before
 * these: who registers for it calls this first, so that its handler comes later in the list and
 * runs earlier. Context: not a handler.
 */
void trampoline_fork_register(void);

#endif
