/* SPDX-License-Identifier: MIT */
/*
 * Search for libflameprof.so.1. If LD_PRELOAD cannot contain the path, make a symbolic link to it.
 */
#include "cli/run/library.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME           "libflameprof.so.1"
#define SPLITS_PRELOAD " :$"
#define LINK_FOLDER    "flamerun.XXXXXX"

/* Symbolic link for LD_PRELOAD, and its folder, for library_abandon() in a signal handler. */
static char link_folder[PATH_MAX];
static char link_path[PATH_MAX + sizeof(NAME)];
static volatile sig_atomic_t link_exists;

int library_program_folder(char folder[PATH_MAX], struct diag_message *message)
{
	ssize_t bytes = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (bytes < 0)
		return diag_fail(
			message, -errno, "cannot read /proc/self/exe: %s", strerror(errno));
	folder[bytes] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return 0;
}

/* If @folder/@below has a readable file with the library's name, set @path to its real path. */
static int find_in_folder(const char *folder, const char *below, char path[PATH_MAX])
{
	char file[PATH_MAX + sizeof(NAME) + 8];
	char real[PATH_MAX];
	struct stat status;

	if ((size_t)snprintf(file, sizeof(file), "%s%s/" NAME, folder, below) >= sizeof(file))
		return 0;
	if (!realpath(file, real) || stat(real, &status) || !S_ISREG(status.st_mode) ||
		access(real, R_OK))
		return 0;
	strcpy(path, real);
	return 1;
}

/*
 * Make a link to @target in a new folder in @place. All users may enter the folder, because a
 * program that changes its user must still be able to load the library. Only flamerun's user can
 * write to it.
 */
static int link_in(const char *place, const char *target)
{
	int error;

	if (!place || place[0] != '/' || strpbrk(place, SPLITS_PRELOAD) ||
		strlen(place) + sizeof("/" LINK_FOLDER) > sizeof(link_folder))
		return -EINVAL;
	sprintf(link_folder, "%s/" LINK_FOLDER, place);
	if (!mkdtemp(link_folder))
		return -errno;
	snprintf(link_path, sizeof(link_path), "%s/" NAME, link_folder);
	link_exists = 1;
	if (!symlink(target, link_path) && !chmod(link_folder, 0711) &&
		strlen(link_path) < PATH_MAX)
		return 0;
	error = errno ? -errno : -ENAMETOOLONG;
	library_abandon();
	return error;
}

static int link_in_any(struct library *library, struct diag_message *message)
{
	const char *const places[] = {getenv("XDG_RUNTIME_DIR"), "/tmp", "/var/tmp", "/dev/shm"};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (link_in(places[i], library->path))
			continue;
		strcpy(library->path, link_path);
		return 0;
	}
	diag_fail(message, -ENOTSUP, "cannot preload '%s': its path has a blank, a colon or a '$'",
		library->path);
	diag_fail_hint(message, "install flamerun elsewhere, or make /tmp writable");
	return -ENOTSUP;
}

int library_find(struct library *library, const char *folder, struct diag_message *message)
{
	if (!find_in_folder(folder, "", library->path) &&
		!find_in_folder(folder, "/../lib", library->path) &&
		!find_in_folder(FLAMERUN_LIBDIR, "", library->path)) {
		diag_fail(message, -ENOENT, "cannot find " NAME);
		diag_fail_hint(message, "looked in '%s', '%s/../lib' and '" FLAMERUN_LIBDIR "'",
			folder, folder);
		return -ENOENT;
	}
	if (strpbrk(library->path, SPLITS_PRELOAD))
		return link_in_any(library, message);
	return 0;
}

void library_abandon(void)
{
	if (!link_exists)
		return;
	link_exists = 0;
	unlink(link_path);
	rmdir(link_folder);
}
