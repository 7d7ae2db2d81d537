/* SPDX-License-Identifier: MIT */
/*
 * Report generated code to other tools, such as perf and gdb. Each tool is a struct publisher in a
 * file of its own. publish.c knows which tools are on and calls them for regions and stubs that
 * exist, begin and end.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_H
#define LIBPROF_TRAMPOLINE_PUBLISH_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/trampoline/region.h"

/* Returned by add_*() and flush() if the tool cannot continue: it is turned off. */
#define PUBLISH_ENDED (-EIO)

/* Returned by start() if all regions must be reported again, by add_region(). */
#define PUBLISH_AFRESH 1

/*
 * One tool. All members but flag and start may be NULL.
 * Context of all but prepare: under publish.c's lock, never in a handler. Each region and slot is
 * added once.
 */
struct publisher {
	unsigned flag; /* enum flameprof_publish */
	/* Find functions of other libraries. Not under the lock: this takes the loader's. */
	void (*prepare)(void);
	/* Called at each request. Returns 0, PUBLISH_AFRESH, or -errno if it cannot be used. */
	int (*start)(void);
	/*
	 * A region was added, with code in all its slots. *@state, NULL at first, belongs to the
	 * tool. Returns 0, PUBLISH_ENDED, or -errno: then the tool gets no more calls for this
	 * region.
	 */
	int (*add_region)(const struct region *region, void **state);
	/* The region ends with all its slots. Frees @state. */
	void (*remove_region)(const struct region *region, void *state);
	/* A stub of a region was named; a stub ended. */
	int (*add_slot)(const struct region *region, uint32_t slot, void *state);
	void (*remove_slot)(const struct region *region, uint32_t slot, void *state);
	/* A batch of these calls is over: do deferred work. */
	int (*flush)(void);
	/* In a fork child: start again under its pid. add_*() for all that exists follows. */
	int (*fork_child)(void);
	/* Returns 0, or -errno if the tool does not understand something of what it was given. */
	int (*status)(void);
	/* The process ends. */
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

/* Return 1 if any tool is on. One relaxed load, for the fast path of making a stub. */
int publish_is_on(void);

/*
 * Report a new or ended region or slot to all tools that are on. Costs one fence and one load if no
 * tool was ever on.
 *
 * Report a region after it is complete and in the set, a slot after its name and `space` are
 * stored. Report the end of a slot after `space` is 0 and before the slot can be claimed again, the
 * end of a region before its memory is freed. Then these calls may race with flameprof_publish(),
 * and everything is still reported exactly once. publish_add_region() also reports named slots,
 * publish_remove_region() also their end.
 *
 * Context: any thread, not under region.c's lock, not in a handler. A tool's errors are not
 * returned, because the code runs in any case.
 */
void publish_add_region(struct region *region);
void publish_remove_region(struct region *region);
void publish_add_slot(struct region *region, uint32_t slot);
void publish_remove_slot(struct region *region, uint32_t slot);

extern const struct publisher publisher_perf_map, publisher_jitdump, publisher_gdb,
	publisher_unwinders, publisher_libunwind;

/* Is an unwinder loaded that throws exceptions? Loads none. Context: not under publish.c's lock. */
int publish_unwinders_are_loaded(void);

/* ---- libraries that are loaded --------------------------------------------------------------- */
/*
 * Find functions of other loaded libraries without linking them. These calls take the loader's
 * lock, which a library's constructor may hold while it makes stubs, so never make them under
 * publish.c's lock.
 */

/*
 * Call dlopen(). Returns NULL in a statically linked program. dlopen() is looked up by name,
 * because the linker would warn about a direct call in such a program.
 */
static inline void *publish_load(const char *soname, int flags)
{
	void *(*load)(const char *, int) =
		(void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");

	return load ? load(soname, flags) : NULL;
}

/*
 * Return a handle of library @soname if it is loaded, else NULL. The library is never unloaded
 * afterwards, because registrations in it would be lost, and removing them would call unmapped
 * code.
 */
static inline void *publish_loaded(const char *soname)
{
	return publish_load(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

#endif
