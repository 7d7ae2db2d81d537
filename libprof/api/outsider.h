/* SPDX-License-Identifier: MIT */
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
#ifndef LIBPROF_API_OUTSIDER_H
#define LIBPROF_API_OUTSIDER_H

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
int outsider_run(
	const char *program, const char *const *arguments, char *const *environment);

#endif
