/* SPDX-License-Identifier: MIT */
/*
 * CPU time is what the kernel says; everything else is counted in samples.
 */
#include "cli/profile/accounting.h"

#define NS_PER_S 1000000000ULL

/* CPU time of the same process under the image it had before an exec, as far as it was covered. */
static uint64_t covered_before(struct profile *profile, uint32_t index)
{
	const struct profile_image *image = profile_image_at(profile, index);

	for (uint32_t i = index; i-- > 0;) {
		const struct profile_image *before = profile_image_at(profile, i);

		if (before->pid == image->pid && before->start_ns <= image->start_ns)
			return before->left_by_exec ? before->end_cpu_ns : 0;
	}
	return 0;
}

void accounting_credit_starts(struct profile *profile)
{
	uint64_t period_ns = NS_PER_S / profile_rate_hz(profile);
	uint64_t owed_ns = period_ns / 2; /* a remainder is carried to the next image */

	for (uint32_t i = 0; i < profile_images(profile); i++) {
		const struct profile_image *image = profile_image_at(profile, i);
		uint64_t before_ns = covered_before(profile, i);
		struct profile_stack stack = {
			.node = image->root,
			.end = WIRE_END_ROOT,
			.kind = WIRE_KIND_CREDIT,
		};

		if (image->start_cpu_ns > before_ns)
			owed_ns += image->start_cpu_ns - before_ns;
		if (owed_ns < period_ns)
			continue;
		stack.thread = profile_thread(profile, i, 1, 0, NULL);
		profile_add(profile, &stack, image->start_ns, owed_ns / period_ns);
		owed_ns %= period_ns;
	}
}

uint64_t accounting_total(const struct accounting *accounting)
{
	return accounting->sampled + accounting->credited + accounting->dropped + accounting->torn;
}

void accounting_of(struct profile *profile, struct accounting *out)
{
	const struct profile_totals *totals = profile_totals(profile);

	*out = (struct accounting){
		.due = (uint64_t)((double)totals->cpu_ns * profile_rate_hz(profile) / NS_PER_S + 0.5),
		.overruns = totals->overruns,
		.credited = totals->credited,
		.dropped = totals->losses.dropped,
		.torn = totals->losses.torn,
	};
	for (int end = 0; end < WIRE_END_COUNT; end++)
		out->sampled += totals->ends[end];
}
