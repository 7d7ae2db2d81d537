/* SPDX-License-Identifier: MIT */
/*
 * Telling other tools of generated code. Each tool is one struct publisher in a file of its own;
 * publish.c knows which are on and tells them of what exists and of what comes and goes.
 *
 * Context of all calls: under publish.c's lock, never in a handler.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_H
#define LIBPROF_TRAMPOLINE_PUBLISH_H

#include <stdint.h>

#include "libprof/trampoline/region.h"

struct publisher {
	unsigned flag; /* enum flameprof_publish */
	/* Returns 0, or -errno when the tool cannot be served here. */
	int (*start)(void);
	/* A region of stubs was made, all slots pre-filled; or one of the host's. Any may be NULL. */
	int (*add_region)(const struct region *region);
	void (*remove_region)(const struct region *region);
	/* One stub of a region got a name; it loses it. */
	int (*add_slot)(const struct region *region, uint32_t slot);
	void (*remove_slot)(const struct region *region, uint32_t slot);
	/* In a fork child: go on under its pid. add_*() of everything that exists follows. */
	void (*fork_child)(void);
};

/* Is anything published? One relaxed load, for the fast path of making a stub. */
int publish_is_on(void);

/* What the makers of regions and stubs report; cheap when nothing is on. */
void publish_add_region(const struct region *region);
void publish_remove_region(const struct region *region);
void publish_add_slot(const struct region *region, uint32_t slot);
void publish_remove_slot(const struct region *region, uint32_t slot);

extern const struct publisher publisher_perf_map, publisher_jitdump, publisher_gdb,
	publisher_unwinders, publisher_libunwind;

#endif
