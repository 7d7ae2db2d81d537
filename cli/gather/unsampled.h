/* SPDX-License-Identifier: MIT */
/*
 * Find out why a process with the library has too few samples: which of its threads used CPU time
 * without samples, and why, according to /proc. This is done while the threads run, because a
 * thread that has ended is not in /proc any more.
 */
#ifndef CLI_GATHER_UNSAMPLED_H
#define CLI_GATHER_UNSAMPLED_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/gather/pipe_record.h"
#include "libprof/wire.h"

struct unsampled_thread;

/* State for one image. Before the first check, set `pid` and `image`, and zero the other fields. */
struct unsampled {
	pid_t pid;
	uint64_t image;
	uint64_t ns[WIRE_UNSAMPLED_CAUSES]; /* CPU time by cause */
	/* CPU time in ns without samples at the last check. */
	uint64_t missing_ns;
	/* CLOCK_MONOTONIC time in ns before which no check happens. */
	uint64_t next_ns;
	struct unsampled_thread *threads;   /* owned */
	unsigned count, room;
};

/*
 * If the CPU time without samples has grown since the last check, check the threads of the image of
 * @slot. @cpu_ns is its process's CPU time. Costs 20 us per thread, at most 1/200 of a CPU.
 */
void unsampled_check(struct unsampled *unsampled, struct wire_arena *arena,
	const struct wire_slot *slot, uint64_t cpu_ns);

/*
 * At the image's end, write the CPU time without samples, by cause, to @record. Release @unsampled.
 */
void unsampled_end(
	struct unsampled *unsampled, const struct wire_slot *slot, struct record_image_end *record);

void unsampled_release(struct unsampled *unsampled);

#endif
