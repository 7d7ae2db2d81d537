/* SPDX-License-Identifier: MIT */
/*
 * flameprof_stop(): disarm, wake the flushes, let the worker finish, take its profile.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#include "libprof/api/scope.h"
#include "libprof/api/session.h"
#include "libprof/sampler/sampler.h"

/* One thread stops; what a timed-out one began the next goes on with. */
static int claim(void)
{
	int error = 0;

	pthread_mutex_lock(&session.lock);
	if (session.phase != SESSION_LIVE && session.phase != SESSION_STOPPING) {
		error = -ESRCH;
	} else if (session.has_stopper) {
		error = -EBUSY;
	} else {
		session.phase = SESSION_STOPPING;
		session.has_stopper = 1;
		__atomic_store_n(&session.status, FLAMEPROF_STOPPING, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&session.lock);
	return error;
}

static void unclaim(int is_stopped)
{
	pthread_mutex_lock(&session.lock);
	session.has_stopper = 0;
	if (is_stopped) {
		session.phase = SESSION_IDLE;
		__atomic_store_n(&session.status, FLAMEPROF_STOPPED, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&session.lock);
}

/* Nobody enters any more: the phase says so. Those who are in have been cancelled. */
static int wait_for_all(uint64_t deadline_ns)
{
	uint32_t users;

	while (!__atomic_load_n(&session.done, __ATOMIC_ACQUIRE))
		if (session_wait(&session.done, 0, deadline_ns))
			return -ETIMEDOUT;
	while ((users = __atomic_load_n(&session.users, __ATOMIC_ACQUIRE)))
		if (session_wait(&session.users, users, deadline_ns))
			return -ETIMEDOUT;
	return 0;
}

/* The rings' memory back to the kernel; what a held-up handler still writes there goes nowhere. */
static void shrink_arena(void)
{
	const struct wire_arena *arena = sampler.arena;
	uint32_t high = __atomic_load_n(&arena->blocks_high, __ATOMIC_RELAXED);

	if (high <= sampler.blocks)
		madvise(wire_block_data(sampler.arena, 0), (size_t)high * WIRE_BLOCK_BYTES,
			MADV_DONTNEED);
}

static struct flameprof_profile *finish(void)
{
	struct flameprof_profile *profile = session.profile;

	pthread_join(session.worker, NULL);
	session.profile = NULL;
	/* What has no name for want of memory is shown by its address. */
	store_resolve(profile, session.catalogue);
	store_catalogue_free(session.catalogue);
	session.catalogue = NULL;
	diagnostics_end();
	queue_release(&session.queue);
	sampler_end(&session.queue.drain);
	shrink_arena();
	return profile;
}

int flameprof_stop(struct flameprof_profile **out, int timeout_ms)
{
	uint64_t deadline_ns = session_deadline(timeout_ms);
	struct flameprof_profile *profile;
	int error;

	scope_end_left(__builtin_frame_address(0));
	if (session_is_worker())
		return -EDEADLK;
	if (!session_is_here())
		return -ESRCH;
	error = claim();
	if (error)
		return error;
	session_disarm();
	queue_stop(&session.queue);
	__atomic_store_n(&session.ending, 1, __ATOMIC_RELEASE);
	sampler_wake_reader(sampler.arena);
	error = wait_for_all(deadline_ns);
	if (error) {
		unclaim(0);
		return error;
	}
	profile = finish();
	unclaim(1);
	if (out)
		*out = profile;
	else
		flameprof_profile_free(profile);
	return 0;
}
