/* SPDX-License-Identifier: MIT */
/*
 * --live: during a run, show once a second the functions and threads that use the CPU now, and
 * those that used it most so far. On a terminal this is a screen with keys, otherwise one line per
 * second.
 *
 * Each update looks up all names anew. If updates take long, they become rarer, so that they use at
 * most a twentieth of a CPU. Context: one thread, the thread of the run's loop.
 */
#ifndef CLI_RUN_LIVE_H
#define CLI_RUN_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/diag.h"
#include "cli/run/run_graph.h"

struct live;

/*
 * Create the display. @has_program: a program will be started. While the screen is shown, the
 * program's output and flamerun's messages are kept, and are written to the terminal afterwards.
 * Returns 0 with an owned object in *@out, or -errno with @message filled.
 */
int live_open(struct live **out, bool has_program, struct diag_message *message);

/* Return the descriptors (borrowed) that replace a terminal as the program's streams, or -1. */
int live_input(const struct live *live);
int live_output(const struct live *live);

/* Show the display. @run_graph is borrowed until live_end(). */
void live_begin(struct live *live, const struct run_graph *run_graph);

/* Returns the descriptor to poll for keys (POLLIN), or -1. */
int live_descriptor(const struct live *live);

/* ms between calls of live_update() if no key is pressed. */
#define LIVE_TICK_MS 50

/* Handle keys, and update the display if due. Returns true to end sampling running processes. */
bool live_update(struct live *live);

/*
 * Restore the terminal and write the program's output so far to it. Later output is written by
 * live_update() and finally by live_free(). NULL is fine.
 */
void live_end(struct live *live);
void live_free(struct live *live);

#endif
