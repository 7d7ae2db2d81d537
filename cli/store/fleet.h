/* SPDX-License-Identifier: MIT */
/*
 * Read profiles from stores: the servers add up the profiles that addresses select, and their sums
 * become a call tree. A profile may have several attempts (push.h), on any servers; only the
 * attempt that was committed first counts.
 *
 * Answers are untrusted. Hashes that refer to nothing or form a circle, numbers that were not asked
 * for, and truncated answers are errors.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_FLEET_H
#define CLI_STORE_FLEET_H

#include <stdbool.h>

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/calltree.h"

/* Maximum runs per side of a comparison; if there are more hosts, several share a run. */
#define FLEET_RUNS_MAX 64u

struct fleet {
	unsigned runs[2]; /* per side, see fleet_read_sides() */
};

/*
 * Add the profiles that @address selects to @tree, which is not finished here. Returns 0 and
 * *@facts; or -errno with @message filled: -ENOENT if none is selected.
 */
int fleet_read(struct calltree *tree, const char *address, struct input_facts *facts,
	struct diag_message *message);

/*
 * Read @count @addresses, the first @old_count for the old version, with each host as a run: a
 * sample's thread is the number of its run, the old version's runs first. Returns as fleet_read()
 * does.
 */
int fleet_read_sides(struct fleet *fleet, struct calltree *tree, const char *const *addresses,
	unsigned count, unsigned old_count, struct input_facts *facts,
	struct diag_message *message);

#endif
