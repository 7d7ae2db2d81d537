/* SPDX-License-Identifier: MIT */
/*
 * Report generated code to other tools, such as perf and gdb. Each tool is a struct publisher in a
 * file of its own. publish.c knows which tools are on, and calls them when regions and stubs begin
 * and end, and for those that exist already.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_H
#define LIBPROF_TRAMPOLINE_PUBLISH_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/trampoline/region.h"

/* Result of add_*() and flush(): the tool cannot continue and is turned off. */
#define PUBLISH_ENDED (-EIO)

/* Result of start(): all regions must be reported again by add_region(). */
#define PUBLISH_AFRESH 1

/*
 * One tool. All members but `flag` and `start` may be NULL. Each region and slot is added once.
 * Context: all functions but prepare() are called under publish.c's lock, never in a handler.
 */
struct publisher {
	unsigned flag; /* enum flameprof_publish */
	/*
	 * Find functions of other libraries. Called without publish.c's lock, because these calls
	 * take the dynamic loader's lock.
	 */
	void (*prepare)(void);
	/* Called at each request. Returns 0, PUBLISH_AFRESH, or -errno if the tool is unusable. */
	int (*start)(void);
	/*
	 * Called when a region was added, all of whose slots have code. *@state, NULL at first,
	 * belongs to the tool. Returns 0, PUBLISH_ENDED, or -errno. After -errno, the tool gets no
	 * more calls for this region.
	 */
	int (*add_region)(const struct region *region, void **state);
	/* Called when the region and all its slots have ended. Frees @state. */
	void (*remove_region)(const struct region *region, void *state);
	/*
	 * add_slot() is called when a stub with a name was made in a slot of a region,
	 * remove_slot() when this stub has ended.
	 */
	int (*add_slot)(const struct region *region, uint32_t slot, void *state);
	void (*remove_slot)(const struct region *region, uint32_t slot, void *state);
	/* Called after a batch of the calls above: do deferred work. */
	int (*flush)(void);
	/*
	 * Called in a fork child: start again under the child's pid. Then add_region() and
	 * add_slot() are called for all existing code.
	 */
	int (*fork_child)(void);
	/* Returns 0, or -errno if the tool cannot use some of the code that was reported to it. */
	int (*status)(void);
	/* Called when the process ends. */
	void (*finish)(void);
};

static inline uintptr_t publish_slot_start(const struct region *region, uint32_t slot)
{
	return region->start + (uintptr_t)slot * region->stride;
}

static inline size_t publish_slot_bytes(const struct region *region)
{
	return region->kind == FLAMEPROF_CODE_HOST ? region->bytes : region->code_bytes;
}

/* Returns 1 if any tool is on. Costs one relaxed load, because making a stub should be fast. */
int publish_is_on(void);

/*
 * Report a new or ended region or slot to all tools that are on. Costs one fence and one load if no
 * tool was ever on.
 *
 * Call these functions in this order, so that everything is reported exactly once, even if another
 * thread calls flameprof_publish() at the same time:
 *
 * - publish_add_region(): after the region is complete and in the set of regions
 * - publish_add_slot(): after the slot's name and `space` are stored
 * - publish_remove_slot(): after `space` is 0, before the slot can be claimed again
 * - publish_remove_region(): before the region's memory is freed
 *
 * publish_add_region() also reports the slots that have a stub, and publish_remove_region() their
 * end.
 *
 * Context: any thread, not under region.c's lock, not in a handler. A tool's errors are not
 * returned, because the code works without the tool.
 */
void publish_add_region(struct region *region);
void publish_remove_region(struct region *region);
void publish_add_slot(struct region *region, uint32_t slot);
void publish_remove_slot(struct region *region, uint32_t slot);

extern const struct publisher publisher_perf_map, publisher_jitdump, publisher_gdb,
	publisher_unwinders, publisher_libunwind;

/* Returns 1 if an unwinder for exceptions is loaded. Context: not under publish.c's lock. */
int publish_unwinders_are_loaded(void);

/* ---- libraries that are loaded --------------------------------------------------------------- */
/*
 * Find functions of other loaded libraries without linking them. These calls take the loader's
 * lock. A library's constructor may hold the loader's lock while it makes stubs. So never make
 * these calls under publish.c's lock, which would be a deadlock.
 */

/*
 * Call dlopen(). Returns NULL in a statically linked program. dlopen() is found by its name,
 * because for a direct call in such a program the linker would print a warning.
 */
static inline void *publish_load(const char *soname, int flags)
{
	void *(*load)(const char *, int) =
		(void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");

	return load ? load(soname, flags) : NULL;
}

/*
 * Returns a handle of library @soname if it is loaded, otherwise NULL. The library is not unloaded
 * any more: registrations in it would be lost, and removing them would call unmapped code.
 */
static inline void *publish_loaded(const char *soname)
{
	return publish_load(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

#endif
