/* SPDX-License-Identifier: MIT */
/*
 * The arena's one reader: a thread of flamerun that drains the rings of all processes of a run,
 * living or dead, follows who comes and goes, and writes what it took to the pipe as checked
 * records (pipe_record.h). It is the only one who frees a ring or a block, so none can be read for
 * somebody who had it before; where it stands in each ring is in memory of its own. It shares no
 * profile with the rest of flamerun and goes on while that draws.
 *
 * A thread, not a process: what it knows of a pid must be true of flamerun's children.
 */
#ifndef CLI_GATHER_COLLECTOR_H
#define CLI_GATHER_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/gather/pipe_record.h"
#include "libprof/wire.h"

struct collector;
struct kernel_stack;
struct perf_events;

/* An image that has begun. */
struct collector_image {
	uint64_t image;
	uint32_t pid;	   /* as it sees itself */
	bool namespaced;   /* flamerun has another for it */
	uint64_t image_at; /* as in struct wire_slot */
	uint64_t start_ns, start_cpu_ns; /* as in struct wire_slot */
	uint32_t slot;			 /* its index */
};

/* A thread that has ended, as it told itself. */
struct collector_thread {
	uint64_t image;
	uint32_t number, tid;
	uint64_t start_ns, end_ns;
	uint64_t end_cpu_ns; /* by its own clock */
	char comm[WIRE_COMM_BYTES];
};

/*
 * Who looks at processes while the collector drains what they write. All is called by the
 * collector's thread.
 */
struct collector_looker {
	void *context;
	void (*start)(void *context, struct pipe_writer *pipe_writer); /* for its records */
	void (*add)(void *context, const struct collector_image *image);
	/* Before the end of its image, of which this may be all that there is to be known. */
	void (*end_thread)(void *context, const struct collector_thread *thread);
	void (*end)(void *context, uint64_t image, uint64_t end_ns); /* 0: not known */
	/* What the kernel was seen to do for a thread. */
	void (*add_look)(void *context, uint64_t image, uint32_t thread,
		const struct kernel_stack *look);
	uint64_t (*look)(void *context); /* returns when it wants to look again */
	void (*finish)(void *context);
};

struct collector_config {
	struct wire_arena *arena; /* borrowed, as the descriptor */
	uint32_t blocks;
	int pipe;			       /* its writing end, non-blocking */
	const struct collector_looker *looker; /* borrowed; NULL: none */
	struct perf_events *events;	       /* borrowed; NULL: none */
};

/* Returns 0 and an owned object whose thread runs, or -errno. */
int collector_start(struct collector **out, const struct collector_config *config);

/*
 * Ask it to look at everything now. Returns the number that RECORD_ROUND will have when it has.
 * Context: any thread, one at a time.
 */
uint64_t collector_request(struct collector *collector);

/*
 * Ask it to finish: it takes what there is, tells of those who still run as they are, and ends its
 * stream. Sampling has been ended (wire_arena.closing). Somebody must read the pipe meanwhile.
 */
void collector_finish(struct collector *collector);

/* Has it finished? All its records are in the pipe then, or have been read. */
bool collector_has_ended(const struct collector *collector);

/* Ends the thread, at once if it was not asked to finish. NULL is fine. */
void collector_free(struct collector *collector);

#endif
