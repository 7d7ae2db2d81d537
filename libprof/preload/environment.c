/* SPDX-License-Identifier: MIT */
/*
 * Change the environment that a program passes to an exec, so that the new process image has this
 * library.
 *
 * A script that replaces LD_PRELOAD wants to add another library, not to remove this one. So this
 * library is added again, always behind the others. It is removed if ld.so would print a message
 * about it or could not load it, or if the program would not start with it, as with musl's loader
 * and AddressSanitizer. To find that out, the program's file is read before the exec, which takes
 * 2.4 us. An environment with neither LD_PRELOAD nor WIRE_ENV was cleared on purpose and stays as
 * it is. Images that start without the library are counted by cause, so that the summary can name
 * the cause.
 *
 * This code may run in a handler or a vfork child, so memory comes from the caller's stack, and
 * files are read by system calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/preload/elf_program.h"
#include "libprof/preload/preload.h"
#include "libprof/sampler/confined.h"
#include "libprof/unwind/memory.h"

#define PRELOAD_VARIABLE "LD_PRELOAD="
#define PRELOAD_PREFIX	 (sizeof(PRELOAD_VARIABLE) - 1)
#define CHANNEL_VARIABLE WIRE_ENV "="
#define CHANNEL_BYTES	 96 /* for "WIRE_ENV=value" */

/*
 * Limit of a changed environment, because stacks may be small. An environment of more than some 900
 * variables is not changed.
 */
#define ROOM_BYTES 8192

/* Bytes that the kernel reads to recognise a file: BINPRM_BUF_SIZE. */
#define FIRST_BYTES	 256
#define INTERPRETERS_MAX 5
#define SHELL		 "/bin/sh" /* runs files without "#!", see execvp(3) */

/* "WIRE_ENV=value" as this process got it; "" if flamerun does not profile the process. */
static AT_START char channel[CHANNEL_BYTES];

/* Copy @bytes of @text to @out. Returns the end of the copy. */
static char *append_bytes(char *out, const char *text, size_t bytes)
{
	memcpy(out, text, bytes);
	return out + bytes;
}

void preload_store_channel(const char *value)
{
	size_t bytes = strlen(value) + 1;

	if (bytes > sizeof(channel) - strlen(CHANNEL_VARIABLE))
		return;
	append_bytes(
		append_bytes(channel, CHANNEL_VARIABLE, strlen(CHANNEL_VARIABLE)), value, bytes);
}

/*
 * Returns the WIRE_ENV variable for the next image. Returns NULL if flamerun does not profile this
 * process, or has ended.
 */
static const char *channel_of_run(void)
{
	const struct wire_arena *arena = sampler.arena;

	return channel[0] && !(arena && arena->closing) ? channel : NULL;
}

const char *preload_library_path(void)
{
	/* Atomic; all threads store the same value. */
	static AT_START const char *known;
	const char *path = __atomic_load_n(&known, __ATOMIC_RELAXED);
	const struct link_map *map = NULL;
	struct unwind_module module;

	if (path)
		return path;
	if (unwind_find_object((uintptr_t)preload_library_path, &module, &map) || !map)
		return NULL;
	__atomic_store_n(&known, map->l_name, __ATOMIC_RELAXED);
	return map->l_name;
}

/* Find the last definition of variable @name, because ld.so reads the last one. */
static char *find_variable(char *const *environment, const char *name)
{
	char *found = NULL;

	for (; environment && *environment; environment++)
		if (!strncmp(*environment, name, strlen(name)))
			found = *environment;
	return found;
}

static int is_separator(char c)
{
	return c == ' ' || c == ':';
}

/* Returns the next entry of LD_PRELOAD's value at *@at and moves *@at after it; NULL at the end. */
static const char *next_entry(const char **at, size_t *bytes)
{
	const char *entry = *at;

	while (is_separator(*entry))
		entry++;
	for (*at = entry; **at && !is_separator(**at);)
		++*at;
	*bytes = (size_t)(*at - entry);
	return *bytes ? entry : NULL;
}

static int is_library(const char *entry, size_t bytes, const char *library)
{
	return strlen(library) == bytes && !memcmp(entry, library, bytes);
}

static int lists_library(const char *variable, const char *library)
{
	const char *at = variable ? variable + PRELOAD_PREFIX : "", *entry;
	size_t bytes;

	while ((entry = next_entry(&at, &bytes)))
		if (is_library(entry, bytes, library))
			return 1;
	return 0;
}

