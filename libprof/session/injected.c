/* SPDX-License-Identifier: MIT */
/*
 * Looking for the shared library from the copy inside a program: for what a session is asked
 * (injected.h), and for stubs, ticks and machine stacks (trampoline/other_copy.h).
 *
 * The archive is one object with local hidden names, since a program may have its own
 * ring_push(). Beside the injected library the archive's copy passes on pause, resume and marks,
 * and start answers -EBUSY. Two copies of the library have one set of stubs and one timer.
 */
#include "libprof/session/injected.h"

#include <dlfcn.h>
#include <stddef.h>

#include "libprof/sampler/own_threads.h"
#include "libprof/trampoline/other_copy.h"

/* Statically linked programs have no other copy, and no use for what dlsym() brings along. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

/* Behind the program in the order of search; also where the program itself exports our names. */
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
	/* One of another version, that lacks some, is not asked for any. */
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

/* Only the shared library sees threads end. It looks for nobody. */
__attribute__((constructor(102))) static void init_injected(void)
{
	if (dlsym && !libc_calls.watch_end)
		find_shared_library();
}
