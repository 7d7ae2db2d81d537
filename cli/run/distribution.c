/* SPDX-License-Identifier: MIT */
/*
 * Distributions by the words of os-release(5). Most packages of symbols have names that only the
 * distribution's own archive knows; its debuginfod server finds them by the file itself.
 */
#include "cli/run/distribution.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/profile/base_name.h"

#define LINE_BYTES 1024
#define ANY_SERVER "https://debuginfod.elfutils.org/"

enum installer { BY_SERVER, BY_APT, BY_DNF };

static const struct distribution {
	const char *word; /* of ID or ID_LIKE */
	enum installer installer;
	const char *server;
} distributions[] = {
	{"debian", BY_APT, "https://debuginfod.debian.net"},
	{"ubuntu", BY_APT, "https://debuginfod.ubuntu.com"},
	{"fedora", BY_DNF, "https://debuginfod.fedoraproject.org/"},
	{"arch", BY_SERVER, "https://debuginfod.archlinux.org"},
	{"opensuse", BY_SERVER, "https://debuginfod.opensuse.org/"},
};

/* Files of glibc's, by how their names begin: on Debian and what is made of it, libc6-dbg. */
static const char *const of_libc[] = {"libc.so.", "libm.so.", "ld-linux", "libpthread.so.",
	"libdl.so.", "librt.so.", "libresolv.so."};

bool distribution_has(const char *path)
{
	static const char *const folders[] = {"/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/"};
	bool is_inside = false;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		is_inside |= !strncmp(path, folders[i], strlen(folders[i]));
	return is_inside && strncmp(path, "/usr/local/", strlen("/usr/local/"));
}

/* The first distribution that is a word of @line's value. */
static const struct distribution *find_word(char *line)
{
	for (char *word = strtok(line, "\"' \n"); word; word = strtok(NULL, "\"' \n"))
		for (size_t i = 0; i < sizeof(distributions) / sizeof(*distributions); i++)
			if (!strcmp(word, distributions[i].word))
				return &distributions[i];
	return NULL;
}

/* ID rules over ID_LIKE, in whatever order they stand. */
static struct distribution read_release(const char *path)
{
	const struct distribution *own = NULL, *like = NULL;
	FILE *in = fopen(path, "re");
	char line[LINE_BYTES];

	while (in && fgets(line, sizeof(line), in)) {
		if (!strncmp(line, "ID=", strlen("ID=")))
			own = find_word(line + strlen("ID="));
		else if (!strncmp(line, "ID_LIKE=", strlen("ID_LIKE=")))
			like = find_word(line + strlen("ID_LIKE="));
	}
	if (in)
		fclose(in);
	if (own || like)
		return own ? *own : *like;
	return (struct distribution){.installer = BY_SERVER, .server = ANY_SERVER};
}

/* The package whose name is sure: python3.11 and libpython3.11.so.1.0 are python3.11-dbg's. */
static bool find_package(char *out, size_t size, const char *file)
{
	const char *python = strncmp(file, "lib", 3) ? file : file + 3;
	size_t digits;

	for (size_t i = 0; i < sizeof(of_libc) / sizeof(*of_libc); i++)
		if (!strncmp(file, of_libc[i], strlen(of_libc[i])))
			return snprintf(out, size, "libc6-dbg") > 0;
	if (strncmp(python, "python3.", strlen("python3.")))
		return false;
	digits = strspn(python + strlen("python3."), "0123456789");
	return digits && snprintf(out, size, "python3.%.*s-dbg", (int)digits,
				 python + strlen("python3.")) > 0;
}

/* Does a shell take @path as it is? */
static bool is_plain(const char *path)
{
	for (; *path; path++)
		if (!isalnum((unsigned char)*path) && !strchr("/._+-", *path))
			return false;
	return true;
}

void distribution_symbols_command(
	char *out, size_t size, const char *release, const char *path, bool has_servers)
{
	struct distribution here = read_release(release);
	const char *quote = is_plain(path) ? "" : "'";
	char package[64];

	if (here.installer == BY_APT && find_package(package, sizeof(package), base_name(path)))
		snprintf(out, size, "apt install %s", package);
	else if (here.installer == BY_DNF)
		snprintf(out, size, "dnf debuginfo-install %s%s%s", quote, path, quote);
	else
		snprintf(out, size, "%s%s%sdebuginfod-find debuginfo %s%s%s",
			has_servers ? "" : "DEBUGINFOD_URLS=", has_servers ? "" : here.server,
			has_servers ? "" : " ", quote, path, quote);
}
