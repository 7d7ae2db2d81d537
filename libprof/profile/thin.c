/* SPDX-License-Identifier: MIT */
/*
 * Reduce the number of samples without changing their weight: samples of one stack within an
 * interval become one sample at the time of the last of them. Only the resolution of times is lost.
 * The interval is doubled until there is room, up to LAST_STRETCH_NS.
 */
#include "libprof/profile/tables.h"

#define FIRST_STRETCH_NS 1000000u
#define LAST_STRETCH_NS	 (UINT64_C(1) << 50) /* 13 days */

/*
 * Returns the number of the interval that contains @time_ns. Samples without a time form interval
 * 0.
 */
static uint64_t stretch_of(const struct flameprof_profile *p, uint64_t time_ns)
{
	return time_ns ? time_ns / p->stretch_ns + 1 : 0;
}

/*
 * Merge samples of one stack that are in the same interval. @last has, by stack, the index + 1 of
 * the stack's last kept sample; 0: none.
 */
static void merge_samples(struct flameprof_profile *p, uint32_t *last)
{
	struct flameprof_sample *samples = p->samples.at;
	uint64_t kept = 0;

	for (uint64_t i = 0; i < p->sample_count; i++) {
		struct flameprof_sample *before =
			last[samples[i].stack] ? &samples[last[samples[i].stack] - 1] : NULL;

		if (before && stretch_of(p, before->time_ns) == stretch_of(p, samples[i].time_ns) &&
			before->weight <= UINT32_MAX - samples[i].weight) {
			before->weight += samples[i].weight;
			if (before->time_ns < samples[i].time_ns)
				before->time_ns = samples[i].time_ns;
			continue;
		}
		samples[kept] = samples[i];
		last[samples[i].stack] = (uint32_t)++kept;
	}
	p->sample_count = kept;
}

void profile_thin(struct flameprof_profile *p)
{
	size_t bytes = (p->stack_count + (size_t)1) * sizeof(uint32_t);
	uint64_t wanted = p->times_max - p->times_max / 4;

	/*
	 * The first pass uses the same interval as the last pass of the previous call, so it merges
	 * only samples that were added since that call.
	 */
	for (; p->stretch_ns < LAST_STRETCH_NS; p->stretch_ns *= 2) {
		uint32_t *last = pages_new(bytes);

		if (!last)
			return;
		if (!p->stretch_ns)
			p->stretch_ns = FIRST_STRETCH_NS;
		merge_samples(p, last);
		pages_free(last, bytes);
		if (p->sample_count <= wanted)
			return;
	}
}
