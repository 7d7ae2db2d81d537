/* SPDX-License-Identifier: MIT */
/*
 * --live: show once a second, during a run, the functions and threads that use the CPU now and
 * those that used it most. On a terminal this is a screen with keys, elsewhere one line per second.
 *
 * Each update names everything anew. If this takes long, updates are rarer, so that they use at
 * most a twentieth of a CPU. Context: one thread, that of the run's loop.
 */
#ifndef CLI_RUN_LIVE_H
#define CLI_RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/run/run_graph.h"

struct live;

/*
 * Create the display. @has_program: a program will be started; while the screen is shown, its
 * output and flamerun's messages are kept, and written to the terminal afterwards. Returns 0 with
 * an owned object in *@out, or -errno with @message filled.
 */
int live_open(struct live **out, bool has_program, struct diag_message *message);

/* Borrow the descriptors that replace the terminal as the program's input and output; -1: none. */
int live_input(const struct live *live);
int live_output(const struct live *live);

/* Show the display. @run_graph is borrowed until live_end(). */
void live_begin(struct live *live, const struct run_graph *run_graph);

/* Returns the descriptor to poll for keys (POLLIN), or -1. */
int live_descriptor(const struct live *live);

/* Interval at which to call live_update() if no key is pressed. */
#define LIVE_TICK_MS 50

/* Handle keys, and update if due. Returns true if the user asked to detach from the processes. */
bool live_update(struct live *live);

/*
 * Restore the terminal and write to it what the program has written. Later output is written by
 * each live_update(), and finally by live_free(). NULL is fine.
 */
void live_end(struct live *live);
void live_free(struct live *live);

#endif
