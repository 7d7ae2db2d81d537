/* SPDX-License-Identifier: MIT */
/*
 * A run's samples, from wherever they come into one profile: out of the arena that injected
 * libraries write to, by the collector; from outside, by the tracing process. Both write to one
 * pipe, which is read here. What the child's life needs (fork, signals, status) is not here: see
 * launch.h.
 *
 * Context: one thread.
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
	bool outside; /* sampled by a tracer, not by a library inside */
	/* Inside. */
	uint32_t test_clock_hz; /* 0: CPU clock */
	int signal; /* that samples threads */
	bool has_events; /* perf events signal threads, where they are allowed, */
	bool has_kernel; /* and tell what the kernel does for them */
	bool start_paused;	/* processes record nothing until they say so */
	bool waits; /* is it looked at what threads wait for */
	bool wait_details;
	/* Outside. */
	bool follow; /* children too */
};

/*
 * Make the arena and the pipe and start who writes to it. Returns 0 and an owned object in *@out,
 * or -errno with @message filled.
 */
int gather_open(struct gather **out, const struct gather_config *config,
	struct diag_message *message);
void gather_free(struct gather *gather); /* NULL is fine */

/*
 * The environment an injected target needs: "FLAMERUN_CHANNEL=..." Owned by @gather; the descriptor
 * it names is close-on-exec in flamerun and is reached through /proc/<our pid>/fd.
 */
const char *gather_environment(const struct gather *gather);

/* The tracing process: who it traces may have to allow it, prctl(2), PR_SET_PTRACER. */
pid_t gather_tracer(const struct gather *gather);

/* As outside_attach(). */
int gather_attach(struct gather *gather, pid_t pid, bool from_exec, struct diag_message *message);

/* To poll for POLLIN. Owned by @gather. */
int gather_descriptor(const struct gather *gather);

/* Take in what there is; never blocks. Returns 0, or -ENOMEM (the run goes on). */
int gather_read(struct gather *gather);

/* The same after everybody who writes has looked at everything once more. */
int gather_sync(struct gather *gather);

/* Has any process been sampled or connected yet? */
bool gather_connected(const struct gather *gather);

/*
 * Count the process images that still run, and the forks whose children have not arrived yet.
 * Images in pid namespaces below ours are left out, because nothing tells when they end. What
 * started them is outside of the namespace and counts.
 */
unsigned gather_count_live(const struct gather *gather);

/* Will nothing come any more? Only the tracer can tell, when all its targets have ended. */
bool gather_has_ended(const struct gather *gather);

/*
 * End of sampling: let go of all processes, take what is left. @child is what the kernel says of
 * our child, NULL when it still runs. After this only gather_profile(),
 * gather_is_outside() and gather_free() make sense.
 * Returns 0 or -ENOMEM.
 */
int gather_finish(struct gather *gather, const struct accounting_child *child);

/* What was gathered; owned by @gather. */
struct flameprof_profile *gather_profile(struct gather *gather);

/* Files of modules, opened when records named them; owned by @gather, NULL without memory. */
const struct held_files *gather_held(const struct gather *gather);
/* Did perf events sample processes from within? */
bool gather_has_events(const struct gather *gather);

/* Are all processes sampled from outside? Otherwise only those that no library got into are. */
bool gather_is_outside(const struct gather *gather);

/* What the pipe told besides samples; owned by @gather. */
const struct pipe_reader_state *gather_state(const struct gather *gather);

/* Why programs could not be sampled from outside, either: PIPE_READER_REFUSALS reasons. */
const struct pipe_reader_refusal *gather_refusals(const struct gather *gather);

#endif
