/* SPDX-License-Identifier: MIT */
/*
 * A scope's end: its window is closed before anything is done about the picture.
 */
#include <stddef.h>

#include "libprof/profile/profile.h"
#include "libprof/api/scope.h"
#include "libprof/api/session.h"
#include "libprof/flameprof_profile.h"

/* Of the profiler that was stopped last, unless the program took its diagnostics meanwhile. */
static uint64_t dropped_weight(void)
{
	uint64_t weight = 0;

	pthread_mutex_lock(&session.counts_lock);
	for (unsigned cause = 0; cause < FLAMEPROF_DROPS; cause++)
		weight += session.counts.dropped[cause].weight;
	pthread_mutex_unlock(&session.counts_lock);
	return weight;
}

int scope_write(const char *path, struct flameprof_scope_report *report)
{
	struct flameprof_profile *profile = NULL;
	struct flameprof_profile_summary info;
	int error = flameprof_stop(&profile, -1);

	if (error)
		return error;
	flameprof_profile_info(profile, &info);
	report->start_wall_s = info.start_wall_s;
	report->elapsed_ns = info.end_ns - info.start_ns;
	report->samples = info.samples;
	report->weight = info.weight;
	report->dropped_weight = profile->dropped_weight = dropped_weight();
	error = flameprof_profile_write(profile, path);
	flameprof_profile_free(profile);
	return error;
}
