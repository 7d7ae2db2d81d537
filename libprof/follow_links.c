/* SPDX-License-Identifier: MIT */
/*
 * Walk a path component by component. Each component is opened with O_PATH, which has no side
 * effects, then checked and read through that descriptor, so that no other process can exchange it
 * between check and use.
 *
 * The kernel's rule for sticky folders is applied here to every component, because the kernel
 * applies it only to links that it follows itself. flamerun checks outputs before the program
 * starts and again when it has ended.
 */
#include "libprof/follow_links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40 /* the kernel's limit */

enum step {
	STEP_ON = 0,
	STEP_THERE = 1,
};

struct walk {
	int folder;
	int open_flags;
	unsigned links;
	char name[NAME_MAX + 1]; /* current component */
	char rest[PATH_MAX];	 /* unread part of the path: "" or "/..." */
};

static int open_entry(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, O_PATH | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* Open /proc/self/root, because an emulator such as qemu-user -L may redirect "/", but not that. */
static int open_root(void)
{
	int root = open_entry(AT_FDCWD, "/proc/self/root", O_DIRECTORY);

	return root < 0 ? open_entry(AT_FDCWD, "/", O_DIRECTORY) : root;
}

static int enter_folder(struct walk *walk, int folder)
{
	if (folder < 0)
		return folder;
	if (walk->folder >= 0)
		close(walk->folder);
	walk->folder = folder;
	return STEP_ON;
}

/* Returns 1 if @entry was put into @folder by a user whom the caller trusts. */
static int is_trusted(int folder, const struct stat *entry)
{
	const mode_t for_all = S_ISVTX | S_IWOTH;
	struct stat status;

	if (fstat(folder, &status))
		return 0;
	/*
	 * Compare the euid, although the kernel compares the fsuid, because a sandbox may not know
	 * the system call that reads the fsuid.
	 */
	return (status.st_mode & for_all) != for_all || entry->st_uid == status.st_uid ||
	       entry->st_uid == geteuid();
}

static int may_write(int folder, const struct stat *entry)
{
	return (!S_ISREG(entry->st_mode) && !S_ISFIFO(entry->st_mode)) || is_trusted(folder, entry);
}

/* Move the first component of `rest` to `name`. If no component is left, `name` becomes "". */
static int next_name(struct walk *walk)
{
	size_t slashes = strspn(walk->rest, "/");
	size_t bytes = strcspn(walk->rest + slashes, "/");

	if (bytes > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(walk->name, walk->rest + slashes, bytes);
	walk->name[bytes] = '\0';
	memmove(walk->rest, walk->rest + slashes + bytes, strlen(walk->rest + slashes + bytes) + 1);
	return 0;
}

/* Put the target of @link in front of `rest`; if it begins with "/", continue at the root. */
static int read_link(struct walk *walk, int link)
{
	size_t rest_bytes = strlen(walk->rest) + 1;
	char text[PATH_MAX];
	ssize_t bytes = readlinkat(link, "", text, sizeof(text));

	if (bytes <= 0)
		return bytes ? -errno : -ENOENT;
	if ((size_t)bytes > sizeof(walk->rest) - rest_bytes)
		return -ENAMETOOLONG;
	memmove(walk->rest + bytes, walk->rest, rest_bytes);
	memcpy(walk->rest, text, (size_t)bytes);
	return text[0] == '/' ? enter_folder(walk, open_root()) : STEP_ON;
}

/*
 * Follow a link in /proc. The link's text need not be a usable path, and no user can plant links
 * there, so the kernel follows the link to a folder or to an object that is written in place (a
 * pipe, a device). A regular file is found by the link's text instead, because it is replaced by a
 * rename.
 */
static int follow_in_proc(struct walk *walk, int link)
{
	struct stat status;

	if (*walk->rest)
		return enter_folder(walk, open_entry(walk->folder, walk->name, O_DIRECTORY));
	if (fstatat(walk->folder, walk->name, &status, 0))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (S_ISREG(status.st_mode))
		return status.st_nlink ? read_link(walk, link) : -ENOENT;
	walk->open_flags = 0;
	return STEP_THERE;
}

static int check_link(struct walk *walk, int link, const struct stat *status)
{
	struct statfs mount;

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if (!is_trusted(walk->folder, status))
		return -FOLLOW_ANOTHERS;
	if (!fstatfs(link, &mount) && mount.f_type == PROC_SUPER_MAGIC)
		return follow_in_proc(walk, link);
	return read_link(walk, link);
}

/* Follow `name` if it is a link. Otherwise end the walk at it. @entry is its O_PATH descriptor. */
static int check_entry(struct walk *walk, int entry)
{
	struct stat status;

	if (fstat(entry, &status))
		return -errno;
	if (S_ISLNK(status.st_mode))
		return check_link(walk, entry, &status);
	if (*walk->rest)
		return -ENOTDIR;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return may_write(walk->folder, &status) ? STEP_THERE : -FOLLOW_ANOTHERS;
}

static int step_component(struct walk *walk)
{
	int error = next_name(walk), entry;

	if (error)
		return error;
	if (!walk->name[0])
		return -EISDIR;
	if (*walk->rest) {
		/* Open with O_DIRECTORY, which makes an automounter mount the folder. */
		entry = open_entry(walk->folder, walk->name, O_NOFOLLOW | O_DIRECTORY);
		if (entry != -ENOTDIR)
			return enter_folder(walk, entry);
	}
	entry = open_entry(walk->folder, walk->name, O_NOFOLLOW);
	if (entry < 0)
		return entry == -ENOENT && !*walk->rest ? STEP_THERE : entry;
	error = check_entry(walk, entry);
	close(entry);
	return error;
}

int follow_links(const char *path, struct followed *out)
{
	struct walk walk = {.folder = -1, .open_flags = O_NOFOLLOW};
	int error;

	if (!*path)
		return -ENOENT;
	if (strlen(path) >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	strcpy(walk.rest, path);
	error = enter_folder(
		&walk, *path == '/' ? open_root() : open_entry(AT_FDCWD, ".", O_DIRECTORY));
	while (error == STEP_ON)
		error = step_component(&walk);
	if (error == STEP_THERE) {
		out->folder = walk.folder;
		out->open_flags = walk.open_flags;
		memcpy(out->name, walk.name, sizeof(out->name));
		return 0;
	}
	if (walk.folder >= 0)
		close(walk.folder);
	return error;
}

void followed_release(struct followed *place)
{
	close(place->folder);
}

int followed_open(const struct followed *place, int flags)
{
	flags |= place->open_flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

	int fd = openat(place->folder, place->name, flags);
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !may_write(place->folder, &status)) {
		close(fd);
		return -FOLLOW_ANOTHERS;
	}
	return fd;
}
