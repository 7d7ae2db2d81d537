/* SPDX-License-Identifier: MIT */
/*
 * What the sampler calls of libc below the interposers of preload/, whose constructors set these
 * where they are linked. Until then, and without them, the names that the program itself would call
 * stand here: interposers pass on what is not theirs yet.
 */
#ifndef LIBPROF_SAMPLER_LIBC_CALLS_H
#define LIBPROF_SAMPLER_LIBC_CALLS_H

#include <pthread.h>
#include <signal.h>

struct sampler_thread;

struct libc_calls {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	/* Make the calling thread's end known to the sampler; NULL without interposers. */
	void (*watch_end)(struct sampler_thread *thread);
};

extern struct libc_calls libc_calls __attribute__((visibility("hidden")));

#endif
