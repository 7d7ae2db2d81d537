/* SPDX-License-Identifier: MIT */
/*
 * Where a module's code was mapped from, read from its program headers in memory: what symbolisers
 * that know nothing but a mapping and a file need to do their sums.
 */
#ifndef LIBPROF_AGGREGATOR_SEGMENTS_H
#define LIBPROF_AGGREGATOR_SEGMENTS_H

#include "libprof/profile/names.h"

/*
 * Fill in @module's segments from the headers at module->start, checked; none when there are no
 * credible ones, or when the module has gone meanwhile.
 * Context: any thread, not a handler.
 */
void segments_read(struct names_module *module);

#endif
