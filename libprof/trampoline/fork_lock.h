/* SPDX-License-Identifier: MIT */
/*
 * Hold locks across fork(2), so that they are free in the child and the data that they protect is
 * consistent. Each file does this for its own lock before the lock is first taken.
 */
#ifndef LIBPROF_TRAMPOLINE_FORK_LOCK_H
#define LIBPROF_TRAMPOLINE_FORK_LOCK_H

#include <pthread.h>

/*
 * Define `void @watch(void)` (static if `static` precedes the macro). Its first call makes every
 * fork call @prepare() before and @done() after, in parent and child; further calls do nothing.
 * Context of @watch: any thread, not a handler.
 *
 * @inner  statements that register locks taken while this one is held. pthread_atfork(3) runs
 *         prepare handlers in reverse order, so inner locks must be registered first.
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

/* Define @watch as FORK_WATCH does, for a single mutex @lock. */
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
