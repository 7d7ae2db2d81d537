/* SPDX-License-Identifier: MIT */
/*
 * Find user and password for the servers of a store: CLICKHOUSE_USER and CLICKHOUSE_PASSWORD. If no
 * password is set, use the first of these files, in the format of netrc(5): flamerun.netrc in
 * $CREDENTIALS_DIRECTORY (systemd.exec(5)), $XDG_CONFIG_HOME/flamerun/netrc,
 * ~/.config/flamerun/netrc, ~/.netrc. Refuse a file that other users can read.
 */
#ifndef CLI_STORE_CREDENTIALS_H
#define CLI_STORE_CREDENTIALS_H

#include "cli/diag.h"

struct credentials {
	/* borrowed from the environment or the caller; NULL: none */
	const char *user, *password;
	int descriptor;		     /* the open file, owned; 0: none */
	char file[32]; /* opens @descriptor; "": none */
};

/*
 * Fill @credentials. @user (borrowed) is the user in the store's address, or "". The caller must
 * release @credentials, after errors as well. Returns 0, or -errno with @message filled.
 */
int credentials_find(
	struct credentials *credentials, const char *user, struct diag_message *message);
void credentials_release(struct credentials *credentials);

#endif
