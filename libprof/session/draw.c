/* SPDX-License-Identifier: MIT */
/*
 * Draw a profile by flamerun: write it to a file, find the flamerun program and run it.
 *
 * The library cannot draw itself, because it adds no symbol reader, demangler or zlib to the
 * program that it is loaded into. It writes pprof with addresses and build-ids. draw.h explains why
 * flamerun is started by a stand-in process.
 */
#include "libprof/session/draw.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "arch/walk_stack.h"
#include "libprof/aggregator/pprof.h"
#include "libprof/flameprof_profile.h"
#include "libprof/profile/profile.h"
#include "libprof/session/session.h"

/* ---- running a program beside the host ------------------------------------------------------- */
/*
 * The stand-in and, until it execs, the program share the host's memory and the thread pointer of
 * the calling thread. So their code makes raw system calls only and touches no thread-local
 * storage, not even errno.
 */

#define STACK_BYTES 32768
#define SIGNALS     64
/* Number of descriptors to close one by one if the kernel cannot close all in one call. */
#define DESCRIPTORS 65536

/*
 * State of one call of detached_run(), in a mapping of its own, so that several threads can each
 * run a program.
 */
struct detached {
	char stand_in_stack[STACK_BYTES] __attribute__((aligned(16)));
	char program_stack[STACK_BYTES] __attribute__((aligned(16)));
	const char *program;
	const char *const *arguments;
	char *const *environment;
	int status; /* result of wait4(); -1: none */
};

static void exit_process(int status)
{
	for (;;)
		arch_syscall1(SYS_exit_group, status);
}

/*
 * Unshare the descriptor table and close everything in it, then open /dev/null as 0, 1 and 2. Do
 * both in one call if the kernel has close_range(), because a copied table would keep the host's
 * pipes open for a moment.
 */
