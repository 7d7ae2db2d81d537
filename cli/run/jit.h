/* SPDX-License-Identifier: MIT */
/*
 * --jit: the runtimes whose functions get names, what became of it in the program's processes, and
 * what is said of those without.
 */
#ifndef CLI_RUN_JIT_H
#define CLI_RUN_JIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gather;
struct options;

/* The enum wire_jit bits of @list: words of options_runtimes() with commas between; others are
 * ignored. */
uint32_t jit_mask(const char *list);

/* What is said of runtimes without names, once. */
struct jit_watch {
	const struct options *options; /* borrowed */
	struct gather *gather;	       /* borrowed */
	pid_t program;	      /* the process that is started; 0: they run already */
	bool is_outside;      /* sampled from there, where --jit does nothing */
	/* Zero at first. */
	uint32_t modules;     /* looked at so far */
	unsigned minor;	      /* the version of the CPython that was found, 3.minor; 0: none */
	uint32_t image;	      /* the image that it runs */
	uint64_t since_ns;    /* when it was found */
	bool is_done;	      /* nothing is to be said any more */
};

/*
 * While the run goes on: tell of a CPython that runs without names for its functions, as soon as
 * that is sure. @now_ns  of CLOCK_MONOTONIC.
 */
void jit_check(struct jit_watch *watch, uint64_t now_ns);

/* At the end of a run: the same, and what was asked for and no process got, and why. */
void jit_report(struct jit_watch *watch);

#endif
