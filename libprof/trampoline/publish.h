/* SPDX-License-Identifier: MIT */
/*
 * Telling other tools of generated code. Each tool is one struct publisher in a file of its own;
 * publish.c knows which are on and tells them of what exists and of what comes and goes.
 */
#ifndef LIBPROF_TRAMPOLINE_PUBLISH_H
#define LIBPROF_TRAMPOLINE_PUBLISH_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/trampoline/region.h"

/* What add_*() and flush() answer when the tool cannot go on at all: it is turned off. */
#define PUBLISH_ENDED (-EIO)

/* What start() answers when it found more to tell: add_region() follows for known regions, too. */
#define PUBLISH_AFRESH 1

/*
 * One tool. All but flag and start may be NULL.
 * Context of all: under publish.c's lock, never in a handler. Nothing is told twice.
 */
struct publisher {
	unsigned flag; /* enum flameprof_publish */
	/*
	 * Finds what the tool needs of other libraries; not under the lock: the loader has its own.
	 */
	void (*prepare)(void);
	/*
	 * Called at each request. Returns 0, PUBLISH_AFRESH, or -errno when the tool cannot be
	 * served here.
	 */
	int (*start)(void);
	/*
	 * A region was made, all its slots filled with code. *@state, NULL at first, is the tool's
	 * own for this region. Returns 0, PUBLISH_ENDED, or -errno: it hears of this region no
	 * more.
	 */
	int (*add_region)(const struct region *region, void **state);
	/* It and all its slots go; so does what *state pointed to. */
	void (*remove_region)(const struct region *region, void *state);
	/* One stub of a region got its name; it ended. */
	int (*add_slot)(const struct region *region, uint32_t slot, void *state);
	void (*remove_slot)(const struct region *region, uint32_t slot, void *state);
	/* A batch of the calls above is over: what was put off happens now. */
	int (*flush)(void);
	/* In a fork child: go on under its pid. add_*() of everything that exists follows. */
	int (*fork_child)(void);
	/* Returns 0, or -errno that says what of all it was told the tool does not understand. */
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

/* Is anything published? One relaxed load, for the fast path of making a stub. */
int publish_is_on(void);

/*
 * What the makers of regions and stubs report; one fence and one load when nothing is on.
 *
 * A region is reported when it is complete and region_find() knows it, a slot when its name and
 * `space` are stored; the end of a slot once `space` is 0 and before anybody can have the slot
 * again, the end of a region before its memory goes. Whoever keeps to that may race with
 * flameprof_publish(): everything is told once.
 * publish_add_region() tells of the slots that have a name, too, publish_remove_region() ends them.
 *
 * Context: any thread, not under region.c's lock, not in a handler. Errors are the tools' own: code
 * that a tool cannot be told of runs all the same.
 */
void publish_add_region(struct region *region);
void publish_remove_region(struct region *region);
void publish_add_slot(struct region *region, uint32_t slot);
void publish_remove_slot(struct region *region, uint32_t slot);

extern const struct publisher publisher_perf_map, publisher_jitdump, publisher_gdb,
	publisher_unwinders, publisher_libunwind;

/*
 * Is an unwinder loaded that throws exceptions? Loads none. Context: not under publish.c's lock.
 */
int publish_unwinders_are_loaded(void);

/* ---- libraries that are loaded --------------------------------------------------------------- */
/*
 * Finding what other libraries of the process offer, without linking them. Calls take the loader's
 * lock, which a library's constructor holds while it makes stubs: so never under publish.c's lock.
 */

/*
 * dlopen(); NULL in statically linked programs, which can load nothing. Linkers warn there of a
 * dlopen() that is not asked for by name.
 */
static inline void *publish_load(const char *soname, int flags)
{
	void *(*load)(const char *, int) =
		(void *(*)(const char *, int))dlsym(RTLD_DEFAULT, "dlopen");

	return load ? load(soname, flags) : NULL;
}

/*
 * A handle of the library @soname if it is loaded, else NULL. The library stays loaded from now on:
 * what is registered with it would be lost, and taking it back would call into nothing.
 */
static inline void *publish_loaded(const char *soname)
{
	return publish_load(soname, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

#endif