static void drop_descriptors(void)
{
	if (arch_syscall3(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE)) {
		if (arch_syscall1(SYS_unshare, CLONE_FILES))
			exit_process(1);
		for (int i = 0; i < DESCRIPTORS; i++)
			arch_syscall1(SYS_close, i);
	}
	arch_syscall4(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
	arch_syscall1(SYS_dup, 0);
	arch_syscall1(SYS_dup, 0);
}

/*
 * Reset all signals to their default action, because the handlers are in the host, and an ignored
 * SIGCHLD would lose the exit status.
 */
static void reset_signals(void)
{
	/* Zeroes, at least as large as the kernel's struct sigaction. */
	const uint64_t as_default[8] = {0};

	for (int i = 1; i <= SIGNALS; i++)
		arch_syscall4(SYS_rt_sigaction, i, as_default, NULL, sizeof(uint64_t));
}

static void program_main(void *argument)
{
	const struct detached *detached = argument;
	const uint64_t none = 0;

	arch_syscall0(SYS_setsid);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	arch_syscall3(SYS_execve, detached->program, detached->arguments, detached->environment);
	exit_process(127);
}

/* Call wait4() until it is not interrupted. */
static long wait_for(long pid, int *status, int options)
{
	long ended;

	do
		ended = arch_syscall4(SYS_wait4, pid, status, options, NULL);
	while (ended == -EINTR);
	return ended;
}

static void stand_in_main(void *argument)
{
	struct detached *detached = argument;
	long pid, ended;
	int status;

	drop_descriptors();
	reset_signals();
	arch_syscall2(SYS_prctl, PR_SET_NAME, "flameprof");
	/*
	 * CLONE_VFORK makes the stand-in wait for the exec, so that the program's stack is unused
	 * when the stand-in continues.
	 */
	pid = arch_spawn_vm(CLONE_VM | CLONE_VFORK | CLONE_UNTRACED | SIGCHLD,
		detached->program_stack + STACK_BYTES, program_main, detached);
	if (pid < 0)
		exit_process(1);
	ended = wait_for(pid, &status, 0);
	if (ended == pid)
		__atomic_store_n(&detached->status, status, __ATOMIC_RELEASE);
	exit_process(0);
}

/*
 * Start the stand-in. Under valgrind, which ends a program that clones a process with shared
 * memory, start the program as a child of the host with a copy of the memory and SIGCHLD.
 */
static long start_detached(struct detached *detached, int under_valgrind)
{
	const uint64_t all = ~0ULL;
	uint64_t before;
	long pid;

	/* Block all signals, because the host's handlers must not run in the new process. */
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	if (under_valgrind)
		pid = arch_syscall6(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
	else
		pid = arch_spawn_vm(CLONE_VM | CLONE_FILES | CLONE_UNTRACED,
			detached->stand_in_stack + STACK_BYTES, stand_in_main, detached);
	if (!pid) {
		drop_descriptors();
		reset_signals();
		program_main(detached);
	}
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
	return pid;
}

/* Returns a new mapping, or NULL without memory. */
static struct detached *map_detached(void)
{
	long at = arch_syscall6(SYS_mmap, 0, sizeof(struct detached), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (struct detached *)at;
}

int detached_run(const char *program, const char *const *arguments, char *const *environment)
{
	int under_valgrind = arch_ask_valgrind(VALGRIND_IS_RUNNING, 0, 0) != 0, status;
	struct detached *detached = map_detached();
	long pid, ended;

	if (!detached)
		return -ENOMEM;
	detached->program = program;
	detached->arguments = arguments;
	detached->environment = environment;
	detached->status = -1;
	pid = start_detached(detached, under_valgrind);
	status = (int)pid;
	if (pid < 0)
		goto out;
	ended = wait_for(pid, &status, __WALL);
	if (under_valgrind && ended == pid)
		detached->status = status;
	/*
	 * If another wait() of the host has reaped the stand-in, wait_for() failed, but the
	 * stand-in has ended as well.
	 */
	status = __atomic_load_n(&detached->status, __ATOMIC_ACQUIRE) ? -EIO : 0;
out:
	arch_syscall2(SYS_munmap, detached, sizeof(*detached));
	return status;
}

/* ---- where flamerun is ----------------------------------------------------------------------- */
/* Appended to the path of each folder in turn. The first result that is executable is used. */

#define NAME "/flamerun"

/*
 * If file NAME is in the folder named by the first @bytes of @folder, write its path to @out.
 * Returns 0 or -ENOENT.
 */
static int try_folder(char out[PATH_MAX], const char *folder, size_t bytes)
{
	struct stat status;

	if (!bytes || folder[0] != '/' || bytes > PATH_MAX - sizeof(NAME))
		return -ENOENT;
	memcpy(out, folder, bytes);
	memcpy(out + bytes, NAME, sizeof(NAME));
	return !stat(out, &status) && S_ISREG(status.st_mode) && !access(out, X_OK) ? 0 : -ENOENT;
}

static int try_own_folder(char out[PATH_MAX])
{
	const char *slash;
	Dl_info info;

	if (!dladdr((const void *)find_flamerun, &info) || !info.dli_fname)
		return -ENOENT;
	slash = strrchr(info.dli_fname, '/');
	return slash ? try_folder(out, info.dli_fname, (size_t)(slash - info.dli_fname)) : -ENOENT;
}

static int try_path(char out[PATH_MAX])
{
	const char *path = getauxval(AT_SECURE) ? NULL : getenv("PATH");

	while (path && *path) {
		size_t bytes = strcspn(path, ":");

		if (!try_folder(out, path, bytes))
			return 0;
		path += bytes + (path[bytes] == ':');
	}
	return -ENOENT;
}

int find_flamerun(char out[PATH_MAX])
{
	int saved = errno;
	int error = try_own_folder(out);

	if (error)
		error = try_folder(out, FLAMERUN_BINDIR, strlen(FLAMERUN_BINDIR));
	if (error)
		error = try_path(out);
	errno = saved;
	return error;
}

#define LIBRARY	   "libflameprof.so"
#define PRELOAD	   "LD_PRELOAD="
#define SETTINGS   "FLAMERUN_"
#define SEPARATORS " :"

static int begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* Returns 1 if the LD_PRELOAD entry of @bytes at @entry names this library, in any folder. */
static int is_library(const char *entry, size_t bytes)
{
	const char *slash = memrchr(entry, '/', bytes);
	size_t folder_bytes = slash ? (size_t)(slash + 1 - entry) : 0;

	return bytes - folder_bytes >= sizeof(LIBRARY) - 1 &&
	       !memcmp(entry + folder_bytes, LIBRARY, sizeof(LIBRARY) - 1);
}

/* Copy @preload without the entries that name this library. Returns the end of the copy. */
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

/* Copy @path with each '%' doubled, because flamerun expands placeholders in output names. */
static void put_escaped(char *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '%')
			*out++ = '%';
		*out++ = *path;
	}
	*out = '\0';
}

/* Holds flamerun's environment and output name. Pointers and texts follow in the same mapping. */
struct request {
	size_t bytes; /* size of the whole mapping */
	char **environment;
	char *output;
};

/* Returns a new mapping, or NULL without memory. */
static void *map_pages(size_t bytes)
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
	request = map_pages(bytes);
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
	put_escaped(text, path);
	return request;
}

