/* SPDX-License-Identifier: MIT */
/*
 * Keep profiles until a store can receive them, one file each, in $XDG_STATE_HOME/flamerun/spool
 * (default ~/.local/state; without HOME /var/lib/flamerun/spool). Only this user can read them. If
 * the spool exceeds SPOOL_BYTES_MAX, the oldest files are removed. Context: one thread; several
 * processes may use one spool.
 */
#ifndef CLI_STORE_SPOOL_H
#define CLI_STORE_SPOOL_H

#include "cli/diag.h"
#include "cli/store/address.h"
#include "cli/store/store_profile.h"

#define SPOOL_BYTES_MAX (256u << 20)

/*
 * Put @profile into the spool, for the database of @address. *@dropped is increased by the number
 * of files that were removed. Returns 0, or -errno with @message filled.
 */
int spool_put(const struct store_address *address, const struct store_profile *profile,
	unsigned *dropped, struct diag_message *message);

/*
 * Call @visit for each profile in the spool for the database of @address, oldest first. @visit owns
 * the profile's contents; profile->spooled is the profile's file. Damaged files are reported and
 * renamed. If @visit returns non-zero, stop and return that value.
 */
int spool_each(const struct store_address *address,
	int (*visit)(struct store_profile *profile, void *context), void *context);

/* Remove the spool's file @path, whose profile is now in the store. */
void spool_remove(const char *path);

#endif
