/* SPDX-License-Identifier: MIT */
/*
 * Interpose the functions that end a process image: the exec family and _exit(). Each interposer
 * records the CPU time of all threads before the kernel forgets it. posix_spawn() does not end the
 * image; its interposer sets only the environment and the signal state of the child. (glibc has an
 * older version of posix_spawn(), which runs files without "#!" by the shell; programs linked
 * before glibc 2.15 get the newer version instead.) system() and popen() do not call these
 * functions inside libc: their interposers set the signal state of the shell, but its environment
 * is not changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/events.h"
#include "libprof/sampler/host.h"
#include "libprof/sampler/own_signal.h"

extern char **environ;

typedef int execve_fn(const char *, char *const[], char *const[]);
typedef int execvpe_fn(const char *, char *const[], char *const[]);
typedef int fexecve_fn(int, char *const[], char *const[]);
typedef int execveat_fn(int, const char *, char *const[], char *const[], int);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
	const posix_spawnattr_t *, char *const[], char *const[]);
typedef int system_fn(const char *);
typedef FILE *popen_fn(const char *, const char *);
typedef void exit_fn(int);

void preload_leave(enum wire_slot_state state)
{
	sampler_leave(state);
	/*
	 * Do not ask for the signal's action if there is a new seccomp filter, which may forbid the
	 * call. end_cpu_ns is 0 if there was a filter that the library did not see.
	 */
	if (sampler_is_this_process() && sampler.slot->end_cpu_ns &&
		__atomic_load_n(&sampler.filters, __ATOMIC_RELAXED) == sampler.filters_at_start)
		sampler.slot->is_displaced = own_signal_is_displaced() != 0;
}

/* Results of restore_signal(), or-ed: what it changed. */
#define RESTORED_ACTION 1
#define RESTORED_MASK	2

/*
 * Set the kernel's action and mask for the sampling signal to those that the program has set,
 * because the next image inherits both. Returns RESTORED_*.
 */
static int restore_signal(int is_thread_held)
{
	uint64_t mask = sampler_signal_bit();
	struct sigaction action;

	if (!__atomic_load_n(&sampler.owns_signal, __ATOMIC_ACQUIRE) || sampler.quit)
		return 0;
	host_get(&action);
	if (action.sa_handler == SIG_IGN)
		own_signal_restore();
	if (is_thread_held)
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, sizeof(mask));
	return (action.sa_handler == SIG_IGN ? RESTORED_ACTION : 0) |
	       (is_thread_held ? RESTORED_MASK : 0);
}

/*
 * Undo restore_signal(), whose result is @restored. Unblock the signal only if restore_signal()
 * blocked it, because an unsampled thread may block the signal itself.
 */
static void reinstall_signal(int restored)
{
	uint64_t mask = sampler_signal_bit();

	own_signal_reinstall();
	if (restored & RESTORED_MASK)
		arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof(mask));
}

/* Returns 1 if the thread only seems to block the sampling signal, see masks.c. */
static int is_held(const struct sampler_thread *thread)
{
	return thread && sampler_is_held(thread);
}

/*
 * Returns the calling thread's entry, as preload_thread() does, but without writing to a page of
 * libc in a fork child.
 */
static const struct sampler_thread *thread_before_exec(void)
{
	return sampler_is_this_process() ? sampler_thread_self() : preload_thread();
}

/* State that must be restored if the exec fails. */
struct exec_state {
	struct preload_handover handover;
	int restored; /* RESTORED_* */
};

static void begin_exec(struct exec_state *exec_state)
{
	int is_thread_held;

	exec_state->restored = 0;
	if (exec_state->handover.is_unseen) {
		sampler_leave_unaccounted(WIRE_SLOT_EXEC);
		return;
	}
	preload_leave(WIRE_SLOT_EXEC);
	/*
	 * If the program blocks the sampling signal, end the perf events that send it. Otherwise a
	 * signal that is pending would be delivered to the next image and might kill it.
	 */
	is_thread_held = is_held(thread_before_exec());
	if (is_thread_held)
		events_end();
	exec_state->restored = restore_signal(is_thread_held);
}

/* Undo begin_exec() after an exec that failed. Returns @result, with errno unchanged. */
static int undo_exec(const struct exec_state *exec_state, int result)
{
	int saved_errno = errno;

	if (exec_state->restored)
		reinstall_signal(exec_state->restored);
	sampler_undo_leave();
	events_undo_end();
	preload_restore(&exec_state->handover);
	errno = saved_errno;
	return result;
}

/*
 * A macro, because alloca() must allocate in the interposer's frame: a vfork child must not use
 * malloc().
 */
#define HAND_OVER(handover, directory, file, envp)          \
	preload_hand_over(handover, envp, directory, file); \
	envp = preload_environment(                         \
		handover, (handover)->bytes ? __builtin_alloca((handover)->bytes) : NULL)

#define BEGIN_EXEC(directory, file, envp)                       \
	struct exec_state exec_state;                           \
	HAND_OVER(&exec_state.handover, directory, file, envp); \
	begin_exec(&exec_state)

