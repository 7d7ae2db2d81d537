/* SPDX-License-Identifier: MIT */
/*
 * Find credentials, and check who can read their file. libcurl parses the file. It opens the file
 * by the descriptor that was checked, because the name may refer to another file later.
 */
#include "cli/store/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse_mode(const char *path, struct diag_message *message)
{
	diag_fail(message, -EPERM, "'%s' is not ours alone to read: its passwords are not used",
		path);
	diag_fail_hint(message, "chmod 600 '%s'", path);
	return -EPERM;
}

/* Open @path. Returns 0, -ENOENT if no file can be read, or another -errno with @message filled. */
static int open_file(
	struct credentials *credentials, const char *path, struct diag_message *message)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (descriptor < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? -ENOENT
			       : diag_fail(message, -errno, "cannot read '%s': %s", path,
					 strerror(errno));
	/* systemd's file belongs to root. Its mode shows this user's ACL entry as group bits. */
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode) || status.st_mode & S_IRWXO ||
		(status.st_uid != geteuid() && status.st_uid) ||
		(status.st_uid == geteuid() && status.st_mode & S_IRWXG)) {
		close(descriptor);
		return refuse_mode(path, message);
	}
	credentials->descriptor = descriptor;
	snprintf(credentials->file, sizeof(credentials->file), "/proc/self/fd/%d", descriptor);
	return 0;
}

int credentials_find(
	struct credentials *credentials, const char *user, struct diag_message *message)
{
	const struct {
		const char *folder, *name;
	} places[] = {{getenv("CREDENTIALS_DIRECTORY"), "flamerun.netrc"},
		{getenv("XDG_CONFIG_HOME"), "flamerun/netrc"},
		{getenv("HOME"), ".config/flamerun/netrc"}, {getenv("HOME"), ".netrc"}};
	const char *name = getenv("CLICKHOUSE_USER"), *password = getenv("CLICKHOUSE_PASSWORD");
	int error = -ENOENT;

	*credentials = (struct credentials){.user = *user	    ? user
						    : name && *name ? name
								    : NULL,
		.password = password && *password ? password : NULL};
	/* A password needs a user, because libcurl would otherwise send an empty user name. */
	if (credentials->password && !credentials->user)
		credentials->user = "default";
	for (size_t i = 0; !credentials->password && error == -ENOENT &&
			   i < sizeof(places) / sizeof(places[0]);
		i++) {
		char path[PATH_MAX];

		if (!places[i].folder || places[i].folder[0] != '/' ||
			snprintf(path, sizeof(path), "%s/%s", places[i].folder, places[i].name) >=
				(int)sizeof(path))
			continue;
		error = open_file(credentials, path, message);
	}
	return error == -ENOENT ? 0 : error;
}

void credentials_release(struct credentials *credentials)
{
	if (credentials->descriptor)
		close(credentials->descriptor);
	*credentials = (struct credentials){.user = NULL};
}