static int lists_library_last(const char *variable, const char *library)
{
	const char *at = variable ? variable + PRELOAD_PREFIX : "", *entry;
	size_t bytes;
	int is_last = 0;

	while ((entry = next_entry(&at, &bytes)))
		is_last = is_library(entry, bytes, library);
	return is_last;
}

/* ---- the decision ---------------------------------------------------------------------------- */

/*
 * Returns 1 if the library would end the program or make ld.so print a message. @found is the
 * result of preload_find_obstacle().
 */
static int is_harmful(int found)
{
	return found > 0 && found != WIRE_UNPROFILED_STATIC && found != WIRE_UNPROFILED_NO_LIBC &&
	       found != WIRE_UNPROFILED_PRIVILEGED;
}

static size_t bytes_for(const struct preload_handover *handover)
{
	size_t slots = 3, bytes = PRELOAD_PREFIX + 1;

	for (char *const *at = handover->given; at && *at; at++)
		slots++;
	if (handover->variable)
		bytes = strlen(handover->variable) + 1;
	return slots * sizeof(char *) + bytes + 1 + strlen(handover->library);
}

void preload_plan_handover(struct preload_handover *handover, char *const *environment,
	const char *library, const char *run, int found)
{
	char *variable = find_variable(environment, PRELOAD_VARIABLE);
	const char *given_channel = find_variable(environment, CHANNEL_VARIABLE);
	int is_there = lists_library(variable, library);
	int is_behind = lists_library_last(variable, library);

	*handover = (struct preload_handover){
		.given = environment, .variable = variable, .library = library};
	handover->is_dropped = is_there && (is_harmful(found) || !is_behind);
	handover->is_added = is_there && !is_harmful(found) && !is_behind;
	if (run && given_channel && strncmp(given_channel, run, CHANNEL_BYTES))
		run = NULL; /* belongs to another flamerun */
	if (found > 0)
		handover->cause = (enum wire_unprofiled)found;
	else if (run && !variable && !given_channel)
		handover->cause = WIRE_UNPROFILED_CLEARED;
	else if (run && !is_there && found < 0) /* it could do harm */
		handover->cause = WIRE_UNPROFILED_REPLACED;
	else if (run) {
		handover->is_added |= !is_there;
		handover->channel = given_channel ? NULL : run;
	}
	if (!handover->is_dropped && !handover->is_added && !handover->channel)
		return;
	handover->bytes = bytes_for(handover);
	if (handover->bytes <= ROOM_BYTES)
		return;
	handover->bytes = 0;
	if (!handover->cause)
		handover->cause = WIRE_UNPROFILED_REPLACED;
}

/* Write LD_PRELOAD without the library to @out. Returns the length in bytes, without the NUL. */
static size_t drop_library(char *out, const struct preload_handover *handover)
{
	const char *at = handover->variable + PRELOAD_PREFIX, *entry;
	char *end = append_bytes(out, PRELOAD_VARIABLE, PRELOAD_PREFIX);
	size_t bytes;

	while ((entry = next_entry(&at, &bytes))) {
		if (is_library(entry, bytes, handover->library))
			continue;
		if (end > out + PRELOAD_PREFIX)
			*end++ = ':';
		end = append_bytes(end, entry, bytes);
	}
	*end = '\0';
	return (size_t)(end - out);
}

/*
 * Write LD_PRELOAD with the library as the last entry, because an allocator has to stay first, and
 * so has AddressSanitizer's runtime, which would otherwise end the program.
 */
static void add_library(char *out, const struct preload_handover *handover)
{
	const char *old = handover->variable ? handover->variable : PRELOAD_VARIABLE;
	size_t bytes = strlen(old);

	if (handover->is_dropped)
		bytes = drop_library(out, handover);
	else
		append_bytes(out, old, bytes);
	out += bytes;
	if (bytes > PRELOAD_PREFIX)
		*out++ = ':';
	append_bytes(out, handover->library, strlen(handover->library) + 1);
}

