/* SPDX-License-Identifier: MIT */
/*
 * They are the user's own, reached through no link below the cache's folder. A file is written
 * under another name and renamed: what a crash leaves of one is too short, which its reader sees.
 */
#include "cli/symbols/cache_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES_MAX 4096u /* looked at when the oldest are removed */
#define TEMPORARY ".new-"

/* ---- where ----------------------------------------------------------------------------------- */

/* Open folder @name of @at; @makes: which is made where it isn't. Returns a descriptor or -errno.
 */
static int open_folder(int at, const char *name, bool makes)
{
	struct stat status;
	int folder;

	if (makes && mkdirat(at, name, 0700) && errno != EEXIST)
		return -errno;
	folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	if (fstat(folder, &status) || status.st_uid != geteuid() || status.st_mode & 022) {
		close(folder);
		return -EACCES;
	}
	return folder;
}

/* Open the folder below the user's cache, as open_folder() does. */
static int open_cache(bool makes)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[PATH_MAX];
	int bytes, user, own, folder;

	if (cache && cache[0] == '/')
		bytes = snprintf(path, sizeof(path), "%s", cache);
	else if (home && home[0] == '/')
		bytes = snprintf(path, sizeof(path), "%s/.cache", home);
	else
		return -ENOENT;
	if (bytes <= 0 || (size_t)bytes >= sizeof(path))
		return -ENAMETOOLONG;
	if (makes && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	user = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (user < 0)
		return -errno;
	own = open_folder(user, "flamerun", makes);
	close(user);
	if (own < 0)
		return own;
	folder = open_folder(own, "lines", makes);
	close(own);
	return folder;
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_all(int file, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count) {
		ssize_t put = write(file, at, count);

		if (put <= 0)
			return false;
		at += put;
		count -= (size_t)put;
	}
	return true;
}

/* Write @parts as @name in @folder. */
static void replace(int folder, const char *name, const struct iovec *parts, int count)
{
	char temporary[sizeof(TEMPORARY) + 16];
	uint64_t random;
	bool is_written = true;
	int file;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
		return;
	snprintf(temporary, sizeof(temporary), TEMPORARY "%016llx", (unsigned long long)random);
	file = openat(
		folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	for (int i = 0; i < count && is_written; i++)
		is_written = write_all(file, parts[i].iov_base, parts[i].iov_len);
	if (close(file) || !is_written || renameat(folder, temporary, folder, name))
		unlinkat(folder, temporary, 0);
}

/* ---- the oldest go --------------------------------------------------------------------------- */

struct old {
	char name[NAME_MAX + 1];
	struct timespec used;
	uint64_t bytes;
};

static int compare_old(const void *a, const void *b)
{
	const struct old *left = a, *right = b;

	if (left->used.tv_sec != right->used.tv_sec)
		return left->used.tv_sec < right->used.tv_sec ? -1 : 1;
	return (left->used.tv_nsec > right->used.tv_nsec) -
	       (left->used.tv_nsec < right->used.tv_nsec);
}

/* The files of @stream, and in *@bytes all of theirs. */
static size_t list_files(DIR *stream, struct old *files, uint64_t *bytes)
{
	const struct dirent *entry;
	size_t count = 0;

	while (count < FILES_MAX && (entry = readdir(stream))) {
		struct stat status;

		if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
			!S_ISREG(status.st_mode))
			continue;
		snprintf(files[count].name, sizeof(files[count].name), "%s", entry->d_name);
		files[count].used = status.st_mtim;
		files[count].bytes = (uint64_t)status.st_size;
		*bytes += files[count++].bytes;
	}
	return count;
}

static void remove_oldest(int folder)
{
	struct old *files = calloc(FILES_MAX, sizeof(*files));
	int copy = files ? fcntl(folder, F_DUPFD_CLOEXEC, 0) : -1;
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	uint64_t bytes = 0;
	size_t count;

	if (stream) {
		count = list_files(stream, files, &bytes);
		qsort(files, count, sizeof(*files), compare_old);
		for (size_t i = 0; i < count && bytes > CACHE_FILE_ALL_BYTES; i++) {
			unlinkat(folder, files[i].name, 0);
			bytes -= files[i].bytes;
		}
		closedir(stream);
	} else if (copy >= 0) {
		close(copy);
	}
	free(files);
}

/* ---- files ----------------------------------------------------------------------------------- */

int cache_file_open(const char *name)
{
	int folder = open_cache(false), file;
	struct stat status;

	if (folder < 0)
		return folder;
	file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(folder);
	if (file < 0)
		return -errno;
	if (fstat(file, &status) || !S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
		close(file);
		return -EACCES;
	}
	futimens(file, NULL);
	return file;
}

void cache_file_replace(const char *name, const struct iovec *parts, int count)
{
	int folder = open_cache(true);

	if (folder < 0)
		return;
	replace(folder, name, parts, count);
	remove_oldest(folder);
	close(folder);
}
