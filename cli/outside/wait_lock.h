/* SPDX-License-Identifier: MIT */
/*
 * Who has the lock that a thread waits for, read out of the lock itself: the C library writes its
 * owner's thread number there. Nothing is said of what only looks like a lock: a holder that is
 * none is worse than none that is known.
 */
#ifndef CLI_OUTSIDE_WAIT_LOCK_H
#define CLI_OUTSIDE_WAIT_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/waits/wait_thread.h"

/* What @call waits for, as far as that may be a lock that has an owner. */
struct wait_lock wait_lock_of(const struct procfs_syscall *call);

/*
 * Words of memory: the one in front of the futex, the futex, those behind it. What could not be
 * read is all ones.
 */
#define WAIT_LOCK_WORDS 7u

/*
 * The thread that has @lock, by @words; 0: nobody, or it is no lock with an owner. It is what the
 * process says: the thread may be any, or none.
 */
pid_t wait_lock_owner(const struct wait_lock *lock, const uint32_t words[WAIT_LOCK_WORDS]);

/* The same, by the memory of @pid as it is now. Context: takes one system call. */
pid_t wait_lock_read(const struct wait_lock *lock, pid_t pid);

#endif
