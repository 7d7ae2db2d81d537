/* SPDX-License-Identifier: MIT */
/*
 * Names for Python functions, where they were asked for: is there a CPython in the process whose
 * functions the extension can name? The extension is loaded before the program begins and nothing
 * else happens in processes without one. It is installed when CPython asks for its signals: the
 * interpreter exists then, and none of the user's code has run.
 *
 * No variable of Python's has to be set for that, so that isolated interpreters (-I, -E, -S) and
 * virtual environments get names too, and os.environ is what it was.
 */
#include "libprof/python/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/preload/preload.h"

static python_install_function *install; /* atomic; NULL: nothing to be named */
static uint32_t is_named; /* atomic: counted already */

static struct wire_arena *arena_if_asked(void)
{
	struct wire_arena *arena = sampler.arena;

	return arena && !sampler.hosted && arena->jit & WIRE_JIT_PYTHON ? arena : NULL;
}

static void refuse(struct wire_arena *arena, enum wire_python_refusal why)
{
	__atomic_fetch_add(&arena->python_refused[why], 1, __ATOMIC_RELAXED);
}

/* The extension, beside the file that this library really is. */
static python_install_function *load(void)
{
	char path[PATH_MAX + sizeof(PYTHON_LIBRARY_NAME)];
	const char *own = preload_library_path();
	void *extension;
	char *slash;

	if (!own || !realpath(own, path))
		return NULL;
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, PYTHON_LIBRARY_NAME);
	extension = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return extension ? (python_install_function *)dlsym(extension, PYTHON_INSTALL) : NULL;
}

void preload_python_find(void)
{
	struct wire_arena *arena = arena_if_asked();
	const unsigned long *version;
	python_install_function *found;

	if (!arena)
		return;
	version = dlsym(RTLD_DEFAULT, "Py_Version");
	if (version && *version >= PYTHON_VERSION_FIRST && *version < PYTHON_VERSION_END) {
		found = load();
		if (!found)
			refuse(arena, WIRE_PYTHON_NO_EXTENSION);
		__atomic_store_n(&install, found, __ATOMIC_RELEASE);
	} else if (version || dlsym(RTLD_DEFAULT, "Py_GetVersion")) {
		refuse(arena, WIRE_PYTHON_VERSION);
	}
	/* The program shall not find an error of ours. */
	dlerror();
}

void preload_python_install(void)
{
	python_install_function *call = __atomic_load_n(&install, __ATOMIC_ACQUIRE);
	int saved_errno = errno;
	struct wire_arena *arena;
	int error;

	if (!call)
		return;
	error = call();
	arena = arena_if_asked();
	if (error && error != -EAGAIN) {
		__atomic_store_n(&install, NULL, __ATOMIC_RELEASE);
		if (arena)
			refuse(arena, WIRE_PYTHON_NO_STUBS);
	} else if (!error && arena && !__atomic_exchange_n(&is_named, 1, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&arena->python_named, 1, __ATOMIC_RELAXED);
	}
	errno = saved_errno;
}
