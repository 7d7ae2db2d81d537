/* SPDX-License-Identifier: MIT */
/*
 * The tracing process: a child of flamerun that attaches to targets with ptrace(2), stops their
 * threads for samples and tells what it saw (pipe_record.h). A process of its own, because the
 * kernel mixes a tracer's stops with a parent's: flamerun goes on waiting for a program it started
 * as it always does.
 *
 * Nobody is stopped only to be let go: the kernel detaches all when the tracing thread ends, of
 * whatever cause, and those that sleep sleep on.
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
	bool waits;   /* look at what threads wait for */
	bool wait_details;
	bool follow;  /* and children */
	struct wire_arena
		*arena; /* of a run whose uninjected programs are to be found; NULL: of none */
	int arena_descriptor;
	int commands; /* socket of datagrams: struct command in, struct command_answer out */
	int pipe;     /* non-blocking */
	uint32_t key; /* of the records there */
};

enum command_kind {
	COMMAND_ATTACH = 1, /* to a running process */
	COMMAND_AWAIT,	    /* to one of ours, which is sampled once it has exec'd */
	COMMAND_FINISH	    /* no answer: records until the end of the file */
};

struct command {
	uint32_t kind;
	pid_t pid;
};

struct command_answer {
	int64_t error; /* 0, or -errno with a message */
	struct diag_message message;
};

/* At most so much of a stack is copied. */
#define TRACER_STACK_BYTES (512u << 10)
#define TRACER_REASONS	   8u

struct tracer {
	struct tracer_config config;
	uint64_t period_ns;
	uint64_t random;
	bool is_finished;
	struct tracees tracees;
	struct target *targets;
	struct target_waits *waits;	       /* NULL: nobody looks at them */
	struct uninjected *uninjected; /* NULL: whom to trace is said by commands */
	struct target_shared shared;
	struct pipe_writer pipe_writer;
	struct record_totals totals;
	unsigned waiting;   /* threads that are to have a timer, */
	unsigned by_stops;  /* and that can't have one */
	int64_t ended_due_ns; /* what threads that ended used beside what their samples weigh */
	bool is_prepared;      /* the next two are known */
	bool breaks_off_calls; /* this kernel's CPU timers do */
	uint32_t own_filters;  /* seccomp filters, which programs that we started have, too */
	struct tracer_reason {
		const char *why;
		uint64_t programs;
	} reasons[TRACER_REASONS]; /* why some are sampled by stops */
	uint64_t leaving_ns;   /* when sampling is over, whatever is left to do; 0: it goes on */
	struct memory memory;
	char stack[TRACER_STACK_BYTES]; /* a copy of one */
	uint64_t frames[WIRE_MAX_DEPTH];
	uint64_t other_frames[WIRE_MAX_DEPTH]; /* of a second way of walking */
};

/* The process's life; returns its exit status. Signals are blocked, all of them. */
int tracer_main(const struct tracer_config *config);

/* Take all stops that there are. Never waits. Context: the tracing thread. */
void tracer_handle_stops(struct tracer *tracer);

/* A number that nobody can be in step with, below @limit (not 0). */
static inline uint64_t tracer_random(struct tracer *tracer, uint64_t limit)
{
	/* xorshift64 */
	tracer->random ^= tracer->random << 13;
	tracer->random ^= tracer->random >> 7;
	tracer->random ^= tracer->random << 17;
	return tracer->random % limit;
}

#endif
