/* SPDX-License-Identifier: MIT */
/*
 * Find the shared library from the copy inside a program, for session calls (injected.h) and for
 * stubs, ticks and machine stacks (trampoline/other_copy.h).
 *
 * The archive is one object whose internal names are local, because a program may have its own
 * ring_push(). If both copies are present, the archive's copy forwards pause, resume and marks, its
 * start returns -EBUSY, and both use one set of stubs and one timer.
 */
#include "libprof/session/injected.h"

#include <dlfcn.h>
#include <stddef.h>

#include "libprof/sampler/own_threads.h"
#include "libprof/trampoline/other_copy.h"

/* Weak, because statically linked programs have no other copy and should not link dlsym(). */
extern __typeof__(dlsym) dlsym __attribute__((weak));

/* Search behind the program, too, because the program itself may export the name. */
static void *find_other_copy(const char *name, const void *own)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found || found == own)
		found = dlsym(RTLD_NEXT, name);
	return found == own ? NULL : found;
}

#define FIND(name)                                                                  \
	found.name = (__typeof__(&name))find_other_copy(#name, (const void *)name); \
	missing |= !found.name;

static void find_other_functions(void)
{
	struct other_copy found;
	int missing = 0;

	OTHER_COPY_FUNCTIONS(FIND)
	/* Use none of another version's functions if it lacks some. */
	if (!missing)
		other_copy = found;
}

static void find_shared_library(void)
{
	struct injected all = {
		.active = (int (*)(void))find_other_copy(
			"flameprof_active", (void *)flameprof_active),
		.status = (enum flameprof_status(*)(void))find_other_copy(
			"flameprof_status", (void *)flameprof_status),
		.pause = (int (*)(void))find_other_copy("flameprof_pause", (void *)flameprof_pause),
		.resume = (int (*)(void))find_other_copy(
			"flameprof_resume", (void *)flameprof_resume),
		.mark = (int (*)(const char *))find_other_copy(
			"flameprof_mark", (void *)flameprof_mark),
	};

	if (all.active && all.status && all.pause && all.resume && all.mark)
		injected = all;
	find_other_functions();
}

/* The shared library, which alone has set watch_end, does not search. */
__attribute__((constructor(102))) static void init_injected(void)
{
	if (dlsym && !libc_calls.watch_end)
		find_shared_library();
}
