/* SPDX-License-Identifier: MIT */
/*
 * Telling each tool once: which tools there are, which are on, and what each knows. Tools are
 * numbers below PUBLISH_TOOLS.
 *
 * Context of all, unless stated otherwise: under publish.c's lock.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_TELL_H
#define LIBPROF_TRAMPOLINE_PUBLISH_TELL_H

#include "libprof/trampoline/publish.h"

enum { PUBLISH_TOOLS = 5 };
extern const struct publisher *const publish_tools[PUBLISH_TOOLS];

extern unsigned publish_tell_on __attribute__((visibility("hidden"))); /* atomic */

/* Flags of the tools that are on. Every process asks when it ends. Context: signal-safe. */
static inline unsigned publish_tell_flags(void)
{
	return __atomic_load_n(&publish_tell_on, __ATOMIC_RELAXED);
}

void publish_tell_turn_on(unsigned tool);
int publish_tell_is_on(unsigned tool);

/*
 * What @tool answered. One that has ended is off from now on.
 * Returns @error.
 */
int publish_tell_heard(unsigned tool, int error);

/*
 * Tell @tool of a region and its slots with names, of those that it does not know.
 * Returns 0, also when the tool is off, or the first error; goes on for all slots after one.
 */
int publish_tell_region(struct region *region, unsigned tool);

/* As above, of one slot of a region it knows. */
int publish_tell_slot(struct region *region, uint32_t slot, unsigned tool);

/* Tell all tools that know it, on or off, that it ends. */
void publish_tell_end_of_region(struct region *region);
void publish_tell_end_of_slot(struct region *region, uint32_t slot);

/* Let @tool know nothing of @region: it will be told again. */
void publish_tell_afresh(struct region *region, unsigned tool);

/* Returns 0 or the error of the tool; its batch is over. */
int publish_tell_flush(unsigned tool);

#endif
