/* SPDX-License-Identifier: MIT */
/*
 * Fill the profiles of a process that profiles itself: samples from its rings, and names from
 * control records. libprof/flameprof_profile.h reads, merges and writes profiles.
 *
 * A profile's memory is mapped from the kernel, never the host's malloc(), and counted against one
 * limit.
 */
#ifndef LIBPROF_AGGREGATOR_STORE_H
#define LIBPROF_AGGREGATOR_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/profile/names.h"
#include "libprof/profile/profile.h"
#include "libprof/wire_drain.h"

/* Sums that store_drain() and store_add_wait() add to. Weights are in sampling periods. */
struct store_result {
	uint64_t samples, weight;
	/* Samples that did not fit into the profile. */
	uint64_t full_samples, full_weight, full_bytes;
	uint64_t damaged_samples, damaged_bytes;
	uint64_t ends[FLAMEPROF_ENDS];
	/* The part of `samples` and `weight` that virtual machines recorded. */
	uint64_t vm_samples, vm_weight;
	/*
	 * wait_weight: part of `weight` that is off CPU. unseen_weight: part of wait_weight whose
	 * reason could not be read.
	 */
	uint64_t wait_weight, unseen_weight;
};

/*
 * Set the profile's start and end time. Call store_end() before the profile is returned to the
 * host.
 */
void store_begin(struct flameprof_profile *profile, uint64_t start_ns, int64_t start_wall_s);
void store_end(struct flameprof_profile *profile, uint64_t end_ns);

/*
 * Add the samples in every ring of @image, up to the first one later than @until_ns, and free their
 * bytes in the rings. A sample of WIRE_KIND_CREDIT without frames is added to the last stack of its
 * thread in this profile, or to the thread alone if there is none. After a damaged record, the
 * start of the next one is not known, so the ring's other bytes are counted as damaged. Context:
 * the arena's only reader.
 */
void store_drain(struct flameprof_profile *profile, struct wire_drain *drain, uint64_t image,
	uint64_t until_ns, struct store_result *result);

/*
 * Add @sample, which shows a waiting thread with @frames, of process image @image. Name the leaf
 * frame after the reason of the wait.
 */
void store_add_wait(struct flameprof_profile *profile, uint64_t image,
	const struct wire_sample *sample, const uint64_t *frames, struct store_result *result);

/* Returns the memory that @profile uses now. */
size_t store_bytes(const struct flameprof_profile *profile);

/*
 * The catalogue: modules and names of code, from control records. It lives as long as the profiler,
 * for all its profiles; each profile copies the names that its stacks refer to.
 */
struct store_catalogue;
struct store_catalogue *store_catalogue_new(void);
void store_catalogue_free(struct store_catalogue *catalogue); /* NULL is allowed */
/*
 * Read every control record of @slot that is completely written. Add marks to @profile, or discard
 * them if it is NULL. After a damaged record, nothing of @slot is read any more, because the start
 * of the next record is not known. Returns the number of records.
 */
unsigned store_read_control(struct store_catalogue *catalogue, void *arena, uint32_t slot,
	struct flameprof_profile *profile);
/* Returns the number of records that were invalid or did not fit. */
uint64_t store_catalogue_lost(const struct store_catalogue *catalogue);
/* Returns the number of marks lost since the last call. */
uint64_t store_catalogue_read_lost_marks(struct store_catalogue *catalogue);
/*
 * Copy the names that the stacks of @profile refer to from @catalogue to @profile. Call this before
 * the profile is returned to the host. A part of the profile's memory is reserved for names.
 * Returns 0; or -ENOSPC at the profile's limit or -ENOMEM, and then some names are missing.
 */
int store_resolve(struct flameprof_profile *profile, const struct store_catalogue *catalogue);

/* ---- where a module's code was mapped from --------------------------------------------------- */
/*
 * pprof readers need the file offsets from which a module's code was mapped, to find symbols by
 * mapping and file. The functions below read them from the module's program headers in memory.
 */

/*
 * Read memory of this process that may be unmapped at any moment. The kernel copies the bytes, so
 * unmapped memory causes no fault. Returns 1, or 0 if not all of it could be read. Context: any
 * thread, not a handler.
 */
int store_read_memory(uint64_t address, void *to, size_t bytes);

/*
 * Fill in @module's segments from the ELF headers at module->start. The headers are checked: if
 * they are invalid or have been unmapped, the module gets no segments. Context: any thread, not a
 * handler.
 */
void segments_read(struct names_module *module);

#endif