char *const *preload_environment(const struct preload_handover *handover, void *room)
{
	char **out = room;
	char *text;

	if (!room)
		return handover->given;
	text = (char *)room + handover->bytes;
	if (handover->is_added) {
		text -= (handover->variable ? strlen(handover->variable) : PRELOAD_PREFIX) +
			strlen(handover->library) + 2;
		add_library(text, handover);
	} else if (handover->is_dropped) {
		text -= strlen(handover->variable) + 1;
		if (drop_library(text, handover) == PRELOAD_PREFIX)
			text = NULL;
	} else {
		text = handover->variable;
	}
	for (char *const *at = handover->given; at && *at; at++) {
		if (*at != handover->variable)
			*out++ = *at;
		else if (text)
			*out++ = text;
	}
	if (handover->is_added && !handover->variable)
		*out++ = text;
	if (handover->channel)
		*out++ = (char *)(uintptr_t)handover->channel;
	*out = NULL;
	return room;
}

/* ---- the file that will run ------------------------------------------------------------------ */

/*
 * Returns 1 if the kernel would change the user or group for the program. ld.so then ignores
 * LD_PRELOAD.
 */
static int changes_ids(int descriptor, const struct stat *status)
{
	/* S_ISGID without S_IXGRP once meant mandatory locking and does not change the group. */
	mode_t group = S_ISGID | S_IXGRP;
	struct statfs mount;

	if (!((status->st_mode & S_ISUID) && (long)status->st_uid != arch_syscall0(SYS_getuid)) &&
		!((status->st_mode & group) == group &&
			(long)status->st_gid != arch_syscall0(SYS_getgid)))
		return 0;
	return arch_syscall6(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0, 0) != 1 &&
	       (arch_syscall2(SYS_fstatfs, descriptor, &mount) || !(mount.f_flags & ST_NOSUID));
}

static int cause_in_program(const struct elf_program *program, char *const *environment)
{
	static const char options[] = "ASAN_OPTIONS=";
	const char *variable, *preload;

	switch (program->kind) {
	case ELF_PROGRAM_STATIC:
		return WIRE_UNPROFILED_STATIC;
	case ELF_PROGRAM_OTHER_LIBC:
		return WIRE_UNPROFILED_OTHER_LIBC;
	case ELF_PROGRAM_NO_LIBC:
		return WIRE_UNPROFILED_NO_LIBC;
	case ELF_PROGRAM_OTHER_CPU:
		return WIRE_UNPROFILED_OTHER_CPU;
	default:
		break;
	}
	if (!program->sanitizer[0])
		return 0;
	variable = find_variable(environment, options);
	preload = find_variable(environment, PRELOAD_VARIABLE);
	return elf_program_allows_any_order(variable ? variable + strlen(options) : NULL) ||
			       elf_program_preloads_sanitizer(
				       preload ? preload + PRELOAD_PREFIX : NULL,
				       preload_library_path())
		       ? 0
		       : WIRE_UNPROFILED_SANITIZED;
}

/*
 * Returns the interpreter named after "#!" in @first, the first @bytes bytes of a file; NULL if the
 * line is invalid. A file without "#!" is a text for the shell.
 */
static const char *interpreter_of(char *first, long bytes)
{
	char *name = first + 2;
	size_t length;

	first[bytes] = '\0';
	if (first[0] != '#' || first[1] != '!')
		return SHELL;
	name += strspn(name, " \t");
	length = strcspn(name, " \t\n");
	if (!length || name + length == first + FIRST_BYTES)
		return NULL;
	name[length] = '\0';
	return name;
}

/*
 * Returns the reason (enum wire_unprofiled) why the library cannot be in the program @file,
 * relative to @directory, or in its interpreter; 0 if it can; -errno if the file cannot be read.
 * Only regular files are opened.
 */
static int find_cause(int directory, const char *file, char *const *environment)
{
	char first[FIRST_BYTES + 1];

	for (int depth = 0; file && depth <= INTERPRETERS_MAX; depth++) {
		struct elf_program program;
		struct stat status;
		long descriptor = arch_syscall4(
			SYS_newfstatat, directory, file, &status, AT_EMPTY_PATH);
		int is_open = 0, answer;
		long bytes;

		if (descriptor < 0 || !S_ISREG(status.st_mode))
			return -EACCES;
		descriptor = arch_syscall4(SYS_openat, directory, file, O_RDONLY | O_CLOEXEC, 0);
		/* For fexecve(), @directory is the program's file. */
		if (descriptor == -ENOENT && directory >= 0) {
			descriptor = directory;
			is_open = 1;
		}
		if (descriptor < 0)
			return (int)descriptor;
		answer = elf_program_read((int)descriptor, &program);
		bytes = answer ? arch_syscall4(SYS_pread64, descriptor, first, FIRST_BYTES, 0) : 0;
		if (!answer)
			answer = cause_in_program(&program, environment);
		if (!answer && changes_ids((int)descriptor, &status))
			answer = WIRE_UNPROFILED_PRIVILEGED;
		if (!is_open)
			arch_syscall1(SYS_close, descriptor);
		if (answer >= 0)
			return answer;
		if (bytes < 0)
			return (int)bytes;
		file = interpreter_of(first, bytes);
		directory = AT_FDCWD;
	}
	return -ENOEXEC;
}

