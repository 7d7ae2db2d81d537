/* SPDX-License-Identifier: MIT */
/*
 * Processes that the library is in, as seen from outside: what their threads wait for, and the
 * user stacks of samples that perf events took in the kernel. The collector knows which processes
 * there are. It lies in a lower layer, so it calls this through struct collector_reader.
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
	bool has_waits;	  /* read what threads wait for */
	bool has_details; /* with names of files and addresses of locks */
};

/* Returns an owned object, or NULL without memory. */
struct injected *injected_new(const struct injected_config *config);
void injected_free(struct injected *injected); /* NULL is fine; the collector has ended */

/* The functions for the collector to call; valid as long as @injected. */
const struct collector_reader *injected_reader(const struct injected *injected);

#endif
