/* SPDX-License-Identifier: MIT */
/*
 * Sampling from outside, as flamerun sees it: a tracing process (tracer.h) that is told whom to
 * attach to, and whose records become a profile. For what cannot be injected: running processes,
 * static programs, those of other C libraries.
 *
 * Context: one thread.
 */
#ifndef CLI_OUTSIDE_OUTSIDE_H
#define CLI_OUTSIDE_OUTSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"

struct options;
struct outside;
struct profile;

#define OUTSIDE_RATE_HZ 49 /* when nobody asked for another one */

struct outside_config {
	uint32_t rate_hz;
	bool wall;
	bool follow; /* children too */
};

/* The rate that @options ask for; from outside a lower one is the rule. */
uint32_t outside_rate_hz(const struct options *options);

/* What it cost the targets. */
struct outside_cost {
	uint64_t stops;
	uint64_t held_ns;   /* all of them together */
	uint64_t fallbacks; /* walks that libunwind brought further */
};

/*
 * Start the tracing process. Returns 0 and an owned object in *@out, or -errno with @message
 * filled.
 */
int outside_open(struct outside **out, const struct outside_config *config,
	struct diag_message *message);

/* Ends the tracing process, if it still runs; its targets go on. NULL is fine. */
void outside_free(struct outside *outside);

/* The tracing process: who it traces may have to allow it, prctl(2), PR_SET_PTRACER. */
pid_t outside_tracer(const struct outside *outside);

/*
 * Sample @pid from now on; @from_exec: once it has exec'd, nothing before.
 * Returns 0, or -errno with @message filled: which rule said no.
 */
int outside_attach(
	struct outside *outside, pid_t pid, bool from_exec, struct diag_message *message);

/* To poll for POLLIN; end of file when all targets have ended. Owned by @outside. */
int outside_descriptor(const struct outside *outside);

/* Take in what there is; never waits. Returns 0 or -ENOMEM (what was gathered stays). */
int outside_step(struct outside *outside);

/* Process images that are sampled and not known to have ended; 0 when the tracer has ended. */
unsigned outside_live(const struct outside *outside);

/* Was anybody ever sampled? */
bool outside_connected(const struct outside *outside);

/*
 * End of sampling: let go of all targets, take what is left. After this only outside_profile(),
 * outside_cost() and outside_free() make sense.
 * Returns 0 or -ENOMEM.
 */
int outside_finish(struct outside *outside);

/* Owned by @outside. */
struct profile *outside_profile(struct outside *outside);

void outside_cost(const struct outside *outside, struct outside_cost *cost);

#endif
