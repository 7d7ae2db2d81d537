/* SPDX-License-Identifier: MIT */
/*
 * Push profiles into a store. Each profile is counted once, even if servers or this process fail.
 *
 * A profile's rows carry the number of an *attempt*. The row in `profiles` that names the attempt
 * is the commit: it is written last, and rows of attempts without it do not count. A failed attempt
 * is never continued; a new one begins. If several are committed, because the answer to the first
 * commit was lost, readers use one of them.
 *
 * Profiles that cannot be sent wait in a spool (spool.h) for the next push.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_PUSH_H
#define CLI_STORE_PUSH_H

#include "cli/diag.h"
#include "cli/store/store_profile.h"

struct store_push;

struct store_pushed {
	unsigned sent, known;	   /* profiles sent; profiles that the store had already */
	unsigned spooled, dropped; /* put into the spool; dropped from the spool, whose size is
				    * bounded */
};

/*
 * Begin to push into the store at @text (borrowed for the call). Asks no server. Returns 0 with an
 * owned object in *@out, or -errno with @message filled.
 */
int store_push_new(struct store_push **out, const char *text, struct diag_message *message);
void store_push_free(struct store_push *push); /* NULL is fine; unsent profiles are lost */

const struct store_address *store_push_address(const struct store_push *push);
struct store_http *store_push_http(struct store_push *push);

/*
 * Push @profile, now or later in a batch, and zero it. Returns 0, or -errno with @message filled if
 * the profile is neither in the store nor in the spool.
 */
int store_push_add(
	struct store_push *push, struct store_profile *profile, struct diag_message *message);

/* Send all profiles that are left, and those in the spool. Returns as store_push_add() does. */
int store_push_end(
	struct store_push *push, struct store_pushed *pushed, struct diag_message *message);

#endif
