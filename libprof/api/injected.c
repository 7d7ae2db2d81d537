/* SPDX-License-Identifier: MIT */
/*
 * Looking for the shared library from the copy inside a program.
 */
#include "libprof/api/injected.h"

#include <dlfcn.h>
#include <stddef.h>

#include "libprof/sampler/own_threads.h"
#include "libprof/trampoline/elsewhere.h"

struct injected injected;

/* Statically linked programs have no other copy, and no use for what dlsym() brings along. */
extern __typeof__(dlsym) dlsym __attribute__((weak));

/* Behind the program in the order of search; also where the program itself exports our names. */
static void *find(const char *name, const void *own)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found || found == own)
		found = dlsym(RTLD_NEXT, name);
	return found == own ? NULL : found;
}

static void find_all(void)
{
	struct injected all = {
		.active = (int (*)(void))find("flameprof_active", (void *)flameprof_active),
		.status = (enum flameprof_status(*)(void))find(
			"flameprof_status", (void *)flameprof_status),
		.pause = (int (*)(void))find("flameprof_pause", (void *)flameprof_pause),
		.resume = (int (*)(void))find("flameprof_resume", (void *)flameprof_resume),
		.mark = (int (*)(const char *))find("flameprof_mark", (void *)flameprof_mark),
	};

	if (all.active && all.status && all.pause && all.resume && all.mark)
		injected = all;
	elsewhere_find(find);
}

/* Only the shared library sees threads end. It looks for nobody. */
__attribute__((constructor(102))) static void look_around(void)
{
	if (dlsym && !libc_calls.watch_end)
		find_all();
}
