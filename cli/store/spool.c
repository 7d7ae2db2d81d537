/* SPDX-License-Identifier: MIT */
/*
 * Keep profiles in files. The name of a file has the time first, so that names sort by age, then a
 * hash of hosts and database, and the profile's id. gzip's checksum detects truncated files. A file
 * gets its final name when it is complete.
 */
#include "cli/store/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "libprof/fnv.h"

#define SUFFIX	    ".profile"
#define DAMAGED	    ".damaged"
#define CONTENT_MAX (512u << 20) /* per file */

static const char fallback[] = "/var/lib/flamerun/spool";

/* Create folder @path and its parents, accessible to this user only. Returns 0 or -errno. */
static int make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* Write the path of the spool's folder to @path. Returns 0 or -errno. */
static int find_folder(char path[PATH_MAX])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct stat status;
	int error;

	if (state && *state == '/')
		snprintf(path, PATH_MAX, "%s/flamerun/spool", state);
	else if (home && *home == '/')
		snprintf(path, PATH_MAX, "%s/.local/state/flamerun/spool", home);
	else
		snprintf(path, PATH_MAX, "%s", fallback);
	error = make_folders(path);
	if (!error && lstat(path, &status))
		error = -errno;
	if (!error && (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
			      status.st_mode & (S_IWGRP | S_IWOTH)))
		error = -EPERM;
	return error;
}

static uint64_t hash_address(const struct store_address *address)
{
	uint64_t hash = fnv_text(FNV_BEGIN, address->database, SIZE_MAX);

	for (unsigned i = 0; i < address->hosts; i++)
		hash = fnv_text(fnv_text(hash, "/", 1), address->host[i], SIZE_MAX);
	return hash;
}

static int is_profile(const struct dirent *entry)
{
	size_t bytes = strlen(entry->d_name);

	return bytes > strlen(SUFFIX) && !strcmp(entry->d_name + bytes - strlen(SUFFIX), SUFFIX);
}

/* Remove the oldest files, so that a file of @bytes fits into the spool. */
static void drop_oldest(const char *folder, uint64_t bytes, unsigned *dropped)
{
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, is_profile, alphasort);
	char path[PATH_MAX];
	struct stat status;

	/* Count from the newest file on, and remove files as soon as the sum is too large. */
	for (int i = count; i-- > 0;) {
		if (snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) <
				(int)sizeof(path) &&
			!stat(path, &status)) {
			bytes += (uint64_t)status.st_size;
			if (bytes > SPOOL_BYTES_MAX && !unlink(path))
				++*dropped;
		}
		free(entries[i]);
	}
	free(entries);
}

/* Returns 0 or -errno. */
static int write_file(const char *path, const struct bytes *content, uint64_t *written)
{
	int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	gzFile file = descriptor >= 0 ? gzdopen(descriptor, "w1") : NULL;
	struct stat status = {.st_size = 0};
	int error = 0;

	if (!file) {
		error = descriptor < 0 ? -errno : -ENOMEM;
		if (descriptor >= 0)
			close(descriptor);
		return error;
	}
	for (size_t at = 0; !error && at < content->used;) {
		size_t part = content->used - at < INT_MAX ? content->used - at : INT_MAX;

		error = gzwrite(file, content->data + at, (unsigned)part) > 0 ? 0 : -EIO;
		at += part;
	}
	if (!error && gzflush(file, Z_FINISH) != Z_OK)
		error = -EIO;
	if (!error && (fsync(descriptor) || fstat(descriptor, &status)))
		error = -errno;
	if (gzclose(file) != Z_OK && !error)
		error = -EIO;
	*written = (uint64_t)status.st_size;
	return error;
}

int spool_put(const struct store_address *address, const struct store_profile *profile,
	unsigned *dropped, struct diag_message *message)
{
	char folder[PATH_MAX], part[PATH_MAX + 64], path[PATH_MAX + 128];
	struct bytes content = {0};
	struct timespec now;
	uint64_t written = 0;
	int error = find_folder(folder);

	if (error)
		return diag_fail(
			message, error, "cannot spool in '%s': %s", folder, strerror(-error));
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(part, sizeof(part), "%s/%.32s.%d.part", folder, profile->id, getpid());
	snprintf(path, sizeof(path), "%s/%012" PRIx64 "-%016" PRIx64 "-%.32s" SUFFIX, folder,
		(uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
		hash_address(address), profile->id);
	store_profile_write(profile, &content);
	error = content.error ? content.error : write_file(part, &content, &written);
	if (!error) {
		drop_oldest(folder, written, dropped);
		if (rename(part, path))
			error = -errno;
	}
	if (error) {
		unlink(part);
		diag_fail(message, error, "cannot spool in '%s': %s", folder, strerror(-error));
	}
	bytes_release(&content);
	return error;
}

/* Read a file of the spool. Returns 0, or -errno if it is not a complete profile. */
static int read_file(const char *path, struct store_profile *profile)
{
	struct bytes content = {0};
	gzFile file = gzopen(path, "re");
	char piece[1 << 16];
	int got = 0, error = file ? 0 : errno ? -errno : -ENOMEM;

	*profile = (struct store_profile){.spooled = NULL};
	while (!error && (got = gzread(file, piece, sizeof(piece))) > 0) {
		bytes_put(&content, piece, (size_t)got);
		error = content.used > CONTENT_MAX ? -EFBIG : content.error;
	}
	if (file && (gzclose(file) != Z_OK || got < 0) && !error)
		error = -EBADMSG;
	if (!error)
		error = store_profile_read(profile, &content);
	bytes_release(&content);
	return error;
}

static int visit_file(
	const char *path, int (*visit)(struct store_profile *profile, void *context), void *context)
{
	struct store_profile profile;
	char aside[PATH_MAX + 16];
	int error = read_file(path, &profile);

	if (!error) {
		profile.spooled = strdup(path);
		error = profile.spooled ? visit(&profile, context) : -ENOMEM;
	} else if (error != -ENOENT && error != -ENOMEM) {
		/*
		 * Rename a damaged file, so that it is not read again. If the file is gone, another
		 * process has sent it.
		 */
		snprintf(aside, sizeof(aside), "%s" DAMAGED, path);
		if (!rename(path, aside))
			diag_info("'%s' is damaged, and not sent", aside);
		error = 0;
	} else if (error == -ENOENT) {
		error = 0;
	}
	store_profile_release(&profile);
	return error;
}

int spool_each(const struct store_address *address,
	int (*visit)(struct store_profile *profile, void *context), void *context)
{
	struct dirent **entries = NULL;
	char folder[PATH_MAX], path[PATH_MAX], of[32];
	int error = find_folder(folder);
	int count = error ? 0 : scandir(folder, &entries, is_profile, alphasort);

	error = 0;
	snprintf(of, sizeof(of), "-%016" PRIx64 "-", hash_address(address));
	for (int i = 0; i < count; i++) {
		if (!error && strstr(entries[i]->d_name, of) &&
			snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) <
				(int)sizeof(path))
			error = visit_file(path, visit, context);
		free(entries[i]);
	}
	free(entries);
	return error;
}

void spool_remove(const char *path)
{
	unlink(path);
}
