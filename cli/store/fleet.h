/* SPDX-License-Identifier: MIT */
/*
 * What is in stores, read: the profiles that addresses select, added up by the servers, as a call
 * tree. Each profile is counted once: by the first of its committed attempts, on whichever servers
 * they are.
 *
 * Nothing that a server answers is believed: hashes that lead nowhere or in a circle, numbers that
 * nobody asked for and answers that end early are damage.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_FLEET_H
#define CLI_STORE_FLEET_H

#include <stdbool.h>

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/calltree.h"

/* Runs of one side of a comparison; with more hosts several are one run. */
#define FLEET_RUNS_MAX 64u

struct fleet {
	unsigned runs[2]; /* of each side, see fleet_read_sides() */
};

/*
 * Add what @address selects to @tree, which is not finished by this. Returns 0 and *@facts; or
 * -errno with @message filled: -ENOENT when nothing is selected.
 */
int fleet_read(struct calltree *tree, const char *address, struct input_facts *facts,
	struct diag_message *message);

/*
 * The same for the addresses at @addresses, of which the first @old_count are of the old version,
 * each host a run of its own: a sample's thread is its run's number, those of the old version come
 * first.
 */
int fleet_read_sides(struct fleet *fleet, struct calltree *tree, const char *const *addresses,
	unsigned count, unsigned old_count, struct input_facts *facts,
	struct diag_message *message);

#endif
