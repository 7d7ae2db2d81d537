/* SPDX-License-Identifier: MIT */
/*
 * From a profile to what flamerun makes of it: the profile is written to a file, flamerun is
 * found and run beside the host on that.
 *
 * The library has flamerun draw its pictures, because it is a guest in the program and brings no
 * symbol reader, demangler or zlib along: it writes pprof with addresses and build-ids, and
 * flamerun names and draws. exec makes a child's exit signal SIGCHLD, so the program cannot be the
 * host's child: a stand-in with exit signal 0 on the host's memory, which never execs, starts it
 * and waits. Nothing of the host is copied, and no wait() and no handler of the host's sees it;
 * only a wait for children of any kind (__WALL) does.
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
 * Two processes on the host's memory. They have the thread pointer of the host's thread: raw system
 * calls only, and nothing that looks at thread-local storage, errno included.
 */

#define STACK_BYTES 32768
#define SIGNALS     64
/* Where the kernel cannot close all descriptors in one call. */
#define DESCRIPTORS 65536

/* Mapped for one run, so that several threads may run one each. */
struct detached {
	char stand_in_stack[STACK_BYTES] __attribute__((aligned(16)));
	char program_stack[STACK_BYTES] __attribute__((aligned(16)));
	const char *program;
	const char *const *arguments;
	char *const *environment;
	int status; /* as wait4() has it; -1: it did not get that far */
};

static void exit_process(int status)
{
	for (;;)
		arch_syscall1(SYS_exit_group, status);
}

/*
 * A table of descriptors of our own with nothing in it. In one step where the kernel has it: a
 * copy would hold the host's pipes open for a moment.
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

/* The handlers are a copy of the host's, and an ignored SIGCHLD would lose the program's status. */
static void reset_signals(void)
{
	const uint64_t as_default[8] = {0}; /* at least a kernel's struct sigaction */

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

/* As wait4(), until @pid has ended. */
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
	/* Stopped until the program has left this memory, so that its stack is not ours to keep. */
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
 * Start @detached's program, by the stand-in. Valgrind ends a program that creates a process which
 * shares its memory: under valgrind the program itself is a child of the host, with an exit signal
 * and a copy of the memory.
 */
static long start_detached(struct detached *detached, int under_valgrind)
{
	const uint64_t all = ~0ULL;
	uint64_t before;
	long pid;

	/* Born with all signals blocked: the host's handlers must not run in it. */
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

/* NULL without memory. */
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
	/* When somebody else's wait found it, it has ended as well. */
	status = __atomic_load_n(&detached->status, __ATOMIC_ACQUIRE) ? -EIO : 0;
out:
	arch_syscall2(SYS_munmap, detached, sizeof(*detached));
	return status;
}

/* ---- where flamerun is ----------------------------------------------------------------------- */
/* A handful of places, the first that has an executable file of that name. */

#define NAME "/flamerun"

/* Is NAME in the folder that the first @bytes of @folder name? */
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
static void put_escaped(char *out, const char *path)
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
	 * Nobody reads what it says, and what it makes depends on nobody's settings. The host waits
	 * for it: it waits for no server.
	 */
	const char *const arguments[] = {program, "render", "--no-config", "--quiet",
		"--no-debuginfod", "-o", request->output, has_waits ? "--wall" : "--",
		has_waits ? "--" : profile, has_waits ? profile : NULL, NULL};

	error = detached_run(program, arguments, request->environment);
	arch_syscall2(SYS_munmap, request, request->bytes);
	return error == -EAGAIN ? -EIO : error;
}

/* ---- flameprof_profile_write() --------------------------------------------------------------- */
/* Writing a profile: by the library itself, or by flamerun from what the library wrote. */

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

/* ---- of what a session recorded -------------------------------------------------------------- */

/* Of the profiler that was stopped last, unless the program took its diagnostics meanwhile. */
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
