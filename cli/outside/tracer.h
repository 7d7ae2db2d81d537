/* SPDX-License-Identifier: MIT */
/*
 * The tracing process: a child of flamerun that attaches to targets by ptrace(2), takes samples
 * when their threads stop, and writes records (pipe_record.h). It is a process of its own, because
 * a tracer's wait(2) returns stops as well: so flamerun can wait for the program as usual.
 *
 * Threads are not stopped to be detached. The kernel detaches all of them when the tracing thread
 * ends for any reason, and sleeping threads stay asleep.
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
	bool waits;   /* record what threads wait for */
	/* with names of files and addresses of locks */
	bool wait_details;
	bool follow;  /* trace children as well */
	struct wire_arena
		/* of the run whose uninjected programs are to be found, or NULL */
		*arena;
	int arena_descriptor;
	/* socket of datagrams: struct command in, struct command_answer out */
	int commands;
	int pipe;     /* non-blocking */
};

enum command_kind {
	COMMAND_ATTACH = 1, /* to a running process */
	/* to a child of flamerun, which is sampled from its exec on */
	COMMAND_AWAIT,
	/* has no answer: the tracer writes its last records and ends */
	COMMAND_FINISH
};

struct command {
	uint32_t kind;
	pid_t pid;
};

struct command_answer {
	int64_t error; /* 0, or -errno with a message */
	struct diag_message message;
};

/* At most this many bytes of a stack are copied. */
#define TRACER_STACK_BYTES (512u << 10)
#define TRACER_REASONS	   8u

struct tracer {
	struct tracer_config config;
	uint64_t period_ns;
	uint64_t random;
	bool is_finished;
	struct tracees tracees;
	struct target *targets;
	struct target_waits *waits;	       /* NULL: waits are not recorded */
	/* NULL: processes are traced by command only */
	struct uninjected *uninjected;
	struct target_shared shared;
	struct pipe_writer pipe_writer;
	struct record_totals totals;
	unsigned waiting;   /* number of threads with WAY_WAITING, */
	unsigned by_stops;  /* and with WAY_STOPS */
	/* CPU time of ended threads minus the weight of their samples */
	int64_t ended_due_ns;
	bool is_prepared;      /* the next two fields are set */
	/* this kernel's CPU timers interrupt system calls */
	bool breaks_off_calls;
	/* seccomp filters of flamerun, inherited by its children */
	uint32_t own_filters;
	struct tracer_reason {
		const char *why;
		uint64_t programs;
	} reasons[TRACER_REASONS]; /* why programs are sampled by stops */
	/* when sampling ended, CLOCK_MONOTONIC; 0: it has not */
	uint64_t leaving_ns;
	struct memory memory;
	char stack[TRACER_STACK_BYTES]; /* copy of a thread's stack */
	uint64_t frames[WIRE_MAX_DEPTH];
	uint64_t other_frames[WIRE_MAX_DEPTH]; /* of libunwind's walk */
};

/* Run the tracing process. All signals are blocked. Returns its exit status. */
int tracer_main(const struct tracer_config *config);

/* Handle all stops that are reported now. Never waits. Context: the tracing thread. */
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
