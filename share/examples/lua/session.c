/* SPDX-License-Identifier: MIT */
/*
 * The options --vm-profile and --vm-stacks. Both record stacks at Lua's safe points. --vm-profile
 * writes them as a profile when the process ends, also if it ends by os.exit(). --vm-stacks sends
 * them to flamerun, which shows them in its picture.
 */
#include "share/examples/lua/session.h"

#include <errno.h>
#include <flameprof_profile.h>
#include <flameprof_vm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "share/examples/lua/stacks.h"
#include "share/examples/lua/ticks.h"

#ifndef PERIOD_NS
#define PERIOD_NS 10000000u
#endif

static const char *profile_path;
/* the process that writes the profile; children made by fork() do not */
static pid_t profiled;

static int complain(const char *what, int error)
{
	if (error)
		fprintf(stderr, "flamelua: %s: %s\n", what, strerror(-error));
	return error;
}

static void write_profile(void)
{
	struct flameprof_profile *profile;
	int error;

	if (getpid() != profiled)
		return;
	if (complain("cannot end the profile", flameprof_stop(&profile, -1)))
		return;
	error = flameprof_profile_write(profile, profile_path);
	if (error == -ENOENT)
		fprintf(stderr,
			"flamelua: %s: no such folder, or no flamerun in PATH: then see %s.pb\n",
			profile_path, profile_path);
	else
		complain(profile_path, error);
	flameprof_profile_free(profile);
}

void session_begin(const struct flamelua_options *options)
{
	struct flameprof_options profile = {.clock = FLAMEPROF_CLOCK_VM, .title = "flamelua"};

	if (!options->vm_profile && !options->vm_stacks)
		return;
	flameprof_vm_stacks(options->vm_place);
	if (complain("no ticks", ticks_init(PERIOD_NS, stacks_record)))
		return;
	if (!options->vm_profile || complain("no profile", flameprof_start(&profile)))
		return;
	profile_path = options->vm_profile;
	profiled = getpid();
	atexit(write_profile);
}
