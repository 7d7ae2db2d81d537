/* SPDX-License-Identifier: MIT */
/*
 * flamerun as the library's draughtsman: names, demangling and drawing need libraries that a guest
 * must not bring along.
 */
#include "libprof/api/draw.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/api/find_flamerun.h"
#include "libprof/api/outsider.h"

#define LIBRARY	   "libflameprof.so"
#define PRELOAD	   "LD_PRELOAD="
#define SETTINGS   "FLAMERUN_"
#define SEPARATORS " :"

static int begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* Is the entry of @bytes bytes at @entry of LD_PRELOAD this library, in whatever folder? */
static int is_library(const char *entry, size_t bytes)
{
	const char *slash = memrchr(entry, '/', bytes);
	size_t folder_bytes = slash ? (size_t)(slash + 1 - entry) : 0;

	return bytes - folder_bytes >= sizeof(LIBRARY) - 1 &&
	       !memcmp(entry + folder_bytes, LIBRARY, sizeof(LIBRARY) - 1);
}

/* Write the variable @preload without entries that are us. Returns the end of what was written. */
static char *put_preload(char *out, const char *preload)
{
	const char *at = preload + strlen(PRELOAD);

	memcpy(out, PRELOAD, strlen(PRELOAD));
	out += strlen(PRELOAD);
	while (*at) {
		size_t bytes = strcspn(at, SEPARATORS);

		if (bytes && !is_library(at, bytes)) {
			memcpy(out, at, bytes);
			out += bytes;
			*out++ = ':';
		}
		at += bytes + strspn(at + bytes, SEPARATORS);
	}
	*out++ = '\0';
	return out;
}

/* The name of an output has gaps that begin with '%'. */
static void put_literally(char *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '%')
			*out++ = '%';
		*out++ = *path;
	}
	*out = '\0';
}

/* What the program gets: pointers first, then the texts made for it. */
struct request {
	size_t bytes; /* of the mapping this is at the start of */
	char **environment;
	char *output;
};

/* NULL without memory. */
static void *map(size_t bytes)
{
	long at = arch_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

static struct request *request_new(const char *path)
{
	size_t variables = 0, text_bytes = 2 * strlen(path) + 1;
	struct request *request;
	size_t bytes, count = 0;
	char *text;

	for (; environ && environ[variables]; variables++)
		if (begins_with(environ[variables], PRELOAD))
			text_bytes += strlen(environ[variables]) + 2;
	bytes = sizeof(*request) + (variables + 1) * sizeof(char *) + text_bytes;
	request = map(bytes);
	if (!request)
		return NULL;
	request->bytes = bytes;
	request->environment = (char **)(request + 1);
	text = (char *)(request->environment + variables + 1);
	for (size_t i = 0; i < variables && environ[i]; i++) {
		if (begins_with(environ[i], SETTINGS))
			continue;
		request->environment[count++] = environ[i];
		if (!begins_with(environ[i], PRELOAD))
			continue;
		request->environment[count - 1] = text;
		text = put_preload(text, environ[i]);
	}
	request->output = text;
	put_literally(text, path);
	return request;
}

int draw(const char *profile, const char *path)
{
	struct request *request;
	char program[PATH_MAX];
	int error = find_flamerun(program);

	if (error)
		return error;
	request = request_new(path);
	if (!request)
		return -ENOMEM;
	/* Nobody reads what it says, and what it makes depends on nobody's settings. */
	const char *const arguments[] = {program, "render", "--no-config", "--quiet", "-o",
		request->output, "--", profile, NULL};

	error = outsider_run(program, arguments, request->environment);
	arch_syscall2(SYS_munmap, request, request->bytes);
	return error == -EAGAIN ? -EIO : error;
}
