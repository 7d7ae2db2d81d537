/* SPDX-License-Identifier: MIT */
/*
 * The ways out of an image that libc lets us see: the exec family and _exit. Each notes what the
 * threads are owed before the kernel takes it away. libc's own system(), popen() and posix_spawn()
 * never come through here, nor need they: their children leave the parent's image alone.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/host.h"
#include "libprof/sampler/own_signal.h"

extern char **environ;

typedef int execve_fn(const char *, char *const[], char *const[]);
typedef int execvpe_fn(const char *, char *const[], char *const[]);
typedef int fexecve_fn(int, char *const[], char *const[]);
typedef int execveat_fn(int, const char *, char *const[], char *const[], int);
typedef void exit_fn(int);

/* The kernel's entry and mask as the program believes them to be: the next image inherits both. */
static int give_back(void)
{
	uint64_t mask = SAMPLER_SIGNAL_BIT;
	const struct sampler_thread *thread = preload_thread();
	int is_held = thread && __atomic_load_n(&thread->held, __ATOMIC_RELAXED);
	struct sigaction action;

	host_get(&action);
	if (action.sa_handler == SIG_IGN)
		own_signal_give_back();
	if (is_held)
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	return is_held || action.sa_handler == SIG_IGN;
}

static void take_again(void)
{
	uint64_t mask = SAMPLER_SIGNAL_BIT;

	own_signal_retake();
	arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask));
}

/* What each way of exec is called with; the environment may have to lose us. */
struct leaving {
	char *const *envp;
	int was_given_back;
};

static struct leaving leave(char *const *envp, void *room)
{
	struct leaving leaving = {.envp = room ? preload_environment(envp, room) : envp};

	sampler_leave(WIRE_SLOT_EXEC);
	if (__atomic_load_n(&sampler.owns_signal, __ATOMIC_ACQUIRE) && !sampler.quit)
		leaving.was_given_back = give_back();
	return leaving;
}

/* What an exec that failed returns to: the same result and errno. */
static int stayed(const struct leaving *leaving, int result)
{
	int saved_errno = errno;

	if (leaving->was_given_back)
		take_again();
	sampler_stay();
	errno = saved_errno;
	return result;
}

/* In the caller's frame: a vfork child must not allocate. */
#define LEAVE(envp)                                                          \
	size_t bytes = preload_environment_bytes(envp);                      \
	struct leaving leaving = leave(envp, bytes ? __builtin_alloca(bytes) : NULL)

PRELOAD_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	static execve_fn *next;

	if (!next)
		next = (execve_fn *)preload_next("execve");
	LEAVE(envp);
	return stayed(&leaving, next(path, argv, leaving.envp));
}

PRELOAD_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	static execvpe_fn *next;

	if (!next)
		next = (execvpe_fn *)preload_next("execvpe");
	LEAVE(envp);
	return stayed(&leaving, next(file, argv, leaving.envp));
}

PRELOAD_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	static fexecve_fn *next;

	if (!next)
		next = (fexecve_fn *)preload_next("fexecve");
	LEAVE(envp);
	return stayed(&leaving, next(fd, argv, leaving.envp));
}

PRELOAD_EXPORT int execveat(
	int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	static execveat_fn *next;

	if (!next)
		next = (execveat_fn *)preload_next("execveat");
	LEAVE(envp);
	return stayed(&leaving, next(fd, path, argv, leaving.envp, flags));
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

static exit_fn *next_exit;

void preload_resolve_exit(void)
{
	if (!next_exit)
		next_exit = (exit_fn *)preload_next("_exit");
}

PRELOAD_EXPORT void _exit(int status)
{
	preload_resolve_exit();
	sampler_leave(WIRE_SLOT_EXIT);
	next_exit(status);
	__builtin_unreachable();
}

PRELOAD_EXPORT void _Exit(int status)
{
	_exit(status);
}