static AT_START execve_fn *next_execve;
static AT_START exit_fn *next_exit;

static void resolve_execve(void)
{
	if (!next_execve)
		next_execve = (execve_fn *)preload_next("execve");
}

static void resolve_exit(void)
{
	if (!next_exit)
		next_exit = (exit_fn *)preload_next("_exit");
}

void preload_resolve_leave(void)
{
	resolve_execve();
	resolve_exit();
}

PRELOAD_EXPORT int execve(const char *path, char *const argv[], char *const *envp)
{
	resolve_execve();
	BEGIN_EXEC(AT_FDCWD, path, envp);
	return undo_exec(&exec_state, next_execve(path, argv, envp));
}

PRELOAD_EXPORT int execvpe(const char *file, char *const argv[], char *const *envp)
{
	static execvpe_fn *next;

	if (!next)
		next = (execvpe_fn *)preload_next("execvpe");
	BEGIN_EXEC(PRELOAD_ALONG_PATH, file, envp);
	return undo_exec(&exec_state, next(file, argv, envp));
}

PRELOAD_EXPORT int fexecve(int fd, char *const argv[], char *const *envp)
{
	static fexecve_fn *next;

	if (!next)
		next = (fexecve_fn *)preload_next("fexecve");
	BEGIN_EXEC(fd, "", envp);
	return undo_exec(&exec_state, next(fd, argv, envp));
}

PRELOAD_EXPORT int execveat(
	int fd, const char *path, char *const argv[], char *const *envp, int flags)
{
	static execveat_fn *next;

	if (!next)
		next = (execveat_fn *)preload_next("execveat");
	BEGIN_EXEC(fd, path, envp);
	return undo_exec(&exec_state, next(fd, path, argv, envp, flags));
}

PRELOAD_EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

PRELOAD_EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* Count the arguments of a variadic exec function, without the NULL. */
static size_t count_arguments(va_list list)
{
	size_t n = 1;

	while (va_arg(list, char *))
		n++;
	return n;
}

/* Copy the arguments onto the stack, as libc does, because a vfork child must not allocate. */
#define GATHER_ARGUMENTS(first, argv)                                \
	va_list list;                                                \
	va_start(list, first);                                       \
	size_t count = count_arguments(list);                        \
	va_end(list);                                                \
	char **argv = __builtin_alloca((count + 1) * sizeof(*argv)); \
	va_start(list, first);                                       \
	argv[0] = (char *)(uintptr_t)first;                          \
	for (size_t i = 1; i <= count; i++)                          \
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

/*
 * Body of the interposers of posix_spawn*(). libc makes the child, and waits until the child has
 * exec'd; after an error there is no child. The child inherits the kernel's signal state, so set
 * that state to the program's during the call.
 */
#define SPAWN(name, directory)                                    \
	static spawn_fn *next;                                    \
	struct preload_handover handover;                         \
	int restored, error;                                      \
	if (!next)                                                \
		next = (spawn_fn *)preload_next(name);            \
	HAND_OVER(&handover, directory, file, envp);              \
	restored = restore_signal(is_held(preload_thread()));     \
	error = next(pid, file, actions, attributes, argv, envp); \
	if (restored)                                             \
		reinstall_signal(restored);                       \
	if (error)                                                \
		preload_restore(&handover);                       \
	return error

PRELOAD_EXPORT int posix_spawn(pid_t *pid, const char *file,
	const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
	char *const *argv, char *const *envp)
{
	SPAWN("posix_spawn", AT_FDCWD);
}

PRELOAD_EXPORT int posix_spawnp(pid_t *pid, const char *file,
	const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
	char *const *argv, char *const *envp)
{
	SPAWN("posix_spawnp", PRELOAD_ALONG_PATH);
}

/*
 * If the program ignores the sampling signal, restore_signal() makes the kernel ignore it for all
 * threads. So no thread is sampled until system() returns, and the CPU time appears as unsampled.
 */
PRELOAD_EXPORT int system(const char *command)
{
	static system_fn *next;
	int restored, status;

	if (!next)
		next = (system_fn *)preload_next("system");
	restored = restore_signal(is_held(preload_thread()));
	status = next(command);
	if (restored)
		reinstall_signal(restored);
	return status;
}

PRELOAD_EXPORT FILE *popen(const char *command, const char *mode)
{
	static popen_fn *next;
	int restored;
	FILE *stream;

	if (!next)
		next = (popen_fn *)preload_next("popen");
	restored = restore_signal(is_held(preload_thread()));
	stream = next(command, mode);
	if (restored)
		reinstall_signal(restored);
	return stream;
}

PRELOAD_EXPORT void _exit(int status)
{
	resolve_exit();
	preload_leave(WIRE_SLOT_EXIT);
	next_exit(status);
	__builtin_unreachable();
}

PRELOAD_EXPORT void _Exit(int status)
{
	_exit(status);
}
