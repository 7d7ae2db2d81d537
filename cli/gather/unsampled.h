/* SPDX-License-Identifier: MIT */
/*
 * What keeps samples from a process with the library: which of its threads used CPU time that no
 * sample shows, and what the kernel says of them meanwhile. Afterwards nobody can be asked.
 */
#ifndef CLI_GATHER_UNSAMPLED_H
#define CLI_GATHER_UNSAMPLED_H

#include <stdint.h>
#include <sys/types.h>

#include "cli/gather/pipe_record.h"
#include "libprof/wire.h"

struct unsampled_thread;

/* Of one image; zero but for the first two. */
struct unsampled {
	pid_t pid;
	uint64_t image;
	uint64_t ns[WIRE_UNSAMPLED_CAUSES]; /* CPU time, by cause */
	uint64_t missing_ns;		    /* that samples lacked at the last look */
	uint64_t next_ns;		    /* no look before */
	struct unsampled_thread *threads;   /* owned */
	unsigned count, room;
};

/*
 * Look at the threads of the image, which has @slot and whose process has used @cpu_ns, if its
 * samples stand for clearly less than that, and if that has grown since the last look. Costs some
 * 20 us a thread, and 1/200 of a CPU at most.
 */
void unsampled_check(struct unsampled *unsampled, struct wire_arena *arena,
	const struct wire_slot *slot, uint64_t cpu_ns);

/* The image ends: fill in @record what is known of samples that did not come, and let go. */
void unsampled_end(
	struct unsampled *unsampled, const struct wire_slot *slot, struct record_image_end *record);

void unsampled_release(struct unsampled *unsampled);

#endif
