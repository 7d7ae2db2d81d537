/* SPDX-License-Identifier: MIT */
/*
 * Waits of processes that the library is in: the collector knows who they are, waits.h looks. And
 * stacks that the kernel was seen to do something for. The collector stands below it and calls it
 * by what it is given here.
 *
 * Context: the collector's thread, but for injected_new() and injected_free().
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
	bool has_waits; /* else nobody is looked at */
	bool has_details;
};

/* Returns an owned object, or NULL without memory. */
struct injected *injected_new(const struct injected_config *config);
void injected_free(struct injected *injected); /* NULL is fine; the collector has ended */

/* For the collector; valid as long as @injected. */
const struct collector_looker *injected_looker(const struct injected *injected);

#endif
