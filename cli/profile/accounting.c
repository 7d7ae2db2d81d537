/* SPDX-License-Identifier: MIT */
/*
 * CPU time is what the kernel says; everything else is counted in samples.
 */
#include "cli/profile/accounting.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_S 1000000000ULL

/* An image among those of its pid. */
struct turn {
	uint32_t pid;
	uint32_t image;
	uint64_t start_ns;
};

static int by_pid_then_start(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->image < y->image ? -1 : x->image > y->image;
}

/* Per image: CPU time of the same process under the image it had before its exec. */
static void follow_execs(struct profile *profile, struct turn *turns, uint64_t *covered_ns)
{
	uint32_t count = profile_images(profile);

	for (uint32_t i = 0; i < count; i++)
		turns[i] = (struct turn){
			.pid = profile_image_at(profile, i)->pid,
			.image = i,
			.start_ns = profile_image_at(profile, i)->start_ns,
		};
	qsort(turns, count, sizeof(*turns), by_pid_then_start);
	for (uint32_t i = 0; i < count; i++) {
		const struct profile_image *image = profile_image_at(profile, turns[i].image);
		int followed = i + 1 < count && turns[i + 1].pid == turns[i].pid;

		if (image->left_by_exec && followed)
			covered_ns[turns[i + 1].image] = image->end_cpu_ns;
	}
}

/* One image's share; a remainder is carried to the next, so that many short lives add up. */
static void credit_start(struct profile *profile, uint32_t index, uint64_t covered_ns,
	uint64_t period_ns, enum accounting_start start, uint64_t *owed_ns)
{
	const struct profile_image *image = profile_image_at(profile, index);
	struct profile_stack stack = {
		.node = image->root,
		.end = WIRE_END_ROOT,
		.kind = WIRE_KIND_CREDIT,
	};

	if (image->start_cpu_ns > covered_ns)
		*owed_ns += image->start_cpu_ns - covered_ns;
	if (*owed_ns < period_ns)
		return;
	if (start == ACCOUNTING_START_PAUSED && !image->parent) {
		profile_totals(profile)->paused += *owed_ns / period_ns;
	} else {
		stack.thread = profile_thread(profile, index, 1, 0, NULL);
		profile_add(profile, &stack, image->start_ns, *owed_ns / period_ns);
	}
	*owed_ns %= period_ns;
}

int accounting_settle(struct profile *profile, enum accounting_start start)
{
	uint32_t count = profile_images(profile);
	uint64_t period_ns = NS_PER_S / profile_rate_hz(profile);
	uint64_t owed_ns = period_ns / 2;
	struct turn *turns = calloc(count + 1, sizeof(*turns));
	uint64_t *covered_ns = calloc(count + 1, sizeof(*covered_ns));
	int error = turns && covered_ns ? 0 : -ENOMEM;

	if (!error)
		follow_execs(profile, turns, covered_ns);
	for (uint32_t i = 0; i < count && !error && start != ACCOUNTING_START_IGNORED; i++)
		credit_start(profile, i, covered_ns[i], period_ns, start, &owed_ns);
	free(turns);
	free(covered_ns);
	return error;
}

uint64_t accounting_total(const struct accounting *accounting)
{
	return accounting->sampled + accounting->credited + accounting->dropped + accounting->torn +
	       accounting->paused;
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
		.paused = totals->paused,
	};
	for (int end = 0; end < WIRE_END_COUNT; end++)
		out->sampled += totals->ends[end];
}
