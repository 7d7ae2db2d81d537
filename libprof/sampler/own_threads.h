/* SPDX-License-Identifier: MIT */
/* The profiler's own threads, which are never sampled and never appear in the output. */
#ifndef LIBPROF_SAMPLER_OWN_THREADS_H
#define LIBPROF_SAMPLER_OWN_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

/*
 * Create a thread of the profiler with all signals blocked. It runs @start under the name
 * "flameprof". The caller joins or detaches *@id by libc_calls. *@tid becomes the thread's kernel
 * id, unless @tid is NULL. Returns 0 or -errno. Context: any thread, not a handler.
 */
int own_threads_begin(pthread_t *id, int32_t *tid, void *(*start)(void *), void *argument);

/* Returns 1 if thread @tid is one of the profiler's. Context: signal-safe. */
int own_threads_contain(uint32_t tid);

/*
 * Call own_threads_begun() before reading a list of all threads. Afterwards, call
 * own_threads_are_known() with the result. It returns 1 if own_threads_contain() knows all own
 * threads in the list.
 */
uint32_t own_threads_begun(void);
int own_threads_are_known(uint32_t begun);

/*
 * Remove the ids of own threads that have ended, because the kernel may reuse the ids. Context: any
 * thread.
 */
void own_threads_remove_dead(void);

/*
 * Register a fork handler that forgets the own threads in the child. If a caller's own fork handler
 * creates own threads, call this before the caller's pthread_atfork(). Context: any thread, not a
 * handler.
 */
void own_threads_watch_forks(void);

/* ---- staying loaded -------------------------------------------------------------------------- */
/* Threads and handlers may run the library's code after it is closed, so prevent its unloading. */

/*
 * Keep the library's code mapped until the process ends, also if the library is part of a plugin
 * that is closed. Only the first call has an effect. Context: any thread, not a handler. Do not
 * call this while holding a lock of ours, because a constructor that waits for that lock may hold
 * the dynamic linker's lock.
 */
void stay_loaded(void);

/* ---- calls of libc --------------------------------------------------------------------------- */
/*
 * The sampler's calls of libc functions that preload/ interposes. Constructors of preload/ set the
 * pointers to libc's functions. Until then, and without preload/, the pointers are to the functions
 * that the program's own calls reach. This is correct because interposers forward calls that they
 * do not handle yet.
 */

struct sampler_thread;

struct libc_calls {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	/*
	 * pthread_join() is from the same library as pthread_create(), because ThreadSanitizer ends
	 * a program that joins a thread which its own pthread_create() did not create. Set by the
	 * first pthread_create().
	 */
	int (*pthread_join)(pthread_t, void **);
	int (*pthread_detach)(pthread_t);
	/* Make the calling thread's sampling end with the thread. NULL without interposers. */
	void (*watch_end)(struct sampler_thread *thread);
	/*
	 * Returns 1 if the program's calls of pthread_create() are interposed; NULL without
	 * interposers.
	 */
	int (*sees_births)(void);
};

extern struct libc_calls libc_calls __attribute__((visibility("hidden")));

#endif
