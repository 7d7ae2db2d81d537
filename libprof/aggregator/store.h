/* SPDX-License-Identifier: MIT */
/*
 * Fill the profiles of a process that profiles itself: batches of samples, and names from control
 * records. libprof/flameprof_profile.h reads, merges and writes profiles.
 *
 * A profile's memory is mapped from the kernel, never the host's malloc(), and counted against one
 * limit.
 */
#ifndef LIBPROF_AGGREGATOR_STORE_H
#define LIBPROF_AGGREGATOR_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/aggregator/queue.h"
#include "libprof/profile/names.h"
#include "libprof/profile/profile.h"
#include "libprof/wire.h"

/* Result of adding samples, added to the values already there; weights in periods. */
struct store_result {
	uint64_t samples, weight;
	uint64_t full_samples, full_weight, full_bytes; /* did not fit into the profile */
	uint64_t damaged_samples, damaged_bytes;
	uint64_t ends[FLAMEPROF_ENDS];
	uint64_t vm_samples, vm_weight; /* part of samples and weight, from virtual machines */
	uint64_t wait_weight, unseen_weight; /* part of weight: off CPU; part of that: unknown */
};

/* Set the profile's start when it begins, and its end when it is handed over. */
void store_begin(struct flameprof_profile *profile, uint64_t start_ns, int64_t start_wall_s);
void store_end(struct flameprof_profile *profile, uint64_t end_ns);

/*
 * Add every sample of @batch. Credit without a stack goes on the last stack of its thread in this
 * profile, else on the thread alone. A damaged record ends the batch and is counted.
 */
void store_add_batch(struct flameprof_profile *profile, const struct batch *batch,
	struct store_result *result);

/* Add @sample, a wait with @frames, of the profiler's run @image; name its leaf by the reason. */
void store_add_wait(struct flameprof_profile *profile, uint64_t image,
	const struct wire_sample *sample, const uint64_t *frames, struct store_result *result);

/* Returns the memory that @profile uses now. */
size_t store_bytes(const struct flameprof_profile *profile);

/*
 * Catalogue of modules and code names from control records. It lives as long as the session, for
 * all its profiles; each profile copies what its stacks refer to.
 */
struct store_catalogue;
struct store_catalogue *store_catalogue_new(void);
void store_catalogue_free(struct store_catalogue *catalogue); /* NULL is allowed */
/*
 * Read every complete control record of @slot. Marks are added to @profile (NULL: discarded). Stops
 * for good at a damaged record, because record boundaries are lost behind it. Returns the number of
 * records.
 */
unsigned store_read_control(struct store_catalogue *catalogue, void *arena, uint32_t slot,
	struct flameprof_profile *profile);
/* Returns the number of records that were invalid or did not fit. */
uint64_t store_catalogue_lost(const struct store_catalogue *catalogue);
/* Returns the number of marks lost since the last call. */
uint64_t store_catalogue_read_lost_marks(struct store_catalogue *catalogue);
/*
 * Copy into @profile the names that its stacks refer to, when it is handed over. A part of its
 * memory is reserved for this.
 * Returns 0, -ENOSPC at the profile's limit, -ENOMEM: the rest stays unnamed.
 */
int store_resolve(struct flameprof_profile *profile, const struct store_catalogue *catalogue);

/* ---- where a module's code was mapped from --------------------------------------------------- */
/*
 * Read from a module's program headers in memory which file offsets its code was mapped from. pprof
 * readers need that to symbolize by mapping and file alone.
 */

/*
 * Read memory of this process that may be unmapped at any moment: the kernel copies it, so there is
 * no fault. Returns 1, or 0 if not all of it could be read. Context: any thread, not a handler.
 */
int store_read_memory(uint64_t address, void *to, size_t bytes);

/*
 * Fill in @module's segments from the ELF headers at module->start, checked; none if they are not
 * valid or have been unmapped. Context: any thread, not a handler.
 */
void segments_read(struct names_module *module);

#endif
