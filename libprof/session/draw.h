/* SPDX-License-Identifier: MIT */
/*
 * Draw the profile of a session (the time from flameprof_start() to flameprof_stop()) by flamerun.
 */
#ifndef LIBPROF_SESSION_DRAW_H
#define LIBPROF_SESSION_DRAW_H

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "libprof/flameprof_scope.h"

/* ---- running a program beside the host ------------------------------------------------------- */
/*
 * Run a program that the host does not notice:
 *
 *   host thread ──clone──▶ stand-in ──clone──▶ program
 *     waits for            exit signal 0,      SIGCHLD goes to the stand-in
 *     the stand-in         host's memory
 *
 * The program cannot be the host's child, because exec sets its exit signal to SIGCHLD. The
 * stand-in never execs and keeps exit signal 0, so the host gets no SIGCHLD and its wait() skips
 * the stand-in. Neither process copies the host's memory. Only a wait for children of any kind
 * (__WALL, __WCLONE), which tracers use, sees the stand-in.
 */

/*
 * Run @program and wait for its end. Exit status 0 is success.
 *
 * The program runs in a session of its own (setsid()), so that only the host gets a terminal's
 * signals. It has default signal handling, no signal blocked, and only descriptors 0 to 2, which
 * are /dev/null. The host's signal handlers, mask, descriptors and memory stay as they are. The
 * host's handlers may run meanwhile.
 *
 * @program, @arguments, @environment  borrowed for the call; lists end with NULL
 *
 * Returns 0; -ENOMEM or -EAGAIN if no process can be made; -EIO if the program could not be
 * started, failed or was killed. Context: any thread, not a handler; no lock held.
 */
int detached_run(const char *program, const char *const *arguments, char *const *environment);

/* ---- where flamerun is ----------------------------------------------------------------------- */

/*
 * Find the flamerun program: first beside the library (or the program that contains the library),
 * then where flamerun was installed, then in the absolute folders of PATH (not in a set-user-ID
 * program).
 *
 * Returns 0 and a path in @out, or -ENOENT. Context: any thread, not a handler.
 */
int find_flamerun(char out[PATH_MAX]);

/*
 * Run flamerun to symbolize the profile in file @profile (.pb) and write it to @path, whose ending
 * selects the format. Placeholders in the names are not expanded. If @has_waits, time off CPU is
 * drawn, too. Waits for flamerun.
 *
 * Returns 0; -ENOENT if there is no flamerun; -ENOMEM; -EIO if it failed.
 * Context: any thread, not a handler; no lock held. detached_run() describes what the host can
 * notice.
 */
int draw_profile(const char *profile, const char *path, int has_waits);

/* ---- absolute paths -------------------------------------------------------------------------- */

/*
 * Make @path absolute, so that it stays valid if the program changes its folder, as daemons do.
 * Returns 0, -ENAMETOOLONG, or -errno of getcwd(). Context: any thread, not a handler.
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

/* ---- the picture of a session ---------------------------------------------------------------- */

/*
 * Stop the profiler and write its profile to @path. Fill in @report except `left` and `error`.
 * Returns 0, or the error of flameprof_stop() or flameprof_profile_write(). Context: any thread,
 * not a handler, no lock held.
 */
int draw_session(const char *path, struct flameprof_scope_report *report);

#endif
