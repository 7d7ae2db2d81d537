/* SPDX-License-Identifier: MIT */
/*
 * Read two things about processes that have the library: the waits of their threads, and the user
 * stacks below kernel stacks from perf events. The collector, which knows all processes, is in a
 * lower layer, so it calls these functions through struct collector_reader.
 *
 * Context: the collector's thread, except injected_new() and injected_free().
 */
#ifndef CLI_OUTSIDE_INJECTED_H
#define CLI_OUTSIDE_INJECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/gather/collector.h"
#include "libprof/wire.h"

struct injected;

struct injected_config {
	struct wire_arena *arena; /* borrowed */
	uint32_t rate_hz;
	bool has_waits; /* record threads' waits */
	/* Record also the names of files and the addresses of locks that threads wait for. */
	bool has_details;
};

/* Returns an owned object, or NULL without memory. */
struct injected *injected_new(const struct injected_config *config);
/* Free @injected, which may be NULL, after the collector has ended. */
void injected_free(struct injected *injected);

/* Returns the callbacks for the collector. They are valid as long as @injected. */
const struct collector_reader *injected_reader(const struct injected *injected);

#endif
