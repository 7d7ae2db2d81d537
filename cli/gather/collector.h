/* SPDX-License-Identifier: MIT */
/*
 * The collector is the only reader of the arena: a thread of flamerun that drains the rings of all
 * processes of a run, living or dead, notices processes that start and end, and writes checked
 * records (pipe_record.h) to a pipe. Only the collector frees rings and blocks, so it never reads a
 * ring on behalf of a previous owner. It keeps its read positions in private memory and shares no
 * profile with the rest of flamerun, so it continues while flamerun draws.
 *
 * It is a thread, not a process, because its pids must hold for flamerun's children.
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

/* An image (one program in one process, from fork or exec to exec or exit) that has begun. */
struct collector_image {
	uint64_t image;
	uint32_t pid;			 /* in the process's own pid namespace */
	bool namespaced;		 /* flamerun sees the process under another pid */
	uint64_t image_at;		 /* address in the process of its image number */
	uint64_t start_ns, start_cpu_ns; /* as in struct wire_slot */
	uint32_t slot;			 /* index of its struct wire_slot */
};

/* A thread that has ended, with the values that it wrote itself. */
struct collector_thread {
	uint64_t image;
	uint32_t number, tid;
	uint64_t start_ns, end_ns;
	uint64_t end_cpu_ns; /* ns of its CPU clock */
	char comm[WIRE_COMM_BYTES];
};

/* Callbacks by which another module inspects processes and threads, from the collector's thread. */
struct collector_reader {
	void *context;
	void (*start)(void *context, struct pipe_writer *pipe_writer); /* @pipe_writer: borrowed */
	void (*add)(void *context, const struct collector_image *image);
	/* Called before the image's end(). Short threads may be known only by this call. */
	void (*end_thread)(void *context, const struct collector_thread *thread);
	void (*end)(void *context, uint64_t image, uint64_t end_ns); /* @end_ns is 0 if not known */
	/* Pass on a stack of @thread in the kernel; it has no weight. @kernel_stack is borrowed. */
	void (*add_kernel_stack)(void *context, uint64_t image, uint32_t thread,
		const struct kernel_stack *kernel_stack);
	uint64_t (*read)(void *context); /* returns CLOCK_MONOTONIC ns of the next wanted call */
	void (*finish)(void *context);
};

struct collector_config {
	struct wire_arena *arena; /* borrowed */
	uint32_t blocks;
	int pipe;			       /* writing end, non-blocking; borrowed */
	const struct collector_reader *reader; /* borrowed; NULL: none */
	struct perf_events *events;	       /* borrowed; NULL: none */
};

/* Start the collector. Returns 0 with an owned object whose thread runs, or -errno. */
int collector_start(struct collector **out, const struct collector_config *config);

/*
 * Ask for a read of the whole arena now. Returns the number of the RECORD_ROUND that follows it.
 * Context: any thread, one at a time.
 */
uint64_t collector_request(struct collector *collector);

/*
 * Ask the collector to finish: it reads what the arena holds, ends the images that still run, and
 * writes RECORD_END. Before the call, set wire_arena.closing so that sampling stops. Keep reading
 * the pipe until collector_has_ended(), because the collector waits for room in the pipe.
 */
void collector_finish(struct collector *collector);

/* Has the collector finished? Then all its records are in the pipe or have been read. */
bool collector_has_ended(const struct collector *collector);

/* End the thread, without its final records if not asked to finish. NULL is fine. */
void collector_free(struct collector *collector);

#endif
