/* SPDX-License-Identifier: MIT */
/*
 * flamerun's part in what signals mean to a program that is being profiled.
 *
 *   before the program starts    INT, TERM, HUP and QUIT end flamerun; nothing is left behind
 *   while it runs                sent by a process: passed on, once; made by the terminal or the
 *                                kernel: not passed on, the program got its own
 *   while running processes are  the first INT, TERM, HUP or QUIT ends the sampling
 *   sampled
 *   after it ended               the first INT, TERM, HUP or QUIT means "write now", the second
 *                                ends flamerun
 *
 * Signals are the process's: so is the state here. Context: one thread.
 */
#ifndef CLI_RUN_SIGNALS_H
#define CLI_RUN_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Keep writes to closed pipes and to files at their size limit from killing us. First thing in
 * main(); what was inherited is remembered for signals_restore().
 */
void signals_begin(void);

/*
 * From now on INT, TERM, HUP and QUIT (those that were not ignored) leave nothing behind when they
 * end us: no half-written file, no link to the library.
 */
void signals_guard(void);

/*
 * Catch what is passed on, and SIGCHLD; right before the fork. Returns a descriptor that is
 * readable after any of them, or -errno. The descriptor stays ours.
 */
int signals_catch(void);

/* Empty the descriptor of signals_catch(); before looking at what the signals changed. */
void signals_drain(void);

/*
 * Block and unblock everything around the fork. A fatal signal that came before the program could
 * get its own copy ends flamerun here.
 */
void signals_block(void);
void signals_unblock(void);

/*
 * In the child: dispositions and mask as flamerun got them.
 * Context: between fork and exec.
 */
void signals_restore(void);

/* From now on pass signals on to @child. */
void signals_forward_to(pid_t child);

/* From now on there is no child; the first signal that asks us to end is for
 * signals_end_requested(). */
void signals_watch_end(void);
bool signals_end_requested(void);

/*
 * The child is dead but not yet reaped: stop passing on, so that nothing reaches another process
 * that gets its pid.
 */
void signals_stop_forwarding(void);

/* A SIGCONT from a process came since the last call. */
bool signals_read_continue(void);

/*
 * Stop ourselves as @stop_signal (TSTP, TTIN or TTOU) stops a process. Returns true after having
 * been stopped and continued, false when we were not stopped: it is ignored, or our process group
 * is orphaned.
 */
bool signals_suspend(int stop_signal);

/* After the program ended: has anybody asked to write now? */
bool signals_hurry(void);

/* End as a process that @signal killed, without a core file. Returns only if it cannot (pid 1). */
void signals_die(int signal);

#endif
