/* SPDX-License-Identifier: MIT */
/*
 * Find user and password for the servers of a store.
 *
 * They come from CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. Without a password, the first of these
 * files, in the format of netrc(5), is used: flamerun.netrc in $CREDENTIALS_DIRECTORY
 * (systemd.exec(5)), $XDG_CONFIG_HOME/flamerun/netrc, ~/.config/flamerun/netrc, ~/.netrc. A file
 * that other users can read is refused.
 */
#ifndef CLI_STORE_CREDENTIALS_H
#define CLI_STORE_CREDENTIALS_H

#include "cli/diag.h"

struct credentials {
	const char *user, *password; /* from the environment, or borrowed; NULL: none */
	int descriptor;		     /* the open file, owned; 0: none */
	char file[32];		     /* path that opens @descriptor's file again; "": none */
};

/*
 * Fill @credentials. @user is the user in the store's address ("" for none), borrowed. Returns 0,
 * or -errno with @message filled. The caller must release @credentials in both cases.
 */
int credentials_find(
	struct credentials *credentials, const char *user, struct diag_message *message);
void credentials_release(struct credentials *credentials);

#endif
