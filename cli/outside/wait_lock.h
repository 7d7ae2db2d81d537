/* SPDX-License-Identifier: MIT */
/*
 * Find the thread that holds the lock for which another thread waits. The C library writes the
 * holder's thread id to the lock. If the memory does not look exactly like a lock, report no
 * holder, because a wrong holder is worse than none.
 */
#ifndef CLI_OUTSIDE_WAIT_LOCK_H
#define CLI_OUTSIDE_WAIT_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/waits/wait_thread.h"

/* Returns the futex that @call waits for. .address is 0 if it is no lock with an owner. */
struct wait_lock wait_lock_of(const struct procfs_syscall *call);

/*
 * Number of 32-bit words to read: one before the futex, the futex, and five after it. A word that
 * could not be read is all ones.
 */
#define WAIT_LOCK_WORDS 7u

/*
 * Returns the id of the thread that holds @lock according to @words. Returns 0 if no thread holds
 * it, or if the words are not those of a lock with an owner. A process can write any number to a
 * lock, so the caller must check that the result is a thread.
 */
pid_t wait_lock_owner(const struct wait_lock *lock, const uint32_t words[WAIT_LOCK_WORDS]);

/* Do as wait_lock_owner(), with the words in the memory of @pid, read by one system call. */
pid_t wait_lock_read(const struct wait_lock *lock, pid_t pid);

#endif
