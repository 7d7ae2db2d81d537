/* SPDX-License-Identifier: MIT */
/*
 * The order of the locks, outermost first: publish.c's, the list of arenas, each arena's, the
 * host's code, the pool of chunks, lasting memory, the set of regions. publish_*() are called with
 * none of them held. Those of intercepts and of their tables are held alone.
 */
#include "libprof/trampoline/fork.h"

#include <pthread.h>

#include "libprof/trampoline/arena.h"
#include "libprof/trampoline/chunk.h"
#include "libprof/trampoline/code.h"
#include "libprof/trampoline/intercept.h"
#include "libprof/trampoline/intercept_known.h"
#include "libprof/trampoline/lasting.h"
#include "libprof/trampoline/region.h"

static void prepare(void)
{
	struct flameprof_arena *arena;

	arenas_lock(&arena);
	for (; arena; arena = arena->next)
		pthread_mutex_lock(&arena->lock);
	code_fork_prepare();
	chunk_fork_prepare();
	lasting_fork_prepare();
	region_fork_prepare();
	intercept_fork_prepare();
	intercept_table_fork_prepare();
}

static void done(void)
{
	struct flameprof_arena *arena;

	intercept_table_fork_done();
	intercept_fork_done();
	region_fork_done();
	lasting_fork_done();
	chunk_fork_done();
	code_fork_done();
	for (arena = arenas_held(); arena; arena = arena->next)
		pthread_mutex_unlock(&arena->lock);
	arenas_unlock();
}

static void do_register(void)
{
	pthread_atfork(prepare, done, done);
}

void trampoline_fork_register(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, do_register);
}
