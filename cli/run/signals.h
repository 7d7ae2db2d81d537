/* SPDX-License-Identifier: MIT */
/*
 * Signals while flamerun profiles a program:
 *
 *   before the program starts    INT, TERM, HUP and QUIT end flamerun and remove its files
 *   while it runs                from a process: passed on, once; from the terminal or the
 *                                kernel: not passed on, because the program gets its own
 *   while attached to running    the first INT, TERM, HUP or QUIT ends the sampling
 *   processes
 *   after it ended               the first INT, TERM, HUP or QUIT means "write now", the second
 *                                ends flamerun
 *
 * The state is global, because signals belong to the process. Context: one thread.
 */
#ifndef CLI_RUN_SIGNALS_H
#define CLI_RUN_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Ignore the signals of writes to closed pipes and to files at their size limit, and save what was
 * inherited for signals_restore(). Call first in main().
 */
void signals_begin(void);

/*
 * From now on remove temporary files and the link to the library when INT, TERM, HUP or QUIT,
 * unless ignored, end flamerun.
 */
void signals_guard(void);

/*
 * Catch SIGCHLD and the signals that are passed on. Call right before the fork. Returns a
 * descriptor that becomes readable after any of them (owned here), or -errno.
 */
int signals_catch(void);

/* Empty the descriptor of signals_catch(). Call before checking what the signals changed. */
void signals_drain(void);

/*
 * Block and unblock all signals around the fork. A fatal signal that arrived before the program
 * could get a copy ends flamerun in signals_block().
 */
void signals_block(void);
void signals_unblock(void);

/* Restore dispositions and mask as flamerun inherited them. Context: between fork and exec. */
void signals_restore(void);

/* From now on pass signals on to @child. */
void signals_forward_to(pid_t child);

/* There is no child: the next INT, TERM, HUP or QUIT makes signals_end_requested() return true. */
void signals_watch_end(void);
bool signals_end_requested(void);

/*
 * Stop passing signals on. Call when the child is dead and not yet reaped, so that none can reach
 * another process with its pid.
 */
void signals_stop_forwarding(void);

/* Did a process send SIGCONT since the last call? */
bool signals_read_continue(void);

/*
 * Stop flamerun as @stop_signal (TSTP, TTIN or TTOU) stops a process. Returns true after it was
 * stopped and continued; false if it did not stop, because the signal is ignored or the group is
 * orphaned.
 */
bool signals_suspend(int stop_signal);

/* After the program ended: did a signal ask to write now? */
bool signals_hurry(void);

/* Die of @signal, without a core file. Returns only if that is impossible (pid 1). */
void signals_die(int signal);

#endif
