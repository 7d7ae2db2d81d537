/* SPDX-License-Identifier: MIT */
/*
 * Locks that are held across fork(2), so that the child finds them free and what they protect
 * whole. Each file does this for its own lock, once it is about to be taken.
 */
#ifndef LIBPROF_TRAMPOLINE_FORK_LOCK_H
#define LIBPROF_TRAMPOLINE_FORK_LOCK_H

#include <pthread.h>

/*
 * Define `void @watch(void)`, static where that stands before the macro: it has @prepare() called
 * before each fork and @done() after it in both processes; further calls do nothing. Context of
 * @watch: any thread, not a handler.
 *
 * @inner  statements that do the same for locks that are taken while this one is held: handlers
 *         that prepare run backwards, so those of inner locks are registered first
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

/* The same for a single mutex, @lock. */
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
