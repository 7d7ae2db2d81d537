/* SPDX-License-Identifier: MIT */
/*
 * Find out why a process with the library has too few samples: which of its threads used CPU time
 * without samples, and what /proc says about these threads. This is done while they run, because
 * /proc has nothing about them afterwards.
 */
#ifndef CLI_GATHER_UNSAMPLED_H
#define CLI_GATHER_UNSAMPLED_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/gather/pipe_record.h"
#include "libprof/wire.h"

struct unsampled_thread;

/* State for one image. The caller sets `pid` and `image`, and zeroes the other fields. */
struct unsampled {
	pid_t pid;
	uint64_t image;
	uint64_t ns[WIRE_UNSAMPLED_CAUSES]; /* CPU time, by cause */
	uint64_t missing_ns;		    /* CPU time without samples, at the last check */
	uint64_t next_ns;		    /* no check before this time, CLOCK_MONOTONIC ns */
	struct unsampled_thread *threads;   /* owned */
	unsigned count, room;
};

/*
 * Check the threads of the image with @slot, whose process has used @cpu_ns, if its samples stand
 * for clearly less than that and the difference has grown since the last check. Costs some 20 us a
 * thread, and 1/200 of a CPU at most.
 */
void unsampled_check(struct unsampled *unsampled, struct wire_arena *arena,
	const struct wire_slot *slot, uint64_t cpu_ns);

/* At the image's end, write to @record what is known of missing samples. Release @unsampled. */
void unsampled_end(
	struct unsampled *unsampled, const struct wire_slot *slot, struct record_image_end *record);

void unsampled_release(struct unsampled *unsampled);

#endif
