/* SPDX-License-Identifier: MIT */
/*
 * Push profiles into a store, so that each is counted once even if servers or this process fail.
 *
 * Each try to store a profile is an *attempt*, whose number is in all rows that it inserts. The row
 * in `profiles` is inserted last and commits the attempt. Rows of attempts that are not committed
 * do not count. After a failure a new attempt begins from the start. If the answer to a commit was
 * lost, several attempts may be committed, and readers use one of them.
 *
 * Profiles that cannot be sent wait in a spool (spool.h) for the next push. Context: one thread.
 */
#ifndef CLI_STORE_PUSH_H
#define CLI_STORE_PUSH_H

#include "cli/diag.h"
#include "cli/store/store_profile.h"

struct store_push;

struct store_pushed {
	/* @sent: profiles that were sent. @known: profiles that the store had already. */
	unsigned sent, known;
	/* profiles put into the spool; oldest profiles dropped from the full spool */
	unsigned spooled, dropped;
};

/*
 * Begin to push into the store with the address @text (borrowed for the call). Sends no request.
 * Returns 0 with an owned object in *@out, or -errno with @message filled.
 */
int store_push_new(struct store_push **out, const char *text, struct diag_message *message);
/* NULL is fine. Profiles that were not sent are lost. */
void store_push_free(struct store_push *push);

const struct store_address *store_push_address(const struct store_push *push);
struct store_http *store_push_http(struct store_push *push);

/*
 * Push @profile, now or later in a batch, and set it to zero. Returns 0, or -errno with @message
 * filled if the profile is neither in the store nor in the spool.
 */
int store_push_add(
	struct store_push *push, struct store_profile *profile, struct diag_message *message);

/* Send all unsent profiles and those in the spool. Returns as store_push_add() does. */
int store_push_end(
	struct store_push *push, struct store_pushed *pushed, struct diag_message *message);

#endif
