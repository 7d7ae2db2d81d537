/* SPDX-License-Identifier: MIT */
/*
 * What an exec'd image inherits of us. Where it could not load the library the dynamic linker would
 * complain on the program's stderr, and where system calls are forbidden our start could kill it:
 * there our entry is taken out of LD_PRELOAD. May run in a vfork child: memory comes from the
 * caller.
 */
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/preload/preload.h"
#include "libprof/unwind/find_object.h"

#define PRELOAD_VARIABLE "LD_PRELOAD="
#define PRELOAD_PREFIX   (sizeof(PRELOAD_VARIABLE) - 1)
#define SEPARATORS       " :"

const char *preload_library_path(void)
{
	const struct link_map *map = NULL;
	struct unwind_module module;

	if (unwind_find_object((uintptr_t)preload_library_path, &module, &map) || !map)
		return NULL;
	return map->l_name;
}

static char *find_preload(char *const *environment)
{
	for (; environment && *environment; environment++)
		if (!strncmp(*environment, PRELOAD_VARIABLE, PRELOAD_PREFIX))
			return *environment;
	return NULL;
}

size_t preload_environment_bytes(char *const *environment)
{
	const char *path = preload_library_path();
	const char *variable = find_preload(environment);
	size_t count = 1;

	if (!path || !variable || !strstr(variable, path))
		return 0;
	if (!__atomic_load_n(&sampler.quit, __ATOMIC_RELAXED) &&
		!arch_syscall3(SYS_faccessat, AT_FDCWD, path, R_OK))
		return 0;
	for (; *environment; environment++)
		count++;
	return count * sizeof(*environment) + strlen(variable) + 1;
}

/* LD_PRELOAD without the entry @path. Returns how many entries are left. */
static unsigned drop_entry(char *out, const char *variable, const char *path)
{
	size_t path_bytes = strlen(path);
	unsigned kept = 0;

	memcpy(out, variable, PRELOAD_PREFIX);
	out += PRELOAD_PREFIX;
	for (variable += PRELOAD_PREFIX; *variable;) {
		size_t n = strcspn(variable, SEPARATORS);

		if (n && (n != path_bytes || memcmp(variable, path, n))) {
			if (kept++)
				*out++ = ':';
			memcpy(out, variable, n);
			out += n;
		}
		variable += n;
		variable += strspn(variable, SEPARATORS);
	}
	*out = '\0';
	return kept;
}

char **preload_environment(char *const *environment, void *room)
{
	const char *path = preload_library_path();
	char *variable = find_preload(environment);
	char **out = room;
	size_t count = 0;
	char *text;

	while (environment[count])
		count++;
	text = (char *)(out + count + 1);
	if (!drop_entry(text, variable, path))
		text = NULL;
	for (; *environment; environment++) {
		if (*environment != variable)
			*out++ = *environment;
		else if (text)
			*out++ = text;
	}
	*out = NULL;
	return room;
}
