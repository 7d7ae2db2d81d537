/* SPDX-License-Identifier: MIT */
/*
 * Profiles that wait for their store, one file each, in $XDG_STATE_HOME/flamerun/spool (default
 * ~/.local/state; without a home /var/lib/flamerun/spool). Only this user can read them. When the
 * spool exceeds SPOOL_BYTES_MAX, the oldest files are removed.
 *
 * Context: one thread; several processes may use one spool.
 */
#ifndef CLI_STORE_SPOOL_H
#define CLI_STORE_SPOOL_H

#include "cli/diag.h"
#include "cli/store/address.h"
#include "cli/store/store_profile.h"

#define SPOOL_BYTES_MAX (256u << 20)

/*
 * Store @profile for @address's database. *@dropped is increased by the number of files removed.
 * Returns 0, or -errno with @message filled.
 */
int spool_put(const struct store_address *address, const struct store_profile *profile,
	unsigned *dropped, struct diag_message *message);

/*
 * Call @visit for each profile that waits for @address's database, oldest first. @visit owns the
 * profile's contents; profile->spooled is its file. Damaged files are reported and renamed. Stops
 * when @visit returns non-zero, and returns that.
 */
int spool_each(const struct store_address *address,
	int (*visit)(struct store_profile *profile, void *context), void *context);

/* Remove a file whose profile has arrived. */
void spool_remove(const char *path);

#endif
