/* SPDX-License-Identifier: MIT */
/*
 * Names for Python functions, where they were asked for: is there a CPython in the process whose
 * functions the extension can name? The extension is loaded before the program begins, or when the
 * program has loaded a CPython, and nothing else happens in processes without one. It is installed
 * in calls that CPython makes when the interpreter exists and none of the user's code has run: it
 * asks for its signals, and makes locks.
 *
 * CPython 3.11 is known by its symbols, and the calls are sigaction() and sem_init(). No variable
 * or path of Python's is used, so isolated interpreters (-I, -E, -S), virtual environments and
 * embedded interpreters get names alike, and os.environ is what it was. Python from 3.12 on is
 * left alone.
 */
#include "libprof/python/python.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/unwind/memory.h"

static AT_START python_install_function *install; /* atomic; NULL: nothing to be named */
static uint32_t is_decided; /* atomic: there is a CPython, whether or not it gets names */
static uint32_t is_named; /* atomic: counted already */

static struct wire_arena *arena_if_asked(void)
{
	struct wire_arena *arena = sampler.arena;

	return arena && !sampler_is_hosted() && sampler.jit & WIRE_JIT_PYTHON ? arena : NULL;
}

static void count_refusal(struct wire_arena *arena, enum wire_python_refusal why)
{
	__atomic_fetch_add(&arena->python_refused[why], 1, __ATOMIC_RELAXED);
}

/* The extension, beside the file that this library really is. */
static python_install_function *load_extension(void)
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

	if (!arena || __atomic_load_n(&is_decided, __ATOMIC_RELAXED))
		return;
	version = dlsym(RTLD_DEFAULT, "Py_Version");
	if (version && *version >= PYTHON_VERSION_FIRST && *version < PYTHON_VERSION_END) {
		found = load_extension();
		if (!found)
			count_refusal(arena, WIRE_PYTHON_NO_EXTENSION);
		__atomic_store_n(&install, found, __ATOMIC_RELEASE);
	} else if (version || dlsym(RTLD_DEFAULT, "Py_GetVersion")) {
		count_refusal(arena, WIRE_PYTHON_VERSION);
	}
	if (version)
		__atomic_store_n(&is_decided, 1, __ATOMIC_RELAXED);
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
			count_refusal(arena, WIRE_PYTHON_NO_STUBS);
	} else if (!error && arena && !__atomic_exchange_n(&is_named, 1, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(&arena->python_named, 1, __ATOMIC_RELAXED);
	}
	errno = saved_errno;
}

/*
 * A CPython that was loaded later is found when it makes its first lock, as CPython does all
 * through its start. A module that makes locks and brought none along is not looked at twice in a
 * row.
 */
static void find_on_call(uintptr_t caller)
{
	static uintptr_t seen; /* atomic: where the module of the last caller begins */
	struct unwind_module module;
	int saved_errno = errno;

	if (!arena_if_asked() || unwind_find_object(caller, &module, NULL) ||
		__atomic_exchange_n(&seen, module.start, __ATOMIC_RELAXED) == module.start)
		return;
	preload_python_find();
	errno = saved_errno;
}

typedef int sem_init_fn(sem_t *, int, unsigned);

PRELOAD_EXPORT int sem_init(sem_t *semaphore, int is_shared, unsigned value)
{
	static sem_init_fn *next;

	if (!next)
		next = (sem_init_fn *)preload_next("sem_init");
	find_on_call((uintptr_t)__builtin_return_address(0));
	preload_python_install();
	return next(semaphore, is_shared, value);
}
