/* SPDX-License-Identifier: MIT */
/*
 * A table of open files. Two modules are the same if their paths and build-ids are equal. Modules
 * without a build-id must also belong to the same process image.
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

#include "cli/clock.h"
#include "cli/symbols/elf_file.h"
#include "cli/symbols/module.h"
#include "cli/symbols/perfmap.h"
#include "libprof/fnv.h"

#define FILES_MAX	 256u
#define MAPS_MAX	 64u
#define LIMIT_SHARE	 4u  /* at most 1/4 of RLIMIT_NOFILE */
/* if RLIMIT_NOFILE is smaller than this, hold no files */
#define LIMIT_MIN	 64u
#define COPY_BYTES_MAX	 ((off_t)32 << 20)
#define COPIES_BYTES_MAX ((off_t)128 << 20)
#define MEMFD		 "/memfd:"

/* A growing file is copied again after COPY_NS ns, plus COPY_NS per COPY_BYTES of its size. */
#define COPY_NS	   100000000u
#define COPY_BYTES (1 << 20)

struct held_file {
	uint64_t key;
	int fd;
	char *path;
	struct stat status; /* status when the file was opened */
};

/* The jitdump or perf map of a process. */
struct held_map {
	struct held_file file; /* key: process image; fd 0: not open */
	/* path of the jitdump, owned; NULL if this is the perf map */
	char *dump;
	/* CLOCK_MONOTONIC ns at which the file is checked next */
	uint64_t check_ns;
	/* if the file is a copy: seconds at which the original was last written; else 0 */
	time_t copied_s;
};

/*
 * Number of mounts that flamerun uses itself. Open files on these mounts do no harm, because
 * flamerun keeps them from being unmounted anyway.
 */
#define OWN_PLACES 3

struct held_files {
	unsigned count, max; /* max: of files and maps together */
	struct held_file files[FILES_MAX];
	unsigned map_count;
	struct held_map maps[MAPS_MAX];
	uint64_t own_mounts[OWN_PLACES];
	off_t copied; /* bytes copied so far */
};

/* Return the id of the mount of @path or, if @path is "", of the file @fd; 0 if it is unknown. */
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
		held->max = limit.rlim_cur < LIMIT_MIN ? 0 : (unsigned)limit.rlim_cur / LIMIT_SHARE;
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
	for (unsigned i = 0; i < held->map_count; i++) {
		free(held->maps[i].dump);
		if (held->maps[i].file.fd)
			release_file(&held->maps[i].file);
	}
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

/* Does @path lead to the file with @status in flamerun's own mount namespace? */
static bool has_name(const char *path, const struct stat *status)
{
	struct stat now;

	return !stat(path, &now) && now.st_dev == status->st_dev && now.st_ino == status->st_ino;
}

/* Can the file @fd at @path stay open without preventing a program from unmounting? */
static bool is_on_own_mount(const struct held_files *held, int fd, const char *path)
{
	uint64_t mount = mount_of(fd, "");

	for (unsigned i = 0; mount && i < OWN_PLACES; i++)
		if (held->own_mounts[i] == mount)
			return true;
	return !strncmp(path, MEMFD, strlen(MEMFD));
}

/* Replace @file by a copy in memory. Returns 0, or -errno with @file unchanged. */
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

/* If the table is full, close files that can be opened again by path. Returns if it has room. */
static bool make_room(struct held_files *held)
{
	unsigned kept = 0;

	if (held->count + held->map_count < held->max)
		return true;
	for (unsigned i = 0; i < held->count; i++) {
		struct held_file *file = &held->files[i];

		if (has_name(file->path, &file->status))
			release_file(file);
		else
			held->files[kept++] = *file;
	}
	held->count = kept;
	return held->count + held->map_count < held->max;
}

/*
 * Fill in @file, and copy the file if necessary. Returns 0, or -errno; then the caller releases
 * @file.
 */
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

	/* Do not compare the ctime, because unlinking a file changes it. */
	if (!file || fstat(file->fd, &status) || status.st_size != file->status.st_size ||
		status.st_mtim.tv_sec != file->status.st_mtim.tv_sec ||
		status.st_mtim.tv_nsec != file->status.st_mtim.tv_nsec)
		return 0;
	return file->fd;
}

/* ---- jitdumps and perf maps ------------------------------------------------------------------ */

static struct held_map *find_map(struct held_files *held, uint64_t image, bool is_dump)
{
	for (unsigned i = 0; i < held->map_count; i++)
		if (held->maps[i].file.key == image && !held->maps[i].dump != is_dump)
			return &held->maps[i];
	return NULL;
}

/* Close the file of @map. */
static void release_map(struct held_files *held, struct held_map *map)
{
	if (!map->file.fd)
		return;
	if (map->copied_s)
		held->copied -= map->file.status.st_size;
	release_file(&map->file);
	map->file.fd = 0;
	map->copied_s = 0;
}

/*
 * Open the jitdump or perf map of @map again. If the file is on a mount that flamerun does not use,
 * copy the file, but only if its size has changed.
 */
static void check_map(struct held_files *held, struct held_map *map, uint32_t pid)
{
	const char *dump = map->dump;
	char path[PERFMAP_PATH_BYTES];
	int fd = dump ? regular_open_own(dump, pid, 0) : perfmap_open_file(pid, 0, path);
	struct held_file file = {.key = map->file.key};
	time_t written_s = 0;

	if (fd < 0)
		return;
	file.fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	file.path = strdup(dump ? dump : path);
	if (file.fd < 0 || !file.path || fstat(file.fd, &file.status))
		goto fail;
	if (!is_on_own_mount(held, file.fd, file.path)) {
		written_s = file.status.st_mtim.tv_sec;
		if (map->file.fd && file.status.st_size == map->file.status.st_size)
			goto fail;
		release_map(held, map);
		if (copy_file(held, &file))
			goto fail;
	}
	map->file = file;
	map->copied_s = written_s;
	return;
fail:
	if (file.fd >= 0)
		close(file.fd);
	free(file.path);
}

static void add_map(struct held_files *held, uint64_t image, const char *dump)
{
	char *path = dump ? strdup(dump) : NULL;

	if (held->map_count == MAPS_MAX || find_map(held, image, dump != NULL) || (dump && !path) ||
		!make_room(held))
		free(path);
	else
		held->maps[held->map_count++] = (struct held_map){.file.key = image, .dump = path};
}

void held_files_add_dump(struct held_files *held, uint64_t image, const char *path)
{
	add_map(held, image, path);
}

void held_files_open(struct held_files *held, uint64_t image, uint32_t pid)
{
	uint64_t now_ns = clock_now_ns();

	add_map(held, image, NULL);
	for (unsigned i = 0; i < held->map_count; i++) {
		struct held_map *map = &held->maps[i];

		if (map->file.key != image || (map->file.fd && !map->copied_s) ||
			now_ns < map->check_ns)
			continue;
		check_map(held, map, pid);
		map->check_ns =
			now_ns + COPY_NS * (1 + (uint64_t)map->file.status.st_size / COPY_BYTES);
	}
}

int held_files_find_map(
	const struct held_files *held, uint64_t image, bool is_dump, int64_t not_before_s)
{
	const struct held_map *map =
		held ? find_map((struct held_files *)held, image, is_dump) : NULL;
	struct stat status;

	if (!map || !map->file.fd || fstat(map->file.fd, &status))
		return 0;
	if ((map->copied_s ? map->copied_s : status.st_mtim.tv_sec) < not_before_s)
		return 0;
	return map->file.fd;
}
