/* SPDX-License-Identifier: MIT */
/*
 * flameprof_flush() and flameprof_reset(): a barrier behind everything that was committed, and the
 * wait for the worker to reach it.
 */
#include <errno.h>
#include <stddef.h>

#include "libprof/api/scope.h"
#include "libprof/api/session.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/sampler.h"

/* The profile up to now into *@out, owned by the caller. The worker goes on with an empty one. */
static int rotate(struct flameprof_profile **out, int timeout_ms)
{
	struct barrier barrier = {.state = BARRIER_WAITING};
	int error;

	scope_end_left(__builtin_frame_address(0));
	error = session_enter();
	if (error)
		return error;
	barrier.next = profile_new(&session.config);
	if (!barrier.next) {
		/* What was recorded must not be lost for want of a place for what comes. */
		session_end_by_itself(FLAMEPROF_NO_MEMORY);
		error = -ENOMEM;
		goto out;
	}
	barrier.boundary_ns = clock_monotonic_ns();
	error = queue_add_barrier(&session.queue, &barrier);
	if (!error)
		error = queue_wait(&barrier, timeout_ms);
	if (error)
		flameprof_profile_free(barrier.next);
	else
		*out = barrier.result;
out:
	session_leave();
	return error;
}

int flameprof_flush(struct flameprof_profile **profile, int timeout_ms)
{
	return profile ? rotate(profile, timeout_ms) : flameprof_reset(timeout_ms);
}

int flameprof_reset(int timeout_ms)
{
	struct flameprof_profile *profile = NULL;
	int error = rotate(&profile, timeout_ms);

	flameprof_profile_free(profile);
	return error;
}
