/* SPDX-License-Identifier: MIT */
/*
 * Hold locks across fork(2), so that they are free in the child and the data that they protect is
 * consistent. Each file does this for its own lock before it takes the lock for the first time.
 */
#ifndef LIBPROF_TRAMPOLINE_FORK_LOCK_H
#define LIBPROF_TRAMPOLINE_FORK_LOCK_H

#include <pthread.h>

/*
 * Define `void @watch(void)` (static if `static` precedes the macro). After its first call, every
 * fork calls @prepare() before and @done() after the fork, in parent and child. Further calls do
 * nothing. Context of @watch: any thread, not a handler.
 *
 * @inner  statements that register the locks which are taken while this lock is held.
 *         pthread_atfork(3) calls prepare handlers in reverse order, so inner locks must be
 *         registered first.
 */
#define FORK_WATCH(watch, prepare, done, inner)                                                    \
	void watch(void);                                                                          \
	static void watch##_register(void)                                                         \
	{                                                                                          \
		inner;                                                                             \
		pthread_atfork(prepare, done, done);                                               \
	}                                                                                          \
	void watch(void)                                                                           \
	{                                                                                          \
		static pthread_once_t once = PTHREAD_ONCE_INIT;                                    \
                                                                                                   \
		pthread_once(&once, watch##_register);                                             \
	}

/* Define @watch like FORK_WATCH(), for a single mutex @lock. */
#define FORK_LOCK(watch, lock, inner)                                                              \
	void watch(void);                                                                          \
	static void watch##_prepare(void)                                                          \
	{                                                                                          \
		pthread_mutex_lock(&(lock));                                                       \
	}                                                                                          \
	static void watch##_done(void)                                                             \
	{                                                                                          \
		pthread_mutex_unlock(&(lock));                                                     \
	}                                                                                          \
	FORK_WATCH(watch, watch##_prepare, watch##_done, inner)

#endif
