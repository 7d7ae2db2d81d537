/* SPDX-License-Identifier: MIT */
/*
 * Find the shared library from the copy of the library inside a program: its functions for sessions
 * (injected.h) and for stubs, ticks and stacks of virtual machines (trampoline/other_copy.h).
 *
 * The archive libflameprof.a is one object whose internal names are local, because a program may
 * have its own ring_push(). If both copies are present, the archive's copy forwards pause, resume
 * and marks to the shared library, flameprof_start() of the archive's copy returns -EBUSY, and both
 * copies use one set of stubs and one timer.
 */
#include "libprof/session/injected.h"

#include <dlfcn.h>
#include <stddef.h>

#include "libprof/sampler/own_threads.h"
#include "libprof/trampoline/other_copy.h"

/*
 * Declared weak, because statically linked programs have no other copy and should not link dlsym().
 */
extern __typeof__(dlsym) dlsym __attribute__((weak));

/* If the program exports @name itself, search the libraries after the program, too. */
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
	/*
	 * If the other copy, of another version, lacks some functions, use none of its functions.
	 */
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

/* Only the shared library has set watch_end. Do not make the shared library search for itself. */
__attribute__((constructor(102))) static void init_injected(void)
{
	if (dlsym && !libc_calls.watch_end)
		find_shared_library();
}
