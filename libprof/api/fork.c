/* SPDX-License-Identifier: MIT */
/*
 * A fork child of a program that samples itself is not sampled and has no worker: it begins as if
 * the profiler had never been started. Nothing is locked before a fork, since a thread that waits
 * in there would hold up the program; the child, which has one thread, makes all locks anew. What
 * the parent's worker had in hand stays in the child's memory, shared with the parent's until
 * written.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/syscall.h"
#include "libprof/api/session.h"
#include "libprof/sampler/sampler.h"
#include "libprof/sampler/tasks.h"

static void reset_in_child(void)
{
	int is_arena_copied = session.is_arena_copied;

	if (!sampler_is_hosted())
		return;
	if (is_arena_copied)
		madvise(sampler.arena, wire_arena_bytes(sampler.blocks), MADV_DONTNEED);
	sampler_reset_in_child();
	tasks_reset_in_child();
	/* Our handler is in the child's kernel entry, too. */
	sampler.pid = (uint32_t)arch_syscall0(SYS_getpid);
	memset(&session, 0, sizeof(session));
	session.is_arena_copied = is_arena_copied;
	session.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	session.end_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	session.counts_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void register_handlers(void)
{
	pthread_atfork(NULL, NULL, reset_in_child);
}

void session_watch_forks(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
}
