/* SPDX-License-Identifier: MIT */
/*
 * Gather all samples of a run into one profile: those of injected libraries through the arena and
 * the collector, and those of the tracing process. Both write to pipes, which are read here. Fork,
 * signals and exit status of the child are in launch.h. Context: one thread.
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
	bool outside; /* all processes are sampled by a tracer, not by the library */
	/* The next fields are for sampling by the library. */
	uint32_t test_clock_hz; /* tests only; 0: CPU clocks */
	int signal; /* number of the signal that samples threads */
	bool has_events; /* perf events signal threads */
	bool has_kernel; /* and record stacks in the kernel */
	bool start_paused;	/* processes record nothing until they ask for it */
	bool waits; /* record what threads wait for */
	bool wait_details;
	/* For sampling by a tracer: */
	bool follow; /* sample children, too */
};

/*
 * Create arena and pipes and start the collector or the tracing process. Returns 0 with an owned
 * object in *@out, or -errno with @message filled.
 */
int gather_open(struct gather **out, const struct gather_config *config,
	struct diag_message *message);
void gather_free(struct gather *gather); /* NULL is fine */

/*
 * Returns "FLAMERUN_CHANNEL=..." for the environment of an injected target; owned by @gather. The
 * descriptor in it is close-on-exec; targets open it through /proc/<flamerun's pid>/fd.
 */
const char *gather_environment(const struct gather *gather);

/* Returns the tracing process, which targets may have to allow (PR_SET_PTRACER); -1: none. */
pid_t gather_tracer(const struct gather *gather);

/* Attach the tracing process to @pid, see outside_attach(). */
int gather_attach(struct gather *gather, pid_t pid, bool from_exec, struct diag_message *message);

/* Returns a descriptor, owned by @gather, to poll for POLLIN before gather_read(). */
int gather_descriptor(const struct gather *gather);

/* Read all that is in the pipes; never blocks. Returns 0, or -ENOMEM: the run can continue. */
int gather_read(struct gather *gather);

/*
 * Read the pipes after the collector has read the whole arena once more. Returns as gather_read().
 */
int gather_sync(struct gather *gather);

/* Has any process been sampled, or its library connected, yet? */
bool gather_connected(const struct gather *gather);

/*
 * Count the process images that still run, and the forks whose children have not arrived yet.
 * Images in pid namespaces below flamerun's are left out, because their end cannot be seen. The
 * process that started them is outside of the namespace and counts.
 */
unsigned gather_count_live(const struct gather *gather);

/* Have all targets of the tracer ended? False if there is a collector, which cannot know. */
bool gather_has_ended(const struct gather *gather);

/*
 * End the sampling, detach from all processes and read what is left. @child is the kernel's report
 * on flamerun's child, NULL if it still runs. Afterwards only functions that return results, and
 * gather_free(), may be called. Returns 0 or -ENOMEM.
 */
int gather_finish(struct gather *gather, const struct accounting_child *child);

/* Borrow the profile. */
struct flameprof_profile *gather_profile(struct gather *gather);

/* Borrow the files of modules, opened when their records were read. NULL without memory. */
const struct held_files *gather_held(const struct gather *gather);
/* Did perf events signal threads of processes with the library? */
bool gather_has_events(const struct gather *gather);

/* Are all processes sampled from outside? If not, only those without the library are. */
bool gather_is_outside(const struct gather *gather);

/* Borrow what the pipes reported besides samples. */
const struct pipe_reader_state *gather_state(const struct gather *gather);

/* Borrow the PIPE_READER_REFUSALS reasons why programs could not be sampled from outside. */
const struct pipe_reader_refusal *gather_refusals(const struct gather *gather);

#endif
