/* SPDX-License-Identifier: MIT */
/*
 * "#!" lines as the kernel reads them: execve(2), fs/binfmt_script.c.
 */
#include "cli/run/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERPRETERS_MAX 5

/*
 * Read the beginning of walk->file, which must be executable.
 * Returns how many bytes, or -errno as execve() would. -EBADF: executable but not readable.
 */
static int read_first(struct walk *walk)
{
	/* With equal ids plain access() says the same; some sandboxes refuse faccessat2(). */
	int how = getuid() == geteuid() && getgid() == getegid() ? 0 : AT_EACCESS;
	struct stat status;
	ssize_t bytes;
	int descriptor;

	if (fstatat(walk->directory, walk->file, &status, 0))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	if (faccessat(walk->directory, walk->file, X_OK, how))
		return -errno;
	descriptor = openat(walk->directory, walk->file, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return errno == EACCES ? -EBADF : -errno;
	bytes = read(descriptor, walk->first, WALK_FIRST_BYTES);
	close(descriptor);
	if (bytes < 0)
		return -EIO;
	memset(walk->first + bytes, 0, sizeof(walk->first) - (size_t)bytes);
	return (int)bytes;
}

/*
 * Split "#! interpreter argument" as the kernel does: one argument, blanks around it cut off.
 * Returns 0 with walk->file set to the interpreter, or -ENOEXEC.
 */
static int take_interpreter(struct walk *walk)
{
	char *line = walk->first + 2;
	char *name = line + strspn(line, " \t");
	char *newline = strchr(line, '\n');
	size_t name_bytes, bytes;
	const char *base, *argument;

	if (newline)
		*newline = '\0';
	name_bytes = strcspn(name, " \t");
	/* A line that fills the kernel's buffer may have lost the end of its interpreter's name. */
	if (!name_bytes || (!newline && name + name_bytes == walk->first + WALK_FIRST_BYTES))
		return -ENOEXEC;
	argument = name + name_bytes + strspn(name + name_bytes, " \t");
	bytes = strlen(argument);
	while (bytes && strchr(" \t", argument[bytes - 1]))
		bytes--;
	memcpy(walk->file, name, name_bytes);
	walk->file[name_bytes] = '\0';
	base = strrchr(walk->file, '/');
	base = base ? base + 1 : walk->file;
	if (!strcmp(base, "env"))
		snprintf(walk->env_argument, sizeof(walk->env_argument), "%.*s", (int)bytes,
			argument);
	return 0;
}

int walk_from(struct walk *walk, int directory, const char *file)
{
	walk->directory = directory;
	walk->env_argument[0] = '\0';
	if (strlen(file) >= sizeof(walk->file))
		return -ENAMETOOLONG;
	strcpy(walk->file, file);
	for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
		int bytes = read_first(walk);
		int error;

		if (bytes < 0)
			return bytes == -EBADF ? 0 : bytes;
		if (bytes >= 4 && !memcmp(walk->first, "\177ELF", 4))
			return 0;
		if (bytes < 2 || memcmp(walk->first, "#!", 2))
			return -ENOEXEC;
		error = take_interpreter(walk);
		if (error)
			return error;
	}
	return -ELOOP;
}
