/* SPDX-License-Identifier: MIT */
/*
 * The receiving end of one profiled run: the arena and the pipe, and everything that comes out of
 * them. What the child's life needs (fork, signals, status) is not here: see launch.h.
 *
 * Context: one thread.
 */
#ifndef CLI_RUN_GATHER_H
#define CLI_RUN_GATHER_H

#include <stdint.h>
#include <sys/resource.h>

#include "cli/diag.h"
#include "libprof/wire.h"

struct gather;
struct profile;

struct gather_config {
	uint32_t rate_hz;
	uint32_t test_clock_hz; /* 0: CPU clock */
	int start_paused;	/* processes record nothing until they say so */
	uint32_t jit;		/* enum wire_jit, or-ed: whose functions are to be named */
};

/*
 * Make the arena and the pipe. Returns 0 and an owned object in *@out, or -errno with @message
 * filled.
 */
int gather_open(struct gather **out, const struct gather_config *config,
	struct diag_message *message);
void gather_free(struct gather *gather); /* NULL is fine */

/*
 * The environment a target needs: "FLAMERUN_CHANNEL=..." Owned by @gather; both descriptors it
 * names are close-on-exec in flamerun and are reached through /proc/<our pid>/fd.
 */
const char *gather_environment(const struct gather *gather);

/* The pipe's read end, to poll for POLLIN. Owned by @gather. */
int gather_descriptor(const struct gather *gather);

/*
 * Take in what there is: all complete messages of the pipe, control records, the rings of ended
 * processes. Never blocks. Call when the descriptor is readable and at least every 50 ms.
 * Returns 0, or -ENOMEM (the run goes on; what was gathered stays).
 */
int gather_step(struct gather *gather);

/* Has any process connected yet? */
int gather_connected(const struct gather *gather);

/* Process images that are connected and not known to have ended. */
unsigned gather_live(const struct gather *gather);

/*
 * How many processes had names for their Python functions. @refused gets how many had a Python and
 * not, by enum wire_python_refusal.
 */
uint32_t gather_python(const struct gather *gather, uint32_t refused[WIRE_PYTHON_REFUSALS]);

/*
 * End of sampling: tell every helper to flush, wait for them at most @timeout_ms, then recover what
 * is left in rings. @usage is what the kernel says the child and its descendants used, NULL when it
 * still runs. After this only gather_profile() and gather_free() make sense.
 * Returns 0 or -ENOMEM.
 */
int gather_finish(struct gather *gather, int timeout_ms, const struct rusage *usage);

/* What was gathered; owned by @gather. */
struct profile *gather_profile(struct gather *gather);

#endif
