/* SPDX-License-Identifier: MIT */
/*
 * Where a run's samples come from: the library inside the program (gather.h), or a tracer outside
 * of it (outside.h). One of the two; what comes out of either is a profile.
 *
 * Context: one thread.
 */
#ifndef CLI_RUN_SOURCE_H
#define CLI_RUN_SOURCE_H

#include <stdbool.h>
#include <sys/resource.h>

struct gather;
struct outside;
struct profile;

struct source {
	struct gather *gather;	 /* owned; NULL: the other one */
	struct outside *outside; /* owned */
};

/* As gather.h and outside.h have them. */
int source_descriptor(const struct source *source);
int source_step(const struct source *source);
unsigned source_live(const struct source *source);
bool source_connected(const struct source *source);
int source_finish(const struct source *source, int timeout_ms, const struct rusage *usage);
struct profile *source_profile(const struct source *source);
void source_release(struct source *source);

#endif
