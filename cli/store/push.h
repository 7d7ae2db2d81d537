/* SPDX-License-Identifier: MIT */
/*
 * Profiles into a store, each counted once whatever happens to servers and to us in between.
 *
 * A profile's rows carry the number of an attempt; the row in `profiles` that names the attempt is
 * written when all others are there, and without it they count for nothing. An attempt that failed
 * is never gone on with: another one begins. Of several that were committed, as when the answer to
 * the first was lost, readers take one.
 *
 * What cannot be sent waits in a spool (see spool.h) for the next push.
 *
 * Context: one thread.
 */
#ifndef CLI_STORE_PUSH_H
#define CLI_STORE_PUSH_H

#include "cli/diag.h"
#include "cli/store/profile.h"

struct store_push;

struct store_pushed {
	unsigned sent, known;	   /* profiles: sent now; the store had them already */
	unsigned spooled, dropped; /* waiting; gone from the spool, which is bounded */
};

/*
 * Begin to push into the store at @text (borrowed). Asks no server. Returns 0 and an owned object
 * in *@out, or -errno with @message filled.
 */
int store_push_new(struct store_push **out, const char *text, struct diag_message *message);
void store_push_free(struct store_push *push); /* NULL is fine; what was not sent is forgotten */

const struct store_address *store_push_address(const struct store_push *push);
struct store_http *store_push_http(struct store_push *push);

/*
 * Push @profile, now or with others later, and make it all zero. Returns 0, or -errno with @message
 * filled: it is not in the store and nowhere else.
 */
int store_push_add(
	struct store_push *push, struct store_profile *profile, struct diag_message *message);

/* Send what is left, and what waited in the spool. Returns as store_push_add() does. */
int store_push_end(
	struct store_push *push, struct store_pushed *pushed, struct diag_message *message);

#endif
