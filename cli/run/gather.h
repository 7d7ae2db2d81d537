/* SPDX-License-Identifier: MIT */
/*
 * Gather all samples of a run into one profile. Samples of the preloaded library come through
 * shared memory (the arena) and the collector process; other samples come from the tracing process.
 * Both processes write to pipes, which this process reads. launch.h starts the child and watches
 * its end. Context: one thread.
 */
#ifndef CLI_RUN_GATHER_H
#define CLI_RUN_GATHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"
#include "libprof/wire.h"

struct accounting_child;
struct gather;
struct held_files;
struct pipe_reader_refusal;
struct pipe_reader_state;
struct flameprof_profile;

struct gather_config {
	uint32_t rate_hz;
	/* true: a tracer samples all processes, without the library */
	bool outside;
	/* The members below are for sampling by the library. */
	uint32_t test_clock_hz; /* tests only; 0: CPU clocks */
	/* number of the signal by which threads are sampled */
	int signal;
	bool has_events; /* perf events signal threads */
	bool has_kernel; /* perf events record kernel stacks */
	/* true: processes record nothing until they ask for it */
	bool start_paused;
	bool waits; /* record why threads wait */
	bool wait_details;
	/* The member below is for sampling by a tracer. */
	bool follow; /* sample children, too */
};

/*
 * Create the shared memory and the pipes, and start the collector or the tracing process. Returns 0
 * with an owned object in *@out, or -errno with @message filled.
 */
int gather_open(struct gather **out, const struct gather_config *config,
	struct diag_message *message);
void gather_free(struct gather *gather); /* NULL is fine */

/*
 * Returns "FLAMERUN_CHANNEL=..." for the environment of a program with the library; owned by
 * @gather. The descriptor that the variable names is close-on-exec. Programs open it through
 * /proc/PID/fd with flamerun's pid.
 */
const char *gather_environment(const struct gather *gather);

/* Returns the tracing process's pid, which programs may have to allow (PR_SET_PTRACER), or -1. */
pid_t gather_tracer(const struct gather *gather);

/* Attach the tracing process to @pid as outside_attach() does. */
int gather_attach(struct gather *gather, pid_t pid, bool from_exec, struct diag_message *message);

/* Returns a descriptor, owned by @gather. Poll it for POLLIN before gather_read(). */
int gather_descriptor(const struct gather *gather);

/* Read all data in the pipes without blocking. Returns 0, or -ENOMEM: the run can continue. */
int gather_read(struct gather *gather);

/* Let the collector read the arena once more, then read the pipes. Returns 0 or -ENOMEM. */
int gather_sync(struct gather *gather);

/* Has a process been sampled, or has the library in a process connected? */
bool gather_connected(const struct gather *gather);

/*
 * Returns the number of process images (execs) that still run, plus forks whose children have not
 * connected yet. Images in pid namespaces below flamerun's are not counted, because flamerun cannot
 * see their end. The process that started them is outside of the namespace and is counted.
 */
unsigned gather_count_live(const struct gather *gather);

/* Have all processes that the tracer samples ended? Always false if there is a collector. */
bool gather_has_ended(const struct gather *gather);

/*
 * End the sampling, detach from all processes and read the remaining records. @child: the resource
 * usage of flamerun's child from the kernel, or NULL if the child still runs. Afterwards only call
 * functions that return results, and gather_free(). Returns 0 or -ENOMEM.
 */
int gather_finish(struct gather *gather, const struct accounting_child *child);

/* Returns the profile; borrowed. */
struct flameprof_profile *gather_profile(struct gather *gather);

/* Returns the files of modules that are held open; borrowed. NULL if memory was short. */
const struct held_files *gather_held(const struct gather *gather);
/* Do perf events signal the threads of processes with the library? */
bool gather_has_events(const struct gather *gather);

/* Does a tracer sample all processes? If not, a tracer may sample processes without the library. */
bool gather_is_outside(const struct gather *gather);

/* Returns the facts that the pipes reported in addition to samples; borrowed. */
const struct pipe_reader_state *gather_state(const struct gather *gather);

/* Returns an array of PIPE_READER_REFUSALS reasons why programs were not sampled; borrowed. */
const struct pipe_reader_refusal *gather_refusals(const struct gather *gather);

#endif
