/* SPDX-License-Identifier: MIT */
/*
 * Records what threads of targets wait for. libprof/waits/waits.h decides which threads are read
 * and when; this reads their stacks from outside and writes records to the pipe.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_TARGET_WAITS_H
#define CLI_OUTSIDE_TARGET_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/outside/target.h"

struct target_waits;

struct target_waits_config {
	struct target_shared *shared; /* borrowed, as its pipe_writer */
	uint64_t period_ns;	      /* one unit of weight */
	/* with names of files and addresses of locks */
	bool has_details;
	/* As in struct waits_calls; NULL: a thread's number is its tid. */
	uint32_t (*find_thread)(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns);
	/* As in struct waits_calls; NULL: no target is ever paused. */
	bool (*is_paused)(void *context, const struct target *target, uint64_t *since_ns);
	/*
	 * As in struct waits_calls; NULL: no target has left, and ends of threads are not reported.
	 */
	bool (*has_left)(void *context, const struct target *target);
	void *context;
};

struct waits_end;

/* Returns an owned object, or NULL without memory. */
struct target_waits *target_waits_new(const struct target_waits_config *config);
void target_waits_free(struct target_waits *waits); /* NULL is fine */

/* As waits_add() of @target, borrowed until target_waits_remove(). Returns 0 or -ENOMEM. */
int target_waits_add(struct target_waits *waits, struct target *target, uint64_t begun_ns,
	uint64_t begun_cpu_ns);

/*
 * Count a process whose waits cannot be read, because its pid in flamerun's namespace is unknown.
 */
void target_waits_pass_over(struct target_waits *waits);

/* As waits_end_thread(), waits_remove() and waits_round(). */
void target_waits_end_thread(
	struct target_waits *waits, const struct target *target, const struct waits_end *end);
void target_waits_remove(struct target_waits *waits, const struct target *target, uint64_t end_ns);
uint64_t target_waits_round(struct target_waits *waits);

/* As waits_finish(), and write the totals (RECORD_WAITS). */
void target_waits_finish(struct target_waits *waits);

#endif
