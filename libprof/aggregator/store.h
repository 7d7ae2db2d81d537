/* SPDX-License-Identifier: MIT */
/*
 * How the worker of a process that profiles itself fills its profiles: with batches, and with what
 * control records tell. Reading, merging and writing are libprof/flameprof_profile.h.
 *
 * A profile's memory comes from the kernel by mmap, never from the host's malloc; all of it counts
 * against one ceiling.
 */
#ifndef LIBPROF_AGGREGATOR_STORE_H
#define LIBPROF_AGGREGATOR_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/aggregator/queue.h"
#include "libprof/profile/names.h"
#include "libprof/profile/profile.h"
#include "libprof/wire.h"

/* What batches did to the profile, added to what is there; weights in periods. */
struct store_result {
	uint64_t samples, weight;
	uint64_t full_samples, full_weight, full_bytes; /* did not fit any more */
	uint64_t damaged_samples, damaged_bytes;
	uint64_t ends[FLAMEPROF_ENDS];
	uint64_t vm_samples, vm_weight; /* of samples and weight, what virtual machines told */
	uint64_t wait_weight, unseen_weight; /* likewise off the CPU; of that, nobody saw where */
};

/* The span the profile stands for; set when it begins and when it is handed over. */
void store_begin(struct flameprof_profile *profile, uint64_t start_ns, int64_t start_wall_s);
void store_end(struct flameprof_profile *profile, uint64_t end_ns);

/*
 * Intern every sample of @batch. Credit without a stack goes on the last stack of its ring's thread
 * in this profile, else on the thread alone. Damaged records end the batch and are counted.
 */
void store_add_batch(struct flameprof_profile *profile, const struct batch *batch,
	struct store_result *result);

/*
 * Intern @sample of the profiler's run @image, a wait with @frames; what it waits for is its leaf's
 * name.
 */
void store_add_wait(struct flameprof_profile *profile, uint64_t image,
	const struct wire_sample *sample, const uint64_t *frames, struct store_result *result);

/* Memory that @profile has now. */
size_t store_bytes(const struct flameprof_profile *profile);

/*
 * Modules and code names as the sampler's control records announce them: kept for as long as the
 * profiler runs, shared by the profiles that come one after the other. Resolved when a sample first
 * names them.
 */
struct store_catalogue;
struct store_catalogue *store_catalogue_new(void);
void store_catalogue_free(struct store_catalogue *catalogue); /* NULL is fine */
/*
 * Take every complete control record of @slot. Marks go to @profile; NULL: nowhere. Damage ends the
 * reading for good: records cannot be told apart behind it. Returns how many were taken.
 */
unsigned store_read_control(struct store_catalogue *catalogue, void *arena, uint32_t slot,
	struct flameprof_profile *profile);
/* Records that were taken and did not fit, or made no sense, since the catalogue was made. */
uint64_t store_catalogue_lost(const struct store_catalogue *catalogue);
/* Marks among these, since the last call. */
uint64_t store_catalogue_read_lost_marks(struct store_catalogue *catalogue);
/*
 * Give @profile what its stacks name; called when it is handed over. A part of its memory was kept
 * back for that.
 * Returns 0, -ENOSPC at the profile's ceiling, -ENOMEM: what is missing has no name then.
 */
int store_resolve(struct flameprof_profile *profile, const struct store_catalogue *catalogue);

/* ---- where a module's code was mapped from --------------------------------------------------- */
/*
 * Where a module's code was mapped from, read from its program headers in memory: what symbolisers
 * that know nothing but a mapping and a file need to do their sums.
 */

/*
 * Read memory of this process that may be unmapped at any moment: by the kernel, which answers
 * where a load would be a fault. Returns 1, or 0: it is not all there, or nobody may.
 * Context: any thread, not a handler.
 */
int store_read_memory(uint64_t address, void *to, size_t bytes);

/*
 * Fill in @module's segments from the headers at module->start, checked; none when there are no
 * credible ones, or when the module has gone meanwhile.
 * Context: any thread, not a handler.
 */
void segments_read(struct names_module *module);

#endif
