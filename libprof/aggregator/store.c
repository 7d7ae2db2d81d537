/* SPDX-License-Identifier: MIT */
/*
 * Batches into a session's profiles.
 */
#include "libprof/aggregator/store.h"

#include <string.h>

#include "libprof/profile/profile.h"
#include "libprof/wire_drain.h"

void store_begin(struct flameprof_profile *p, uint64_t start_ns, int64_t start_wall_s)
{
	p->start_ns = start_ns;
	p->start_wall_s = start_wall_s;
}

void store_end(struct flameprof_profile *p, uint64_t end_ns)
{
	p->end_ns = end_ns;
}

size_t store_bytes(const struct flameprof_profile *p)
{
	return p->account.used_bytes;
}

static void count(struct store_result *result, const struct wire_sample *sample, int is_full)
{
	if (is_full) {
		result->full_samples++;
		result->full_weight += sample->weight;
		result->full_bytes += sample->bytes;
		return;
	}
	result->samples++;
	result->weight += sample->weight;
	result->vm_samples += sample->kind == WIRE_KIND_VM;
	result->vm_weight += sample->kind == WIRE_KIND_VM ? sample->weight : 0;
	result->ends[sample->end] += sample->weight;
}

/* The batch is a copy, but of memory that the host may have written to. */
void store_add_batch(
	struct flameprof_profile *p, const struct batch *batch, struct store_result *result)
{
	int has_begun = 0;
	uint64_t named = UINT64_MAX; /* thread */

	for (uint32_t at = 0; at < batch->bytes;) {
		const struct wire_sample *sample =
			(const struct wire_sample *)(batch->records + at);
		uint32_t rest = batch->bytes - at;

		if (!wire_sample_is_whole(sample, rest)) {
			result->damaged_samples++;
			result->damaged_bytes += rest;
			break;
		}
		at += sample->bytes;
		if (!sample->weight)
			continue;
		has_begun = has_begun || !profile_begin_run(p, batch->image);
		if (!has_begun || profile_add(p, 0, sample, (const uint64_t *)(sample + 1))) {
			count(result, sample, 1);
			continue;
		}
		count(result, sample, 0);
		if (named != sample->thread)
			profile_name_thread(p, 0, sample->thread, batch->tid, batch->comm);
		named = sample->thread;
	}
}
