/* SPDX-License-Identifier: MIT */
/*
 * Recognize locks by the 32-bit words around the futex that a thread waits for, on 64-bit CPUs. A
 * glibc rwlock has two futexes: that of writers and another one.
 *
 *              glibc mutex    glibc rwlock, a writer's futex and another   musl mutex
 *   futex - 4                                    state                     type
 *   futex      2, or owner    3                  3                         owner
 *         + 4  count          state              0                         waiters
 *         + 8  owner          0                  0
 *         + 12 users          0                  writer
 *         + 16 kind           writer             shared
 *         + 20                shared
 *
 * Three kinds have the owner in the futex itself, with FUTEX_WAITERS set: robust mutexes, mutexes
 * with priority inheritance (defined by the kernel), and musl's mutexes. Plain musl mutexes have no
 * owner at all. Condition variables, semaphores, joins, barriers and locks of other libraries may
 * have the same value in the futex, but not the same words around it. Callers also check that the
 * owner is a thread of the same process, and that a function which takes locks is on the waiting
 * thread's stack.
 *
 * Sources: glibc nptl/pthread_mutex_lock.c, pthread_rwlock_common.c, struct_mutex.h; musl
 * pthread_mutex_timedlock.c; futex(2).
 */
#include "cli/outside/wait_lock.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define MUTEX_CONTENDED	 2u
#define MUTEX_KINDS	 0x3ffu
#define MUTEX_ROBUST	 0x10u
#define RWLOCK_CONTENDED 3u
/* The bits of musl's mutex type: kind, robust, priority inheritance, shared. */
#define MUSL_TYPES	 0x8fu
#define MUSL_HAS_OWNER	 0x0fu
#define THREADS_LIMIT	 (1u << 22) /* the kernel's PID_MAX_LIMIT */

struct wait_lock wait_lock_of(const struct procfs_syscall *call)
{
	struct wait_lock lock = {
		.address = call->number == SYS_futex ? call->arguments[0] : 0,
		.command = (uint32_t)call->arguments[1] & FUTEX_CMD_MASK,
		.value = (uint32_t)call->arguments[2],
	};
	bool inherits = lock.command == FUTEX_LOCK_PI || lock.command == FUTEX_LOCK_PI2;
	bool is_value = lock.value == MUTEX_CONTENDED || lock.value == RWLOCK_CONTENDED ||
			lock.value & FUTEX_WAITERS;
	/* FUTEX_WAIT_BITSET with a timeout is the call of pthread_mutex_timedlock(). */
	bool is_wait = lock.command == FUTEX_WAIT ||
		       (lock.command == FUTEX_WAIT_BITSET &&
			       (call->arguments[3] || lock.value == RWLOCK_CONTENDED));

	if (!inherits && !(is_wait && is_value))
		lock.address = 0;
	return lock;
}

static bool is_count(uint32_t word)
{
	return word && word < THREADS_LIMIT;
}

static uint32_t owner_of_rwlock(const uint32_t *at)
{
	if (at[1] <= RWLOCK_CONTENDED && !at[2] && !at[3] && at[5] <= 1)
		return at[4];
	return at[-1] <= RWLOCK_CONTENDED && !at[1] && !at[2] && at[4] <= 1 ? at[3] : 0;
}

pid_t wait_lock_owner(const struct wait_lock *lock, const uint32_t words[WAIT_LOCK_WORDS])
{
	const uint32_t *at = words + 1;
	uint32_t owner = at[0] & FUTEX_TID_MASK;
	bool is_mutex = is_count(at[3]) && at[4] <= MUTEX_KINDS;

	if (lock->command == FUTEX_LOCK_PI || lock->command == FUTEX_LOCK_PI2)
		return is_count(owner) ? (pid_t)owner : 0;
	/*
	 * If the futex has changed since the thread went to sleep, the lock has got another owner
	 * meanwhile, and the thread is about to wake.
	 */
	if (!(at[0] & lock->value & FUTEX_WAITERS) && at[0] != lock->value)
		return 0;
	if (at[0] == MUTEX_CONTENDED)
		owner = is_mutex ? at[2] : 0;
	else if (at[0] == RWLOCK_CONTENDED)
		owner = owner_of_rwlock(at);
	else if (!(is_mutex && at[4] & MUTEX_ROBUST && at[2] == owner) &&
		 !(at[-1] <= MUSL_TYPES && at[-1] & MUSL_HAS_OWNER && is_count(at[1])))
		owner = 0;
	return is_count(owner) ? (pid_t)owner : 0;
}

pid_t wait_lock_read(const struct wait_lock *lock, pid_t pid)
{
	uint32_t words[WAIT_LOCK_WORDS];
	/* Read the word before the futex last, because its page may not be mapped. */
	struct iovec local[] = {{words + 1, sizeof(words) - sizeof(*words)}, {words, 4}};
	struct iovec remote[] = {{(void *)(uintptr_t)lock->address, local[0].iov_len},
		{(void *)(uintptr_t)(lock->address - 4), 4}};

	memset(words, 0xff, sizeof(words));
	if (process_vm_readv(pid, local, 2, remote, 2, 0) < 0)
		return 0;
	return wait_lock_owner(lock, words);
}
