/* SPDX-License-Identifier: MIT */
/*
 * One thread's waits: looking at it, and the books of its life. Whom to look at, and when, is
 * waits.h's.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_WAIT_THREAD_H
#define CLI_OUTSIDE_WAIT_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/gather/procfs.h"
#include "cli/outside/stackwalk.h"

struct wait_thread {
	pid_t tid;
	uint32_t number; /* within the image; 0: not known yet */
	int clock, call; /* descriptors of its "schedstat" and "syscall", -1: not open */
	bool is_asleep;	 /* it was when it was looked at last, on `stack` */
	bool is_announced;
	uint64_t begun_ns;
	struct procfs_clock begun; /* what the kernel had counted by then */
	uint64_t seen_ns;
	struct procfs_clock seen;
	/* Time it waited that is on no stack yet; less than nothing where clocks tell late. */
	int64_t carried_ns;
	/* Not yet told: on `stack`, ready to run, and on no stack that could be had. */
	uint64_t asleep_ns, ready_ns, unknown_ns;
	uint64_t rest_ns; /* what made no whole period when it was told */
	uint64_t told_ns; /* when it was */
	uint64_t *stack;  /* innermost first, its leaf a WIRE_FRAME_WAIT; NULL: none */
	uint32_t frames;
	uint8_t end; /* enum wire_end */
};

/* What looks at threads need and count. */
#define WAIT_DETAILS (1u << 17)

struct wait_looker {
	struct target_shared *shared; /* borrowed */
	uint64_t period_ns;
	struct memory *memory;
	uint64_t *frames;	   /* room for WIRE_MAX_DEPTH + 1 */
	unsigned files, files_max; /* descriptors kept open, and how many may be */
	size_t stack_bytes;	   /* of all threads' stacks */
	uint64_t *details; /* texts told, WAIT_DETAILS hashes, 0: none; NULL: none are wanted */
	unsigned detail_count;
	uint64_t looks, changed; /* at stacks; that the thread did not sleep through */
};

/* @thread begins to be looked at: times of the kernel's, ours and @rest_ns, on loan, are set. */
int wait_thread_begin(
	struct wait_looker *looker, struct wait_thread *thread, const struct target *target);

/*
 * Look at @thread of @target: whatever it did since the last look is in its books then.
 * Returns 0, -ESRCH: it has ended, or another -errno: nobody may look at what it waits for.
 */
int wait_thread_look(struct wait_looker *looker, struct wait_thread *thread, struct target *target);

/* It slept on until @now_ns, if it was asleep. */
void wait_thread_rested(struct wait_thread *thread, uint64_t now_ns);

/* Tell what is in the books. */
void wait_thread_tell(
	struct wait_looker *looker, struct wait_thread *thread, const struct target *target);

/* What it was until it ended, at @end_ns, or with 0 until now, if that can still be read. */
void wait_thread_close(struct wait_looker *looker, struct wait_thread *thread,
	const struct target *target, uint64_t end_ns);

/*
 * Its life is over at @end_ns, as far as we are concerned: tell all of it. One that ran when it was
 * seen last is not known to have done anything since. @thread is released.
 */
void wait_thread_end(struct wait_looker *looker, struct wait_thread *thread,
	const struct target *target, uint64_t end_ns);

/* Its files and memory alone. */
void wait_thread_release(struct wait_looker *looker, struct wait_thread *thread);

#endif
