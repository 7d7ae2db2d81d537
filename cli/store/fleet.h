/* SPDX-License-Identifier: MIT */
/*
 * Read profiles from stores. The servers add up the profiles that addresses select, and their sums
 * become a call tree. A profile may have several attempts (push.h) on any servers. Only the attempt
 * that was committed first counts.
 *
 * Answers are untrusted. Each of these is an error: a hash for which there is no stack or frame, a
 * circle of parents, a number that was not requested, a truncated answer. Context: one thread.
 */
#ifndef CLI_STORE_FLEET_H
#define CLI_STORE_FLEET_H

#include <stdbool.h>

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/calltree.h"

/* Maximum of runs per side of a comparison. If a side has more hosts, several share a run. */
#define FLEET_RUNS_MAX 64u

struct fleet {
	unsigned runs[2]; /* per side, see fleet_read_sides() */
};

/*
 * Add the profiles that @address selects to @tree, without finishing @tree. Returns 0 and *@facts,
 * or -errno with @message filled: -ENOENT if no profile is selected.
 */
int fleet_read(struct calltree *tree, const char *address, struct input_facts *facts,
	struct diag_message *message);

/*
 * Read @count @addresses for a comparison. The first @old_count are the old version, the others the
 * new one. Each host is a run, numbered from 0, the old version's first. This number is the thread
 * of the host's samples. Returns as fleet_read() does.
 */
int fleet_read_sides(struct fleet *fleet, struct calltree *tree, const char *const *addresses,
	unsigned count, unsigned old_count, struct input_facts *facts,
	struct diag_message *message);

#endif
