/* SPDX-License-Identifier: MIT */
/*
 * Waiting for children of any kind, as tracers do, would find the helper: such a process goes on
 * without one, and flamerun reads its rings.
 */
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "libprof/aggregator/helper.h"
#include "libprof/preload/preload.h"

typedef pid_t waitpid_fn(pid_t, int *, int);
typedef pid_t wait3_fn(int *, int, struct rusage *);
typedef pid_t wait4_fn(pid_t, int *, int, struct rusage *);
typedef int waitid_fn(idtype_t, id_t, siginfo_t *, int);

static void before_wait(int options)
{
	if (options & (__WALL | __WCLONE) && sampler_is_this_process())
		helper_dismiss();
}

PRELOAD_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	static waitpid_fn *next;

	if (!next)
		next = (waitpid_fn *)preload_next("waitpid");
	before_wait(options);
	return next(pid, status, options);
}

PRELOAD_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	static wait3_fn *next;

	if (!next)
		next = (wait3_fn *)preload_next("wait3");
	before_wait(options);
	return next(status, options, usage);
}

PRELOAD_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	static wait4_fn *next;

	if (!next)
		next = (wait4_fn *)preload_next("wait4");
	before_wait(options);
	return next(pid, status, options, usage);
}

PRELOAD_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	static waitid_fn *next;

	if (!next)
		next = (waitid_fn *)preload_next("waitid");
	before_wait(options);
	return next(type, id, info, options);
}
