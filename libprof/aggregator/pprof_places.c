/* SPDX-License-Identifier: MIT */
/*
 * Numbering frames. The memory is the writer's, not on the profile's account.
 */
#include "libprof/aggregator/pprof_places.h"

#include <errno.h>

uint64_t pprof_places_frame(const struct pprof_places *places, uint32_t number)
{
	uint32_t node = ((const uint32_t *)places->nodes.at)[number - 1];

	return profile_node_frame(profile_node(places->profile, node));
}

static uint32_t hash(const void *owner, uint32_t number)
{
	return lookup_hash(pprof_places_frame(owner, number));
}

static uint32_t find(const struct pprof_places *places, uint64_t frame, struct lookup_probe *probe)
{
	uint32_t number;

	*probe = lookup_begin(&places->lookup, lookup_hash(frame));
	while ((number = lookup_next(&places->lookup, probe)))
		if (pprof_places_frame(places, number) == frame)
			break;
	return number;
}

uint32_t pprof_places_number(const struct pprof_places *places, uint64_t frame)
{
	struct lookup_probe probe;

	return find(places, frame, &probe);
}

int pprof_places_init(struct pprof_places *places, const struct flameprof_profile *p)
{
	*places = (struct pprof_places){.account = {.limit_bytes = SIZE_MAX}, .profile = p};
	for (uint32_t node = 1; node <= p->node_count; node++) {
		uint64_t frame = profile_node_frame(profile_node(p, node));
		size_t bytes = ((size_t)places->count + 1) * sizeof(uint32_t);
		struct lookup_probe probe;

		if (lookup_reserve(&places->lookup, &places->account, 1, hash, places) ||
			pages_reserve(&places->account, &places->nodes, bytes)) {
			pprof_places_release(places);
			return -ENOMEM;
		}
		if (find(places, frame, &probe))
			continue;
		((uint32_t *)places->nodes.at)[places->count] = node;
		lookup_put(&places->lookup, &probe, ++places->count);
	}
	return 0;
}

void pprof_places_release(struct pprof_places *places)
{
	pages_release(&places->account, &places->nodes);
	pages_release(&places->account, &places->lookup.slots);
}
