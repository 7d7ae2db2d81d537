/* SPDX-License-Identifier: MIT */
/*
 * A library that is preloaded after libflameprof: it lets any program profile itself by elapsed
 * time at the rate ITSELF_RATE and writes the profile to ITSELF_FILE (.pb) when the program ends.
 * It writes a line for each thread to ITSELF_THREADS: the name, the weight, and the part of the
 * weight that is waits. Then follow a line with the sums of all threads, and a line with the unseen
 * weight and the worker thread's CPU time in ns.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "libprof/flameprof_profile.h"

static __attribute__((constructor)) void begin(void)
{
	const char *rate = getenv("ITSELF_RATE");

	if (rate && flameprof_start(&(struct flameprof_options){
			    .rate = (unsigned)atoi(rate), .clock = FLAMEPROF_CLOCK_ELAPSED}))
		abort();
}

static uint64_t waits_of(const struct flameprof_profile *profile, uint32_t thread)
{
	struct flameprof_stack stack;
	uint64_t weight = 0;

	for (uint32_t i = 0; !flameprof_profile_stack(profile, i, &stack); i++)
		weight += stack.thread == thread && stack.is_wait ? stack.weight : 0;
	return weight;
}

static void tell_threads(const struct flameprof_profile *profile, const char *path)
{
	FILE *file = fopen(path, "w");
	struct flameprof_thread thread;
	struct flameprof_counters counts;

	if (!file || flameprof_diagnostics(&counts))
		abort();
	for (uint32_t i = 0; !flameprof_profile_thread(profile, i, &thread); i++)
		fprintf(file, "%s %ju %ju\n", thread.name, (uintmax_t)thread.weight,
			(uintmax_t)waits_of(profile, i));
	fprintf(file, "all %ju %ju\nunseen %ju %ju\n", (uintmax_t)counts.recorded_weight,
		(uintmax_t)counts.wait_weight, (uintmax_t)counts.unseen_weight,
		(uintmax_t)counts.worker_ns);
	fclose(file);
}

static __attribute__((destructor)) void end(void)
{
	const char *path = getenv("ITSELF_FILE"), *threads = getenv("ITSELF_THREADS");
	struct flameprof_profile *profile = NULL;

	if (!path || flameprof_stop(&profile, -1))
		return;
	if (flameprof_profile_write(profile, path))
		abort();
	if (threads)
		tell_threads(profile, threads);
	flameprof_profile_free(profile);
}
