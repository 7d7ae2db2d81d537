/* SPDX-License-Identifier: MIT */
/*
 * The ways out of an image that libc lets us see: the exec family and _exit. Each notes what the
 * threads are owed before the kernel takes it away. libc's own system(), popen() and posix_spawn()
 * never come through here, nor need they: their children leave the parent's image alone.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "libprof/preload/preload.h"

extern char **environ;

typedef int execve_fn(const char *, char *const[], char *const[]);
typedef int execvpe_fn(const char *, char *const[], char *const[]);
typedef int fexecve_fn(int, char *const[], char *const[]);
typedef int execveat_fn(int, const char *, char *const[], char *const[], int);
typedef void exit_fn(int);

/* What an exec that failed returns to: the same result and errno. */
static int stayed(int result)
{
	int saved_errno = errno;

	sampler_stay();
	errno = saved_errno;
	return result;
}

PRELOAD_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	static execve_fn *next;

	if (!next)
		next = (execve_fn *)preload_next("execve");
	sampler_leave(WIRE_SLOT_EXEC);
	return stayed(next(path, argv, envp));
}

PRELOAD_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	static execvpe_fn *next;

	if (!next)
		next = (execvpe_fn *)preload_next("execvpe");
	sampler_leave(WIRE_SLOT_EXEC);
	return stayed(next(file, argv, envp));
}

PRELOAD_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	static fexecve_fn *next;

	if (!next)
		next = (fexecve_fn *)preload_next("fexecve");
	sampler_leave(WIRE_SLOT_EXEC);
	return stayed(next(fd, argv, envp));
}

PRELOAD_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	static execveat_fn *next;

	if (!next)
		next = (execveat_fn *)preload_next("execveat");
	sampler_leave(WIRE_SLOT_EXEC);
	return stayed(next(fd, path, argv, envp, flags));
}

PRELOAD_EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PRELOAD_EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/*
 * The variadic ones gather their arguments on the stack, as libc does; a vfork child must not
 * allocate. Returns how many, the NULL not counted.
 */
static size_t count_arguments(va_list list)
{
	size_t n = 1;

	while (va_arg(list, char *))
		n++;
	return n;
}

#define GATHER_ARGUMENTS(first, argv)                                        \
	va_list list;                                                        \
	va_start(list, first);                                               \
	size_t count = count_arguments(list);                                \
	va_end(list);                                                        \
	char **argv = __builtin_alloca((count + 1) * sizeof(*argv));         \
	va_start(list, first);                                               \
	argv[0] = (char *)(uintptr_t)first;                                  \
	for (size_t i = 1; i <= count; i++)                                  \
		argv[i] = va_arg(list, char *)

PRELOAD_EXPORT int execl(const char *path, const char *first, ...)
{
	GATHER_ARGUMENTS(first, argv);
	va_end(list);
	return execve(path, argv, environ);
}

PRELOAD_EXPORT int execlp(const char *file, const char *first, ...)
{
	GATHER_ARGUMENTS(first, argv);
	va_end(list);
	return execvpe(file, argv, environ);
}

PRELOAD_EXPORT int execle(const char *path, const char *first, ...)
{
	GATHER_ARGUMENTS(first, argv);
	char **envp = va_arg(list, char **);
	va_end(list);
	return execve(path, argv, envp);
}

PRELOAD_EXPORT void _exit(int status)
{
	static exit_fn *next;

	if (!next)
		next = (exit_fn *)preload_next("_exit");
	sampler_leave(WIRE_SLOT_EXIT);
	next(status);
	__builtin_unreachable();
}

PRELOAD_EXPORT void _Exit(int status)
{
	_exit(status);
}
