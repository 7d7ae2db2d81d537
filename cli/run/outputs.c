/* SPDX-License-Identifier: MIT */
/*
 * Write each output that is a regular file to a temporary file in the same folder, then rename it.
 * At most one temporary file exists at a time. Open devices and pipes before the program starts,
 * and write to them directly.
 *
 * A rename needs the name that symbolic links finally lead to. The kernel's protection of links
 * does not apply to links that user space reads, so libprof/follow_links.h follows and checks
 * links, before the program starts and again after it has ended.
 */
#include "cli/run/outputs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libprof/follow_links.h"

/* ---- replacing one regular file -------------------------------------------------------------- */

#define TEMPORARY_TRIES 100
#define COPY_BYTES	65536

/* The current temporary file and its folder. outputs_abandon() reads them. */
static int temporary_folder;
static char temporary[NAME_MAX + 1];
static volatile sig_atomic_t temporary_exists;

/*
 * Create a file without a name in @target's folder, so that no file is left if flamerun is killed.
 * The umask and the folder's default ACL determine the mode. Returns a descriptor, or -1 if the
 * file system has no unnamed files or the file could not be named later.
 */
static int create_unnamed(const struct followed *target)
{
	int descriptor = openat(target->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	char link[32];

	if (descriptor < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
	if (!access(link, F_OK))
		return descriptor;
	close(descriptor);
	return -1;
}

/* Name the file @unnamed @name; if @unnamed is -1, create it. Returns a descriptor or -errno. */
static int give_name(int unnamed, int folder, const char *name)
{
	char link[32];

	if (unnamed < 0) {
		unnamed = openat(
			folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		return unnamed < 0 ? -errno : unnamed;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", unnamed);
	return linkat(AT_FDCWD, link, folder, name, AT_SYMLINK_FOLLOW) ? -errno : unnamed;
}

/*
 * Give the file @unnamed a name ".<name>.XXXXXX" in @target's folder. If @unnamed is -1, create an
 * empty file with such a name. Returns the file's descriptor with its name in @name, or -errno.
 */
static int create_beside(int unnamed, const struct followed *target, char name[NAME_MAX + 1])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";

	for (int i = 0; i < TEMPORARY_TRIES; i++) {
		unsigned char random[6];
		char suffix[sizeof(random) + 1] = "";
		int descriptor;

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		for (size_t j = 0; j < sizeof(random); j++)
			suffix[j] = letters[random[j] % 32];
		/* 200: the whole name stays within 255 bytes. */
		snprintf(name, NAME_MAX + 1, ".%.200s.%s", target->name, suffix);
		descriptor = give_name(unnamed, target->folder, name);
		if (descriptor != -EEXIST)
			return descriptor;
	}
	return -EEXIST;
}

/* Check that a file can be created in @target's folder, and remove it. Returns 0 or -errno. */
static int check_replaceable(const struct followed *target)
{
	char name[NAME_MAX + 1];
	int descriptor = create_beside(-1, target, name);

	if (descriptor < 0)
		return descriptor;
	close(descriptor);
	return unlinkat(target->folder, name, 0) ? -errno : 0;
}

void outputs_abandon(void)
{
	if (temporary_exists)
		unlinkat(temporary_folder, temporary, 0);
}

int outputs_fill(int descriptor, outputs_writer writer, void *context)
{
	int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	FILE *file;
	int error;

	if (copy < 0)
		return -errno;
	file = fdopen(copy, "w");
	if (!file) {
		error = -errno;
		close(copy);
		return error;
	}
	error = writer(context, file);
	/*
	 * Earlier write errors are found here. Some file systems report a full disk only at close.
	 */
	if (ferror(file) && !error)
		error = -EIO;
	if (fclose(file) && (!error || error == -EIO))
		error = -errno;
	return error;
}

/* Give the new file the mode of the file that it replaces, and the same owner if permitted. */
static void copy_mode_and_owner(int descriptor, const struct followed *target)
{
	struct stat old, new;

	if (fstatat(target->folder, target->name, &old, AT_SYMLINK_NOFOLLOW) ||
		!S_ISREG(old.st_mode) || fstat(descriptor, &new))
		return;
	if (old.st_uid != new.st_uid || old.st_gid != new.st_gid)
		if (fchown(descriptor, old.st_uid, old.st_gid))
			return; /* the mode is not for another owner */
	fchmod(descriptor, old.st_mode & 0777);
}

/* Overwrite a target that a rename cannot replace (a mount point, a file in a sticky folder). */
static int overwrite_target(int from, const struct followed *target)
{
	static char bytes[COPY_BYTES];
	int to = followed_open(target, O_WRONLY);
	off_t at = 0;
	ssize_t have;
	int error = 0;

	if (to < 0)
		return to;
	if (ftruncate(to, 0))
		error = -errno;
	while (!error && (have = pread(from, bytes, sizeof(bytes), at)) != 0) {
		ssize_t put = have < 0 ? -1 : write(to, bytes, (size_t)have);

		if (put < 0)
			error = -errno;
		else
			at += put;
	}
	if (close(to) && !error)
		error = -errno;
	return error;
}

/*
 * Replace @target by a file with new content; outputs.h says which mode the file gets. If a rename
 * cannot replace @target, overwrite @target when the content is complete. Returns 0,
 * -FOLLOW_ANOTHERS or -errno. After an error @target is unchanged, unless overwriting failed.
 */
static int replace_target(const struct followed *target, outputs_writer writer, void *context)
{
	int unnamed = create_unnamed(target);
	int descriptor, error;

	temporary_folder = target->folder;
	descriptor = unnamed < 0 ? create_beside(-1, target, temporary) : unnamed;
	if (descriptor < 0)
		return descriptor;
	temporary_exists = unnamed < 0;
	error = outputs_fill(descriptor, writer, context);
	if (!error)
		copy_mode_and_owner(descriptor, target);
	if (!error && unnamed >= 0) {
		error = create_beside(unnamed, target, temporary);
		temporary_exists = error >= 0;
		error = error < 0 ? error : 0;
	}
	if (!error) {
		if (!renameat(target->folder, temporary, target->folder, target->name))
			temporary_exists = 0;
		else
			error = overwrite_target(descriptor, target);
	}
	outputs_abandon();
	temporary_exists = 0;
	close(descriptor);
	return error;
}

/* ---- the outputs of a command ---------------------------------------------------------------- */

struct output {
	const char *path; /* as given; borrowed */
	/* open descriptor; -1: write a temporary file, then rename it */
	int in_place;
	/* true for a regular file, existing or not; the fields below identify it */
	bool is_file;
	bool is_renamed;  /* not yet checked with its new name */
	dev_t device;
	ino_t folder;
	char name[NAME_MAX + 1];
};

struct outputs {
	unsigned count;
	struct output list[];
};

/* Returns the descriptor's number in @path (/dev/stdout, /dev/fd/N), or -1 for other paths. */
static int named_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	char *end;
	long number;

	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		size_t bytes = strlen(folders[i]);

		if (strncmp(path, folders[i], bytes))
			continue;
		number = strtol(path + bytes, &end, 10);
		return path[bytes] && !*end && number >= 0 && number <= INT_MAX ? (int)number : -1;
	}
	return -1;
}

static int duplicate_descriptor(int descriptor)
{
	int flags = fcntl(descriptor, F_GETFL);
	int copy;

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return copy < 0 ? -errno : copy;
}

/*
 * Open the target with O_NONBLOCK, so that a FIFO without a reader is an error instead of blocking
 * here. Then clear the flag, so that writing blocks.
 */
static int open_in_place(const struct followed *target)
{
	int descriptor = followed_open(target, O_WRONLY);

	if (descriptor >= 0)
		fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
	return descriptor;
}

static int check_target(struct output *output, const struct followed *target)
{
	int stay = target->open_flags ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat folder, now;
	int exists = !fstatat(target->folder, target->name, &now, stay);
	int error;

	if (exists && !S_ISREG(now.st_mode))
		return output->in_place = open_in_place(target);
	if (fstat(target->folder, &folder))
		return -errno;
	output->is_file = true;
	output->device = folder.st_dev;
	output->folder = folder.st_ino;
	strcpy(output->name, target->name);
	if (exists && faccessat(target->folder, target->name, W_OK, 0))
		return -errno;
	error = check_replaceable(target);
	return error && exists ? output->in_place = open_in_place(target) : error;
}

static int check_output(struct output *output)
{
	int descriptor = named_descriptor(output->path);
	struct followed target;
	int error;

	if (descriptor >= 0)
		return output->in_place = duplicate_descriptor(descriptor);
	error = follow_links(output->path, &target);
	if (error)
		return error;
	error = check_target(output, &target);
	followed_release(&target);
	return error;
}

/* Does @output name the same file as an earlier output, which it would silently replace? */
static bool is_repeated(const struct outputs *outputs, const struct output *output)
{
	for (unsigned i = 0; output->is_file && i < outputs->count; i++) {
		const struct output *other = &outputs->list[i];

		if (other->is_file && other->device == output->device &&
			other->folder == output->folder && !strcmp(other->name, output->name))
			return true;
	}
	return false;
}

static const char *describe_error(int error)
{
	if (error == -ENXIO)
		return "nobody reads from it";
	if (error == -FOLLOW_ANOTHERS)
		return "another user laid the link or file into a folder that all may write to";
	return strerror(-error);
}

static size_t folder_bytes_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Does @path's folder exist? ENOENT is no proof: creating a file in /proc fails with it, too. */
static bool has_folder(const char *path)
{
	char folder[PATH_MAX];
	int bytes = snprintf(folder, sizeof(folder), "%.*s", (int)folder_bytes_of(path), path);

	return bytes < (int)sizeof(folder) && !access(folder, F_OK);
}

/* Fill @message. Returns @error, or -EACCES for -FOLLOW_ANOTHERS, which is no errno. */
static int fail_output(const struct output *output, int error, struct diag_message *message)
{
	int result = error == -FOLLOW_ANOTHERS ? -EACCES : error;

	return diag_fail(
		message, result, "cannot write '%s': %s", output->path, describe_error(error));
}

/* Fill @message and suggest another path. Called before the program has started. */
static int refuse_output(const struct output *output, int error, struct diag_message *message)
{
	size_t folder_bytes = folder_bytes_of(output->path);
	int result = fail_output(output, error, message);

	if (error == -ENOENT && folder_bytes > 1 && !has_folder(output->path))
		diag_fail_hint(message, "the folder comes first: mkdir -p '%.*s'",
			(int)folder_bytes - 1, output->path);
	else if (error == -FOLLOW_ANOTHERS)
		diag_fail_hint(
			message, "-o names another place: -o ~/%s", output->path + folder_bytes);
	else if (error == -ENOENT || error == -EACCES || error == -EROFS || error == -EPERM)
		diag_fail_hint(
			message, "-o names another place: -o /tmp/%s", output->path + folder_bytes);
	return result;
}

int outputs_open(struct outputs **out, const char *const *paths, unsigned count,
	struct diag_message *message)
{
	struct outputs *outputs = calloc(1, sizeof(*outputs) + count * sizeof(outputs->list[0]));

	if (!outputs)
		return diag_fail(message, -ENOMEM, "out of memory");
	for (; outputs->count < count; outputs->count++) {
		struct output *output = &outputs->list[outputs->count];
		int error;

		output->path = paths[outputs->count];
		output->in_place = -1;
		error = check_output(output);
		if (error < 0) {
			error = refuse_output(output, error, message);
			outputs_free(outputs);
			return error;
		}
		if (is_repeated(outputs, output)) {
			error = diag_fail(message, -EINVAL, "'%s' is written twice", output->path);
			outputs_free(outputs);
			return error;
		}
	}
	*out = outputs;
	return 0;
}

void outputs_free(struct outputs *outputs)
{
	if (!outputs)
		return;
	for (unsigned i = 0; i < outputs->count; i++)
		if (outputs->list[i].in_place >= 0)
			close(outputs->list[i].in_place);
	free(outputs);
}

void outputs_rename(struct outputs *outputs, unsigned index, const char *path)
{
	struct output *output = &outputs->list[index];

	if (output->in_place >= 0)
		close(output->in_place);
	*output = (struct output){.path = path, .in_place = -1, .is_renamed = true};
}

bool outputs_is_file(const struct outputs *outputs, unsigned index)
{
	const struct output *output = &outputs->list[index];
	struct stat now;

	return output->in_place < 0 ||
	       (output->is_file && !fstat(output->in_place, &now) && S_ISREG(now.st_mode));
}

static int write_in_place(const struct output *output, outputs_writer writer, void *context)
{
	/* Truncate only files opened by path; an inherited descriptor may have other writers. */
	if (output->is_file && ftruncate(output->in_place, 0))
		return -errno;
	return outputs_fill(output->in_place, writer, context);
}

/* Follow links again, because the program may have changed folders or links. */
static int write_file(const struct output *output, outputs_writer writer, void *context)
{
	struct followed target;
	int error = follow_links(output->path, &target);

	if (error)
		return error;
	error = replace_target(&target, writer, context);
	followed_release(&target);
	return error;
}

int outputs_write(struct outputs *outputs, unsigned index, outputs_writer writer, void *context,
	struct diag_message *message)
{
	struct output *output = &outputs->list[index];
	int error = output->is_renamed ? check_output(output) : 0;

	if (error >= 0)
		error = output->in_place >= 0 ? write_in_place(output, writer, context)
					      : write_file(output, writer, context);
	return error < 0 ? fail_output(output, error, message) : 0;
}
