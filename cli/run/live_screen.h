/* SPDX-License-Identifier: MIT */
/*
 * What --live shows, on a terminal or as a line: no more than how it looks.
 */
#ifndef CLI_RUN_LIVE_SCREEN_H
#define CLI_RUN_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shares are of 1. */
struct live_function {
	const char *name; /* with its module; may hold anything */
	double now, self, total;
};

struct live_thread {
	const char *name;
	uint32_t pid, tid; /* tid 0: not known */
	double cpus_now;   /* 1: all of one */
	double share;	   /* of all that was counted */
};

struct live_view {
	const char *title;
	double elapsed_s, cpus_now;
	uint64_t samples, lost;
	const struct live_function *functions; /* the hottest first */
	size_t function_count;
	const struct live_thread *threads; /* the busiest first */
	size_t thread_count;
	bool is_paused;
	const char *notice; /* "": none */
};

/* What a key asks for. */
enum live_key {
	LIVE_NONE,
	LIVE_PAUSE,
	LIVE_RESET,
	LIVE_WRITE,
	LIVE_QUIT,
	LIVE_REDRAW
};

/* Take over the terminal. Returns 0, or -errno where it cannot be had. */
int live_screen_begin(void);
void live_screen_end(void); /* leaves it as it was */

void live_screen_show(const struct live_view *view);
enum live_key live_screen_key(void); /* LIVE_NONE: none was pressed */

/* "3 s: 1.92 CPUs, 45.2 % find [x], ..." for @view, disarmed. */
void live_screen_line(const struct live_view *view, char *out, size_t size);

#endif
