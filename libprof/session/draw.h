/* SPDX-License-Identifier: MIT */
/* From a profile in a file to what flamerun makes of it. */
#ifndef LIBPROF_SESSION_DRAW_H
#define LIBPROF_SESSION_DRAW_H

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "libprof/flameprof_scope.h"

/* ---- running a program beside the host ------------------------------------------------------- */
/*
 * Running a program beside the host, unseen by it:
 *
 *   host thread ──clone──▶ stand-in ──clone──▶ program
 *     waits for            exit signal 0,      SIGCHLD goes to the stand-in
 *     the stand-in         host's memory
 *
 * The program cannot be the host's child: its exec makes its exit signal SIGCHLD. The stand-in,
 * which never execs, keeps exit signal 0: no SIGCHLD, and wait() passes over it. Neither is a copy
 * of the host, however large that is. What can see the stand-in is a wait for children of any kind
 * (__WALL, __WCLONE), which is what tracers do.
 */

/*
 * Run @program, which ends with status 0 when all went well, and wait for its end.
 *
 * It begins a session of its own, so that a terminal's signals are the host's alone, with default
 * signal handling, nothing blocked, /dev/null as descriptors 0 to 2 and no others. The host's
 * signal handlers, mask, descriptors and memory stay as they are. Host handlers may run in the
 * meantime.
 *
 * @program, @arguments, @environment  borrowed for the call; NULL at the end of the lists
 *
 * Returns 0, -ENOMEM or -EAGAIN when there is no process to be had, -EIO when it could not be
 * started, failed or was killed. Context: any thread, not a handler; no lock held.
 */
int detached_run(const char *program, const char *const *arguments, char *const *environment);

/* ---- where flamerun is ----------------------------------------------------------------------- */
/* Where the flamerun program is that belongs to this library. */

/*
 * Look beside the library (or the program that holds it), where flamerun was installed, then in the
 * folders of PATH that begin with '/', but not there in a set-user-ID program.
 *
 * Returns 0 and a path in @out, or -ENOENT. Context: any thread, not a handler.
 */
int find_flamerun(char out[PATH_MAX]);

/*
 * Have flamerun name the profile in @profile (.pb) and write it to @path, whose ending says what
 * as. Both names are taken as they are. @has_waits: time off the CPU is drawn, too.
 *
 * Returns 0; -ENOENT when there is no flamerun; -ENOMEM; -EIO when it failed.
 * Context: any thread, not a handler; no lock held. Waits. What the host notices: detached_run().
 */
int draw_profile(const char *profile, const char *path, int has_waits);

/* ---- names that keep their place ------------------------------------------------------------- */
/*
 * Names that keep their place when the program changes its folder, as daemons do.
 */

/*
 * @path as seen from the current folder into @out. Returns 0, -ENAMETOOLONG, or -errno of getcwd().
 * Context: any thread, not a handler.
 */
static inline int absolute_path(char out[PATH_MAX], const char *path)
{
	size_t bytes = strlen(path) + 1, folder_bytes = 0;

	if (*path != '/') {
		if (!getcwd(out, PATH_MAX))
			return -errno;
		folder_bytes = strlen(out);
		if (folder_bytes + 1 < PATH_MAX && folder_bytes > 1)
			out[folder_bytes++] = '/';
	}
	if (bytes > PATH_MAX - folder_bytes)
		return -ENAMETOOLONG;
	memcpy(out + folder_bytes, path, bytes);
	return 0;
}

/* ---- of what a session recorded -------------------------------------------------------------- */

/*
 * Stop the profiler, then name, draw and write what it recorded to @path; fills in @report but for
 * `left` and `error`. Returns 0 or what flameprof_stop() or flameprof_profile_write() returned.
 * Context: any thread, not a handler, no lock held.
 */
int draw_session(const char *path, struct flameprof_scope_report *report);

#endif
