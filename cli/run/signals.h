/* SPDX-License-Identifier: MIT */
/*
 * How flamerun handles signals while it profiles a program:
 *
 *   before the program starts   INT, TERM, HUP and QUIT end flamerun, which removes its files.
 *   while the program runs      A signal from a process is forwarded to the program once. A signal
 *                               from the terminal or the kernel is not forwarded, because the
 *                               program gets the same signal itself.
 *   attached to processes       The first INT, TERM, HUP or QUIT ends the sampling.
 *   after the program ended     The first INT, TERM, HUP or QUIT makes flamerun write the picture
 *                               now. The second one ends flamerun.
 *
 * The state is global, because signals belong to the process. Context: one thread.
 */
#ifndef CLI_RUN_SIGNALS_H
#define CLI_RUN_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Ignore SIGPIPE and SIGXFSZ (writes to closed pipes, and to files at their size limit). Save the
 * inherited dispositions and mask for signals_restore(). Call first in main().
 */
void signals_begin(void);

/*
 * From now on, if INT, TERM, HUP or QUIT (unless ignored) ends flamerun, first remove its temporary
 * files and the link to the library.
 */
void signals_guard(void);

/*
 * Catch SIGCHLD and the signals that are forwarded. Call right before the fork. Returns a
 * descriptor that becomes readable after each such signal (this file owns the descriptor), or
 * -errno.
 */
int signals_catch(void);

/* Empty the descriptor of signals_catch(). Call this before checking what the signals changed. */
void signals_drain(void);

/*
 * Block and unblock all signals around the fork. If a fatal signal arrived before, when it could
 * not be forwarded to the program yet, it ends flamerun in signals_block().
 */
void signals_block(void);
void signals_unblock(void);

/* Restore the dispositions and mask that flamerun inherited. Context: between fork and exec. */
void signals_restore(void);

/* From now on forward signals to @child. */
void signals_forward_to(pid_t child);

/* If there is no child: note the next INT, TERM, HUP or QUIT for signals_end_requested(). */
void signals_watch_end(void);
bool signals_end_requested(void);

/*
 * Stop forwarding signals. Call this when the child is dead but not yet reaped, because afterwards
 * another process may get its pid.
 */
void signals_stop_forwarding(void);

/* Has a process sent SIGCONT since the last call? */
bool signals_read_continue(void);

/*
 * Stop flamerun in the way in which @stop_signal (TSTP, TTIN or TTOU) stops a process. Returns true
 * after flamerun was stopped and continued; false if it did not stop, because the signal is ignored
 * or flamerun's process group is orphaned.
 */
bool signals_suspend(int stop_signal);

/* After the program ended: did a signal ask flamerun to write the picture now? */
bool signals_hurry(void);

/* Die of @signal, without a core file. Returns only if that is impossible (pid 1). */
void signals_die(int signal);

#endif
