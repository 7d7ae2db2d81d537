/* SPDX-License-Identifier: MIT */
/*
 * --live: while a run goes on, once a second, the functions and threads that use the CPU now and
 * those that used it most. On a terminal a screen of its own, with keys; elsewhere a line a second.
 *
 * Counting names everything anew, so it is done less often where it takes longer: at most a
 * twentieth of a CPU.
 *
 * Context: one thread, that of the run's loop.
 */
#ifndef CLI_RUN_LIVE_H
#define CLI_RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/run/run_graph.h"

struct live;

/*
 * Begin to show. @has_program: one is going to be started; what it would write to our terminal
 * comes when the screen is gone, as what flamerun says does. Returns 0 and an owned object in
 * *@out, or -errno with @message filled.
 */
int live_open(struct live **out, bool has_program, struct diag_message *message);

/*
 * For a program that is to be started: what it gets instead of the terminal for its input, and for
 * its output. -1: the terminal. Borrowed.
 */
int live_input(const struct live *live);
int live_output(const struct live *live);

/* What is gathered; borrowed until live_end(). */
void live_begin(struct live *live, const struct run_graph *run_graph);

/* To poll for POLLIN: keys. -1: there are none. */
int live_descriptor(const struct live *live);

/* So often live_turn() is to be called, without keys. */
#define LIVE_TICK_MS 50

/* Do what is due. Returns whether somebody wants what is sampled to be let go. */
bool live_turn(struct live *live);

/*
 * No more is shown, the terminal is as it was and gets what the program wrote: by each live_turn(),
 * and by the last of all, live_free(). NULL is fine.
 */
void live_end(struct live *live);
void live_free(struct live *live);

#endif
