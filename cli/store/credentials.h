/* SPDX-License-Identifier: MIT */
/*
 * Who we are to a store's servers. Never in the words of a command, which all can read.
 *
 * CLICKHOUSE_USER and CLICKHOUSE_PASSWORD; else the first of these files that is there, in the form
 * of netrc(5): flamerun.netrc in $CREDENTIALS_DIRECTORY (systemd.exec(5)),
 * $XDG_CONFIG_HOME/flamerun/netrc, ~/.netrc. One that others can read is refused.
 */
#ifndef CLI_STORE_CREDENTIALS_H
#define CLI_STORE_CREDENTIALS_H

#include "cli/diag.h"

struct credentials {
	const char *user, *password; /* of the environment or borrowed; NULL: none */
	int descriptor;		     /* of the file, owned; 0: none */
	char file[32];		     /* by which it can be opened; "": none */
};

/*
 * @user: whom the address names, "" nobody; borrowed. Returns 0, or -errno with @message filled. To
 * be released in any case.
 */
int credentials_find(
	struct credentials *credentials, const char *user, struct diag_message *message);
void credentials_release(struct credentials *credentials);

#endif
