/* SPDX-License-Identifier: MIT */
/*
 * Threads of the profiler's own, which never appear in what it draws.
 */
#ifndef LIBPROF_SAMPLER_OWN_THREADS_H
#define LIBPROF_SAMPLER_OWN_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

/*
 * Begin a thread of the profiler's own, all signals blocked: it is never sampled. It runs @start
 * under the name "flameprof". The caller joins or detaches *@id by libc_calls.
 * @tid  gets its kernel id, unless NULL
 * Returns 0 or -errno. Context: any thread, not a handler.
 */
int own_threads_begin(pthread_t *id, int32_t *tid, void *(*start)(void *), void *argument);

/* Is the thread @tid one of them? Context: signal-safe. */
int own_threads_contain(uint32_t tid);

/*
 * Before a list of all threads is read: a number for own_threads_are_known(), which tells
 * afterwards whether every one in the list was known by then.
 */
uint32_t own_threads_begun(void);
int own_threads_are_known(uint32_t begun);

/* Their numbers may become others'. Context: any thread. */
void own_threads_remove_dead(void);

/*
 * Fork children know of none from the moment their handler for that has run: who begins some in a
 * handler of its own calls this before pthread_atfork(). Context: any thread, not a handler.
 */
void own_threads_watch_forks(void);

/* ---- staying loaded -------------------------------------------------------------------------- */
/* Code that threads and handlers will still run is not unloaded. */

/*
 * Keep the library's code mapped until the process ends, also where it is part of a plugin that is
 * closed. The first call does it. Context: any thread, not a handler and not under a lock of ours:
 * a constructor that waits for that lock may hold the loader's.
 */
void stay_loaded(void);

/* ---- calls of libc --------------------------------------------------------------------------- */
/*
 * What the sampler calls of libc below the interposers of preload/, whose constructors set these
 * where they are linked. Until then, and without them, the names that the program itself would call
 * stand here: interposers pass on what is not theirs yet.
 */

struct sampler_thread;

struct libc_calls {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	/* Those of the same library: ThreadSanitizer ends a program that joins a thread which its
	 * own pthread_create() did not make. Set by the first pthread_create(). */
	int (*pthread_join)(pthread_t, void **);
	int (*pthread_detach)(pthread_t);
	/* Make the calling thread's end known to the sampler; NULL without interposers. */
	void (*watch_end)(struct sampler_thread *thread);
	/* Does the program create its threads by the interposers? NULL without them. */
	int (*sees_births)(void);
};

extern struct libc_calls libc_calls __attribute__((visibility("hidden")));

#endif
