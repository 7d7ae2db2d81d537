/* SPDX-License-Identifier: MIT */
/*
 * The tracing process: a child of flamerun that attaches to targets by ptrace(2), takes samples
 * when their threads stop, and writes records (pipe_record.h). It is a process of its own, because
 * a tracer's wait(2) also returns stops of tracees, and flamerun waits for the program as usual.
 *
 * At its end, the tracer does not stop and detach each thread. When the tracing thread ends, for
 * whatever reason, the kernel detaches all tracees without waking sleeping ones.
 */
#ifndef CLI_OUTSIDE_TRACER_H
#define CLI_OUTSIDE_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"
#include "cli/gather/pipe_record.h"
#include "cli/outside/object.h"
#include "cli/outside/target.h"
#include "libprof/procfs.h"

struct tracer_config {
	uint32_t rate_hz;
	bool waits; /* record threads' waits */
	/* Record also the names of files and the addresses of locks that threads wait for. */
	bool wait_details;
	bool follow;  /* trace children as well */
	/* Arena, borrowed. If set, attach also to the run's programs without a slot in it. */
	struct wire_arena *arena;
	int arena_descriptor;
	/* Socket of datagrams: receives struct command, sends struct command_answer. */
	int commands;
	int pipe;     /* non-blocking */
};

enum command_kind {
	COMMAND_ATTACH = 1, /* to a running process */
	/* Attach to a child of flamerun, to sample it from its next exec on. */
	COMMAND_AWAIT,
	/* Write the last records and end. This command has no answer. */
	COMMAND_FINISH
};

struct command {
	uint32_t kind;
	pid_t pid;
};

struct command_answer {
	int64_t error; /* 0, or -errno and message */
	struct diag_message message;
};

/* Limit of the number of bytes of a stack that are copied. */
#define TRACER_STACK_BYTES (512u << 10)
#define TRACER_REASONS	   8u

struct tracer {
	struct tracer_config config;
	uint64_t period_ns;
	uint64_t random;
	bool is_finished;
	struct tracees tracees;
	struct target *targets;
	struct target_waits *waits; /* NULL: no waits recorded */
	/* If NULL, attach only to processes that a command names. */
	struct uninjected *uninjected;
	struct target_shared shared;
	struct pipe_writer pipe_writer;
	struct record_totals totals;
	unsigned waiting;  /* threads: WAY_WAITING */
	unsigned by_stops; /* threads: WAY_STOPS */
	/* CPU time in ns of ended threads minus the weight of their samples */
	int64_t ended_due_ns;
	bool is_prepared; /* the next two members are set */
	/* This kernel's CPU timers interrupt system calls. No process gets timers then. */
	bool breaks_off_calls;
	/* Number of flamerun's seccomp filters, which its children inherit. */
	uint32_t own_filters;
	struct tracer_reason {
		const char *why;
		uint64_t programs;
	} reasons[TRACER_REASONS]; /* why programs were sampled by stops */
	/* CLOCK_MONOTONIC ns at which sampling ended; 0 before. */
	uint64_t leaving_ns;
	struct memory memory;
	char stack[TRACER_STACK_BYTES]; /* a thread's stack */
	uint64_t frames[WIRE_MAX_DEPTH];
	uint64_t other_frames[WIRE_MAX_DEPTH]; /* of libunwind's walk */
};

/* Run the tracing process, with all signals blocked by the caller. Returns its exit status. */
int tracer_main(const struct tracer_config *config);

/* Handle all stops reported now. Never waits. Context: the tracing thread. */
void tracer_handle_stops(struct tracer *tracer);

/* Returns a random number below @limit, which is not 0. */
static inline uint64_t tracer_random(struct tracer *tracer, uint64_t limit)
{
	/* xorshift64 */
	tracer->random ^= tracer->random << 13;
	tracer->random ^= tracer->random >> 7;
	tracer->random ^= tracer->random << 17;
	return tracer->random % limit;
}

#endif
