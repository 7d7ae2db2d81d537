/* SPDX-License-Identifier: MIT */
/*
 * The collector is a thread of flamerun and the only reader of the arena. It drains the rings of
 * all sampled processes, alive or dead, notices processes that start and end, and writes checked
 * records (pipe_record.h) to a pipe. Only the collector frees rings and blocks, so a ring cannot
 * change its owner while the collector reads it. The collector keeps its read positions in private
 * memory and does not touch the profile, so it continues while flamerun draws.
 *
 * As a thread of flamerun it is an ancestor of the sampled processes. Yama may allow only ancestors
 * to read a process's memory.
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

/* An image that has begun: one program in one process, from fork or exec to exec or exit. */
struct collector_image {
	uint64_t image;
	uint32_t pid; /* in its own pid namespace */
	/* The process is in another pid namespace. flamerun sees it under another pid. */
	bool namespaced;
	/* Address in the process's memory where the process keeps its image number. */
	uint64_t image_at;
	uint64_t start_ns, start_cpu_ns; /* as in struct wire_slot */
	uint32_t slot;			 /* index of its struct wire_slot */
};

/* A thread that has ended, with the values that it wrote to its ring. */
struct collector_thread {
	uint64_t image;
	uint32_t number, tid;
	uint64_t start_ns, end_ns;
	uint64_t end_cpu_ns; /* ns of its CPU clock */
	char comm[WIRE_COMM_BYTES];
};

/* Callbacks that read waits and stacks of processes. The collector's thread calls them. */
struct collector_reader {
	void *context;
	void (*start)(void *context, struct pipe_writer *pipe_writer); /* @pipe_writer: borrowed */
	void (*add)(void *context, const struct collector_image *image);
	/* Report a thread's end, before end(). Short threads may not be reported otherwise. */
	void (*end_thread)(void *context, const struct collector_thread *thread);
	void (*end)(void *context, uint64_t image, uint64_t end_ns); /* @end_ns is 0 if not known */
	/* Report a kernel stack of thread number @thread. @kernel_stack is borrowed. */
	void (*add_kernel_stack)(void *context, uint64_t image, uint32_t thread,
		const struct kernel_stack *kernel_stack);
	/* Do the reads that are due. Returns the CLOCK_MONOTONIC ns at which to call this again. */
	uint64_t (*read)(void *context);
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
 * Ask the collector to read the whole arena now. It then writes a RECORD_ROUND with the number that
 * this function returns. Context: any thread, one at a time.
 */
uint64_t collector_request(struct collector *collector);

/*
 * Ask the collector to read the arena, end the recording of images that still run, and write
 * RECORD_END. Before the call, set wire_arena.closing to stop sampling. Keep reading the pipe until
 * collector_has_ended(), because the collector waits for room in the pipe.
 */
void collector_finish(struct collector *collector);

/* Has the collector finished? If so, its last record is in the pipe or was read from it already. */
bool collector_has_ended(const struct collector *collector);

/* End the thread and free @collector. Without collector_finish() no final records are written. */
void collector_free(struct collector *collector);

#endif