int draw_profile(const char *profile, const char *path, int has_waits)
{
	struct request *request;
	char program[PATH_MAX];
	int error = find_flamerun(program);

	if (error)
		return error;
	request = request_new(path);
	if (!request)
		return -ENOMEM;
	/*
	 * --quiet: no user reads flamerun's messages. --no-config: the picture must not depend on
	 * settings files. --no-debuginfod: the host waits for flamerun, so flamerun must not wait
	 * for a server.
	 */
	const char *const arguments[] = {program, "render", "--no-config", "--quiet",
		"--no-debuginfod", "-o", request->output, has_waits ? "--wall" : "--",
		has_waits ? "--" : profile, has_waits ? profile : NULL, NULL};

	error = detached_run(program, arguments, request->environment);
	arch_syscall2(SYS_munmap, request, request->bytes);
	return error == -EAGAIN ? -EIO : error;
}

/* ---- flameprof_profile_write() --------------------------------------------------------------- */
/* Ending of the format that the library itself writes. flamerun converts it to the others. */

#define ENDING_PB ".pb"

static int ends_with(const char *text, const char *end)
{
	size_t text_bytes = strlen(text), end_bytes = strlen(end);

	return text_bytes > end_bytes && !strcmp(text + text_bytes - end_bytes, end);
}

static int is_drawable(const char *path)
{
	static const char *const endings[] = {".svg", ".png", ".pdf", ".folded", ".pb.gz"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (ends_with(path, endings[i]))
			return 1;
	return 0;
}

int flameprof_profile_write(const struct flameprof_profile *profile, const char *path)
{
	char unnamed[PATH_MAX];
	size_t bytes;
	int error;

	if (!profile || !path)
		return -EINVAL;
	bytes = strlen(path);
	if (ends_with(path, ENDING_PB))
		return profile_write_pb(profile, path);
	if (!is_drawable(path))
		return -EINVAL;
	if (bytes > sizeof(unnamed) - sizeof(ENDING_PB))
		return -ENAMETOOLONG;
	memcpy(unnamed, path, bytes + 1);
	memcpy(unnamed + bytes, ENDING_PB, sizeof(ENDING_PB));
	error = profile_write_pb(profile, unnamed);
	if (!error)
		error = draw_profile(
			unnamed, path, profile->clock == FLAMEPROF_CLOCK_ELAPSED);
	if (!error)
		arch_syscall3(SYS_unlinkat, AT_FDCWD, unnamed, 0);
	return error;
}

/* ---- the picture of a session ---------------------------------------------------------------- */

/*
 * Returns the weight that was dropped since the start or the program's last
 * flameprof_diagnostics().
 */
static uint64_t dropped_weight(void)
{
	uint64_t weight = 0;

	pthread_mutex_lock(&session.counts_lock);
	for (unsigned cause = 0; cause < FLAMEPROF_DROPS; cause++)
		weight += session.counts.dropped[cause].weight;
	pthread_mutex_unlock(&session.counts_lock);
	return weight;
}

int draw_session(const char *path, struct flameprof_scope_report *report)
{
	struct flameprof_profile *profile = NULL;
	struct flameprof_profile_summary info;
	int error = flameprof_stop(&profile, -1);

	if (error)
		return error;
	flameprof_profile_info(profile, &info);
	report->start_wall_s = info.start_wall_s;
	report->elapsed_ns = info.end_ns - info.start_ns;
	report->samples = info.samples;
	report->weight = info.weight;
	report->dropped_weight = profile->dropped_weight = dropped_weight();
	error = flameprof_profile_write(profile, path);
	flameprof_profile_free(profile);
	return error;
}
