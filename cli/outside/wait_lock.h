/* SPDX-License-Identifier: MIT */
/*
 * Reads which thread holds the lock that another thread waits for, out of the lock itself: the C
 * library writes the holder's thread id there. Memory that does not look exactly like a lock gives
 * no holder, because a wrong holder is worse than none.
 */
#ifndef CLI_OUTSIDE_WAIT_LOCK_H
#define CLI_OUTSIDE_WAIT_LOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libprof/waits/wait_thread.h"

/* The futex that @call waits for, if it may be a lock with an owner; otherwise .address is 0. */
struct wait_lock wait_lock_of(const struct procfs_syscall *call);

/*
 * Number of 32-bit words that are read: the one before the futex, the futex, and five behind it.
 * A word that could not be read is all ones.
 */
#define WAIT_LOCK_WORDS 7u

/*
 * Returns the id of the thread that holds @lock according to @words; 0: no thread holds it, or it
 * is not a lock with an owner. The process can write any number there, so check that it is a
 * thread.
 */
pid_t wait_lock_owner(const struct wait_lock *lock, const uint32_t words[WAIT_LOCK_WORDS]);

/* As wait_lock_owner(), with the words read from the memory of @pid. Makes one system call. */
pid_t wait_lock_read(const struct wait_lock *lock, pid_t pid);

#endif
