/* SPDX-License-Identifier: MIT */
/* Draw --live, as a screen or as a line, from the values in struct live_view. */
#ifndef CLI_RUN_LIVE_SCREEN_H
#define CLI_RUN_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of the list of functions. Shares are from 0 to 1. */
struct live_function {
	const char *name; /* with its module; any bytes */
	double now, self, total;
};

struct live_thread {
	const char *name;
	uint32_t pid, tid; /* tid 0: not known */
	double cpus_now;   /* number of CPUs used now */
	double share;	   /* of all CPU time since the reset, 0 to 1 */
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

/* Commands by key. */
enum live_key {
	LIVE_NONE,
	LIVE_PAUSE,
	LIVE_RESET,
	LIVE_WRITE,
	LIVE_QUIT,
	LIVE_REDRAW
};

/* Switch the terminal to the screen. Returns 0, or -errno if the terminal cannot show a screen. */
int live_screen_begin(void);
void live_screen_end(void); /* restores the terminal */

void live_screen_show(const struct live_view *view);
enum live_key live_screen_key(void); /* LIVE_NONE: none was pressed */

/* Write "3 s: 1.92 CPUs, 45.2 % find [x], ..." to @out, without control characters. */
void live_screen_line(const struct live_view *view, char *out, size_t size);

#endif
