/* SPDX-License-Identifier: MIT */
/*
 * A table of open files. Modules are the same when path and build-id are; without a build-id only
 * in one program image.
 */
#include "cli/symbols/held_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbols/module.h"
#include "libprof/fnv.h"

#define FILES_MAX	 256u
#define LIMIT_SHARE	 4u
#define COPY_BYTES_MAX	 ((off_t)32 << 20)
#define COPIES_BYTES_MAX ((off_t)128 << 20)
#define MEMFD		 "/memfd:"

struct held_file {
	uint64_t key;
	int fd;
	char *path;
	struct stat status; /* when it was opened */
};

/* Where we are ourselves, so that nobody can unmount it. */
#define OWN_PLACES 3

struct held_files {
	unsigned count, max;
	struct held_file files[FILES_MAX];
	uint64_t own_mounts[OWN_PLACES];
	off_t copied; /* bytes */
};

/* The mount that @path, or what is open at @fd if @path is "", lies on; 0: not known. */
static uint64_t mount_of(int fd, const char *path)
{
	struct statx status;

	if (statx(fd, path, AT_EMPTY_PATH, STATX_MNT_ID, &status) ||
		!(status.stx_mask & STATX_MNT_ID))
		return 0;
	return status.stx_mnt_id;
}

struct held_files *held_files_new(void)
{
	struct held_files *held = calloc(1, sizeof(*held));
	const char *temporary = getenv("TMPDIR");
	struct rlimit limit;

	if (!held)
		return NULL;
	held->max = FILES_MAX;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / LIMIT_SHARE < held->max)
		held->max = (unsigned)limit.rlim_cur / LIMIT_SHARE;
	held->own_mounts[0] = mount_of(AT_FDCWD, "/");
	held->own_mounts[1] = mount_of(AT_FDCWD, ".");
	held->own_mounts[2] = mount_of(AT_FDCWD, temporary ? temporary : "/tmp");
	return held;
}

static void release_file(struct held_file *file)
{
	close(file->fd);
	free(file->path);
}

void held_files_free(struct held_files *held)
{
	if (!held)
		return;
	for (unsigned i = 0; i < held->count; i++)
		release_file(&held->files[i]);
	free(held);
}

static uint64_t key_of(uint64_t image, const struct symbols_module *module)
{
	uint64_t key = fnv_text(FNV_BEGIN, module->path, SIZE_MAX);

	if (module->build_id)
		return fnv_bytes(key, module->build_id, module->build_id_bytes);
	return fnv_bytes(key, &image, sizeof(image));
}

static const struct held_file *find_file(const struct held_files *held, uint64_t key)
{
	for (unsigned i = 0; i < held->count; i++)
		if (held->files[i].key == key)
			return &held->files[i];
	return NULL;
}

/* Does the name of @path lead us to the file of @status? */
static bool has_name(const char *path, const struct stat *status)
{
	struct stat now;

	return !stat(path, &now) && now.st_dev == status->st_dev && now.st_ino == status->st_ino;
}

/* Is the file at @fd, of @path, where nobody can be kept from unmounting? */
static bool is_on_own_mount(const struct held_files *held, int fd, const char *path)
{
	uint64_t mount = mount_of(fd, "");

	for (unsigned i = 0; mount && i < OWN_PLACES; i++)
		if (held->own_mounts[i] == mount)
			return true;
	return !strncmp(path, MEMFD, strlen(MEMFD));
}

/* Put a copy in memory in @file's place. Returns 0 or -errno with @file as it was. */
static int copy_file(struct held_files *held, struct held_file *file)
{
	off_t at = 0, size = file->status.st_size;
	struct stat status;
	int copy;

	if (size > COPY_BYTES_MAX || size > COPIES_BYTES_MAX - held->copied)
		return -EFBIG;
	copy = memfd_create("module", MFD_CLOEXEC);
	while (copy >= 0 && at < size && sendfile(copy, file->fd, &at, (size_t)(size - at)) > 0)
		;
	if (copy < 0 || at < size || fstat(copy, &status)) {
		if (copy >= 0)
			close(copy);
		return -EIO;
	}
	close(file->fd);
	file->fd = copy;
	file->status = status;
	held->copied += size;
	return 0;
}

/* Let go of files that can be had by their names. Returns whether there is room then. */
static bool make_room(struct held_files *held)
{
	unsigned kept = 0;

	if (held->count < held->max)
		return true;
	for (unsigned i = 0; i < held->count; i++) {
		struct held_file *file = &held->files[i];

		if (has_name(file->path, &file->status))
			release_file(file);
		else
			held->files[kept++] = *file;
	}
	held->count = kept;
	return held->count < held->max;
}

/* Returns 0, or -errno: @file is to be released. */
static int hold(struct held_files *held, struct held_file *file, const char *path)
{
	file->path = strdup(path);
	if (!file->path || fstat(file->fd, &file->status))
		return -ENOMEM;
	if (is_on_own_mount(held, file->fd, path))
		return 0;
	return has_name(path, &file->status) ? -EEXIST : copy_file(held, file);
}

void held_files_add(struct held_files *held, uint64_t image, const struct symbols_module *module)
{
	struct held_file file = {.key = key_of(image, module)};

	if (module->is_vdso || find_file(held, file.key) || !make_room(held))
		return;
	file.fd = module_open_file(module);
	if (file.fd < 0)
		return;
	if (hold(held, &file, module->path))
		release_file(&file);
	else
		held->files[held->count++] = file;
}

int held_files_find(
	const struct held_files *held, uint64_t image, const struct symbols_module *module)
{
	const struct held_file *file = held ? find_file(held, key_of(image, module)) : NULL;
	struct stat status;

	/* When it lost its name its inode changed, too: that says nothing. */
	if (!file || fstat(file->fd, &status) || status.st_size != file->status.st_size ||
		status.st_mtim.tv_sec != file->status.st_mtim.tv_sec ||
		status.st_mtim.tv_nsec != file->status.st_mtim.tv_nsec)
		return 0;
	return file->fd;
}
