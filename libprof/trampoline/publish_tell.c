/* SPDX-License-Identifier: MIT */
/* What each tool was told of: the bits of struct known. */
#include "libprof/trampoline/publish_tell.h"

#include <errno.h>
#include <stdlib.h>

#include "libprof/at_start.h"

const struct publisher *const publish_tools[PUBLISH_TOOLS] = {
	&publisher_perf_map,
	&publisher_jitdump,
	&publisher_gdb,
	&publisher_unwinders,
	&publisher_libunwind,
};

/* What region->published points to; made when the first tool hears of the region. */
struct known {
	struct known *next, **at; /* list of all: checkers of leaks do not look into regions */
	void *state[PUBLISH_TOOLS];
	uint8_t tools;	/* bit t: tool t knows the region */
	uint8_t slot[]; /* bit t: it knows this slot */
};

static struct known *all_known;
AT_START unsigned publish_tell_on;

void publish_tell_turn_on(unsigned tool)
{
	__atomic_or_fetch(&publish_tell_on, publish_tools[tool]->flag, __ATOMIC_RELAXED);
}

int publish_tell_is_on(unsigned tool)
{
	return (publish_tell_flags() & publish_tools[tool]->flag) != 0;
}

int publish_tell_heard(unsigned tool, int error)
{
	if (error == PUBLISH_ENDED)
		__atomic_and_fetch(&publish_tell_on, ~publish_tools[tool]->flag, __ATOMIC_RELAXED);
	return error;
}

static struct known *know(struct region *region)
{
	struct known *known = calloc(1, sizeof(*known) + region->slots);

	if (!known)
		return NULL;
	known->next = all_known;
	known->at = &all_known;
	if (all_known)
		all_known->at = &known->next;
	all_known = known;
	return region->published = known;
}

static void forget(struct region *region)
{
	struct known *known = region->published;

	*known->at = known->next;
	if (known->next)
		known->next->at = known->at;
	region->published = NULL;
	free(known);
}

int publish_tell_slot(struct region *region, uint32_t slot, unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];
	struct known *known = region->published;
	uint8_t bit = 1u << tool;
	int error = 0;

	if (!publish_tell_is_on(tool) || !known || !(known->tools & bit) ||
		(known->slot[slot] & bit))
		return 0;
	if (!__atomic_load_n(&region->slot[slot].space, __ATOMIC_ACQUIRE))
		return 0;
	if (publisher->add_slot)
		error = publisher->add_slot(region, slot, known->state[tool]);
	if (!error)
		known->slot[slot] |= bit;
	return publish_tell_heard(tool, error);
}

int publish_tell_region(struct region *region, unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];
	struct known *known = region->published;
	uint8_t bit = 1u << tool;
	int first = 0;

	if (!publish_tell_is_on(tool))
		return 0;
	if (!known)
		known = know(region);
	if (!known)
		return -ENOMEM;
	if (!(known->tools & bit)) {
		if (publisher->add_region)
			first = publisher->add_region(region, &known->state[tool]);
		if (first)
			return publish_tell_heard(tool, first);
		known->tools |= bit;
	}
	for (uint32_t i = 0; i < region->slots; i++) {
		int error = publish_tell_slot(region, i, tool);

		if (!first)
			first = error;
	}
	return first;
}

void publish_tell_end_of_region(struct region *region)
{
	struct known *known = region->published;

	if (!known)
		return;
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		const struct publisher *publisher = publish_tools[tool];

		if ((known->tools & 1u << tool) && publisher->remove_region)
			publisher->remove_region(region, known->state[tool]);
	}
	forget(region);
}

void publish_tell_end_of_slot(struct region *region, uint32_t slot)
{
	struct known *known = region->published;

	if (!known)
		return;
	for (unsigned tool = 0; tool < PUBLISH_TOOLS; tool++) {
		const struct publisher *publisher = publish_tools[tool];

		if ((known->slot[slot] & 1u << tool) && publisher->remove_slot)
			publisher->remove_slot(region, slot, known->state[tool]);
	}
	known->slot[slot] = 0;
}

void publish_tell_afresh(struct region *region, unsigned tool)
{
	struct known *known = region->published;
	uint8_t others = ~(1u << tool);

	if (!known)
		return;
	known->tools &= others;
	for (uint32_t i = 0; i < region->slots; i++)
		known->slot[i] &= others;
}

int publish_tell_flush(unsigned tool)
{
	const struct publisher *publisher = publish_tools[tool];

	if (!publisher->flush || !publish_tell_is_on(tool))
		return 0;
	return publish_tell_heard(tool, publisher->flush());
}
