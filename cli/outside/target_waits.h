/* SPDX-License-Identifier: MIT */
/*
 * Record what threads of targets wait for. libprof/waits/waits.h decides which threads are read and
 * when. This file reads their stacks from outside and writes records to the pipe.
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
	struct target_shared *shared; /* borrowed */
	uint64_t period_ns;	      /* one unit of weight */
	/* Record also the names of files and the addresses of locks that threads wait for. */
	bool has_details;
	/* As in struct waits_calls. If NULL, a thread's number is its tid. */
	uint32_t (*find_thread)(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns);
	/* As in struct waits_calls. If NULL, targets never pause their sampling. */
	bool (*is_paused)(void *context, const struct target *target, uint64_t *since_ns);
	/*
	 * As in struct waits_calls. If NULL, no target is in the middle of an exit or exec, and the
	 * ends of threads are not reported.
	 */
	bool (*has_left)(void *context, const struct target *target);
	void *context;
};

struct waits_end;

/* Returns an owned object, or NULL without memory. */
struct target_waits *target_waits_new(const struct target_waits_config *config);
void target_waits_free(struct target_waits *waits); /* NULL is fine */

/*
 * Call waits_add() for @target, which is borrowed until target_waits_remove(). Returns 0 or
 * -ENOMEM.
 */
int target_waits_add(struct target_waits *waits, struct target *target, uint64_t begun_ns,
	uint64_t begun_cpu_ns);

/*
 * Count a process whose waits cannot be read, because its pid in flamerun's namespace is unknown.
 */
void target_waits_pass_over(struct target_waits *waits);

/* Call waits_end_thread(), waits_remove() or waits_round(). */
void target_waits_end_thread(
	struct target_waits *waits, const struct target *target, const struct waits_end *end);
void target_waits_remove(struct target_waits *waits, const struct target *target, uint64_t end_ns);
uint64_t target_waits_round(struct target_waits *waits);

/* Call waits_finish(), then write RECORD_TOTALS and RECORD_WAITS. */
void target_waits_finish(struct target_waits *waits);

#endif