/*
 * Search @file, a name without '/', in each folder of PATH. Returns the result of find_cause() for
 * the first executable file that find_cause() can read, or -errno. execvp() may start another file,
 * because only an exec shows whether a file can be executed.
 */
static int find_cause_along_path(const char *file, char *const *environment)
{
	const char *path = getenv("PATH");
	int answer = -ENOENT;
	char *candidate;

	path = path ? path : "/bin:/usr/bin";
	if (strlen(path) + strlen(file) > PATH_MAX)
		return -ENAMETOOLONG;
	candidate = __builtin_alloca(strlen(path) + strlen(file) + 2);
	for (;; path++) {
		size_t bytes = strcspn(path, ":");

		memcpy(candidate, path, bytes);
		candidate[bytes] = '/';
		memcpy(candidate + bytes + !!bytes, file, strlen(file) + 1);
		if (!arch_syscall3(SYS_faccessat, AT_FDCWD, candidate, X_OK))
			answer = find_cause(AT_FDCWD, candidate, environment);
		path += bytes;
		if (answer >= 0 || !*path)
			return answer;
	}
}

int preload_find_obstacle(char *const *environment, int directory, const char *file)
{
	if (directory != PRELOAD_ALONG_PATH)
		return find_cause(directory, file, environment);
	if (strchr(file, '/'))
		return find_cause(AT_FDCWD, file, environment);
	return find_cause_along_path(file, environment);
}

int preload_is_confined(void)
{
	uint32_t quit = __atomic_load_n(&sampler.quit, __ATOMIC_RELAXED);

	/*
	 * If sampling ended because no timer could be made (WIRE_QUIT_TIMERS), the image is not
	 * confined: it may make system calls, and the next image may get a timer.
	 */
	return (quit && quit != WIRE_QUIT_TIMERS) ||
	       __atomic_load_n(&sampler.filters, __ATOMIC_RELAXED) > sampler.filters_at_start;
}

static uint32_t *counter_of(const struct preload_handover *handover)
{
	struct wire_arena *arena = sampler.arena;

	return handover->is_counted && arena ? &arena->unprofiled[handover->cause] : NULL;
}

void preload_hand_over(struct preload_handover *handover, char *const *environment,
	int directory, const char *file)
{
	const char *library = preload_library_path(), *run = channel_of_run();
	uint32_t *counter;
	int found, is_unseen;

	*handover = (struct preload_handover){.given = environment};
	if (!library ||
		(!run && !lists_library(find_variable(environment, PRELOAD_VARIABLE), library)))
		return;
	/*
	 * If a seccomp filter was installed, do not read the file: one more system call could end
	 * the process, and the next image inherits the filter.
	 */
	is_unseen = !preload_is_confined() && __atomic_load_n(&sampler.on, __ATOMIC_ACQUIRE) &&
		    confined_before_exec();
	if (is_unseen || preload_is_confined())
		found = WIRE_UNPROFILED_CONFINED;
	else
		found = preload_find_obstacle(environment, directory, file);
	if (!is_harmful(found) && arch_syscall3(SYS_faccessat, AT_FDCWD, library, R_OK))
		found = WIRE_UNPROFILED_UNREACHABLE;
	preload_plan_handover(handover, environment, library, run, found);
	handover->is_unseen = is_unseen;
	handover->is_counted = run && handover->cause;
	counter = counter_of(handover);
	if (counter)
		__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

void preload_restore(const struct preload_handover *handover)
{
	uint32_t *counter = counter_of(handover);

	if (counter)
		__atomic_fetch_sub(counter, 1, __ATOMIC_RELAXED);
}
