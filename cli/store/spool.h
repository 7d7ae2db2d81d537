/* SPDX-License-Identifier: MIT */
/*
 * Profiles that wait for their store, a file each, in $XDG_STATE_HOME/flamerun/spool
 * (~/.local/state without it; /var/lib/flamerun/spool without a home), where nobody else can look.
 * It holds so many bytes and no more: the oldest give way.
 *
 * Context: one thread; several processes may use one spool.
 */
#ifndef CLI_STORE_SPOOL_H
#define CLI_STORE_SPOOL_H

#include "cli/diag.h"
#include "cli/store/address.h"
#include "cli/store/profile.h"

#define SPOOL_BYTES_MAX (256u << 20)

/*
 * Keep @profile for @address's database. Adds to *@dropped how many had to give way. Returns 0, or
 * -errno with @message filled.
 */
int spool_put(const struct store_address *address, const struct store_profile *profile,
	unsigned *dropped, struct diag_message *message);

/*
 * Call @take for each profile that waits for @address's database, the oldest first; it takes over
 * what the profile owns, ->spooled telling its file. A damaged file is said and set aside. Ends
 * when @take returns not 0, with that.
 */
int spool_each(const struct store_address *address,
	int (*take)(struct store_profile *profile, void *context), void *context);

/* It has arrived. */
void spool_remove(const char *path);

#endif
