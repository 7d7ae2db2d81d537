/* SPDX-License-Identifier: MIT */
/*
 * Search for a program as execvp() does, without executing it (source: exec(3), glibc's
 * posix/execvpe.c). If a command cannot be run, guess what the user meant.
 * tests/e2e/test_first_day.py has typical mistakes of beginners.
 */
#include "cli/run/preflight.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/explain.h"
#include "cli/run/admission.h"

/* The kernel reads this many bytes (BINPRM_BUF_SIZE) to recognise a file. */
#define FIRST_BYTES 256

struct executable {
	/* descriptor of the folder to which names are relative */
	int directory;
	/* finally the ELF file that the kernel runs, or the file that caused the error */
	char file[PATH_MAX];
	char first[FIRST_BYTES + 1]; /* the file's first bytes */
};

#define INTERPRETERS_MAX 5

/*
 * Read the first bytes of executable->file, which must be executable. Returns the number of bytes,
 * or -errno as execve() would, or -EBADF if the file is executable but not readable.
 */
static int read_first(struct executable *executable)
{
	/* If the ids are equal, use plain access(), because some sandboxes refuse faccessat2(). */
	int how = getuid() == geteuid() && getgid() == getegid() ? 0 : AT_EACCESS;
	struct stat status;
	ssize_t bytes;
	int descriptor;

	if (fstatat(executable->directory, executable->file, &status, 0))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return -EACCES;
	if (faccessat(executable->directory, executable->file, X_OK, how))
		return -errno;
	descriptor = openat(executable->directory, executable->file, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return errno == EACCES ? -EBADF : -errno;
	bytes = read(descriptor, executable->first, FIRST_BYTES);
	close(descriptor);
	if (bytes < 0)
		return -EIO;
	memset(executable->first + bytes, 0, sizeof(executable->first) - (size_t)bytes);
	return (int)bytes;
}

/* Set executable->file to the interpreter after "#!". Returns 0 or -ENOEXEC. */
static int read_interpreter(struct executable *executable)
{
	char *line = executable->first + 2;
	char *name = line + strspn(line, " \t");
	size_t name_bytes = strcspn(name, " \t\n");

	/* Refuse a name that ends at the end of the kernel's buffer, which may have cut it. */
	if (!name_bytes || name + name_bytes == executable->first + FIRST_BYTES)
		return -ENOEXEC;
	memcpy(executable->file, name, name_bytes);
	executable->file[name_bytes] = '\0';
	return 0;
}

/*
 * Set @executable to the file that the kernel finally runs for @file, which is relative to
 * @directory: follow "#!" lines. Returns 0 for an ELF file and for a file that is executable but
 * not readable; -ENOEXEC if the kernel cannot run the file; otherwise -errno as execve() would
 * (-EISDIR for a folder).
 */
static int follow_interpreters(struct executable *executable, int directory, const char *file)
{
	executable->directory = directory;
	if (strlen(file) >= sizeof(executable->file))
		return -ENAMETOOLONG;
	strcpy(executable->file, file);
	for (int depth = 0; depth <= INTERPRETERS_MAX; depth++) {
		int bytes = read_first(executable);
		int error;

		if (bytes < 0)
			return bytes == -EBADF ? 0 : bytes;
		if (bytes >= 4 && !memcmp(executable->first, "\177ELF", 4))
			return 0;
		if (bytes < 2 || memcmp(executable->first, "#!", 2))
			return -ENOEXEC;
		error = read_interpreter(executable);
		if (error)
			return error;
	}
	return -ELOOP;
}

#define STATUS_CANNOT_RUN 126
#define STATUS_NOT_FOUND  127

int preflight_status(int error)
{
	switch (error) {
	case -ENOTSUP:
	case -ENOMEM:
		return COMMAND_FAILED;
	case -ENOENT:
		return STATUS_NOT_FOUND;
	default:
		return STATUS_CANNOT_RUN;
	}
}

/* Try @file as execvp() would: follow its interpreters, or let the shell run it if it is text. */
static int try_file(
	struct executable *executable, struct preflight *out, int directory, const char *file)
{
	int error = follow_interpreters(executable, directory, file);

	out->by_shell = error == -ENOEXEC;
	if (out->by_shell)
		error = follow_interpreters(executable, directory, PREFLIGHT_SHELL);
	strcpy(out->path, file);
	return error;
}

/* Is this an error after which execvp() tries the next folder of PATH? */
static bool search_goes_on(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EISDIR ||
	       error == -ESTALE || error == -ENODEV || error == -ETIMEDOUT;
}

static int search_path(struct executable *executable, struct preflight *out,
	const struct preflight_request *request)
{
	char standard[256] = "/bin:/usr/bin";
	const char *at = request->path;
	int denied = 0;

	if (!at) {
		confstr(_CS_PATH, standard, sizeof(standard));
		at = standard;
	}
	for (;; at++) {
		size_t bytes = strcspn(at, ":");
		char file[PATH_MAX];
		int error = -ENOENT;

		if (bytes + 1 + strlen(request->program) < sizeof(file)) {
			snprintf(file, sizeof(file), "%.*s%s%s", (int)bytes, at, bytes ? "/" : "",
				request->program);
			error = try_file(executable, out, request->directory, file);
		}
		if (!search_goes_on(error))
			return error;
		if (error == -EACCES || error == -EISDIR)
			denied = error;
		at += bytes;
		if (!*at)
			return denied ? denied : -ENOENT;
	}
}

static int find_program(struct executable *executable, struct preflight *out,
	const struct preflight_request *request)
{
	if (!request->program[0])
		return -ENOENT;
	if (strlen(request->program) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (strchr(request->program, '/'))
		return try_file(executable, out, request->directory, request->program);
	return search_path(executable, out, request);
}

static int check_admission(
	const struct executable *executable, struct preflight *out, struct diag_message *message)
{
	int descriptor = openat(executable->directory, executable->file, O_RDONLY | O_CLOEXEC);
	struct diag_message reason = {0};
	struct privilege_self self;
	enum admission_way way;
	int error;

	if (descriptor < 0)
		/* the file is executable but not readable, so it cannot be checked */
		return 0;
	privilege_read_self(&self);
	error = admission_check(descriptor, executable->file, &self, &way, &reason);
	close(descriptor);
	if (error == -ENOTSUP && way == ADMISSION_OUTSIDE) {
		out->by_tracer = true;
		strcpy(out->why, reason.text);
		return 0;
	}
	if (error && message)
		*message = reason;
	return error;
}

/* ---- guesses of what was meant --------------------------------------------------------------- */

/* Limit of names in folders of PATH that are compared, because a folder may be on a network. */
#define NAMES_MAX 50000

/* Bytes. Do not guess for a shorter word: it is more likely an alias ("ll" does not mean "llc"). */
#define GUESSABLE_BYTES 3

/* Words that only a shell can execute: POSIX.1-2017, XCU 1.6 and 2.14. */
static const char *const shell_words[] = {".", ":", "alias", "bg", "case", "cd", "eval", "exec",
	"exit", "export", "fg", "for", "function", "if", "jobs", "read", "set", "shopt", "source",
	"trap", "type", "ulimit", "umask", "unset", "until", "wait", "while"};

/* Interpreters for source files without "#!", by the suffix of the file's name. */
static const struct {
	const char *suffix, *interpreter;
} interpreters[] = {
	{".bash", "bash"},
	{".cjs", "node"},
	{".jar", "java -jar"},
	{".js", "node"},
	{".lua", "lua"},
	{".mjs", "node"},
	{".php", "php"},
	{".pl", "perl"},
	{".py", "python3"},
	{".rb", "ruby"},
	{".sh", "sh"},
};

static const char *interpreter_of(const char *program)
{
	const char *suffix = strrchr(program, '.');

	for (size_t i = 0; suffix && i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		if (!strcmp(suffix, interpreters[i].suffix))
			return interpreters[i].interpreter;
	return NULL;
}

/* Could the kernel run @file if it were executable? */
static bool is_program(int directory, const char *file)
{
	int descriptor = openat(directory, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char start[4];
	ssize_t bytes;

	if (descriptor < 0)
		return false;
	bytes = read(descriptor, start, sizeof(start));
	close(descriptor);
	return (bytes > 2 && !memcmp(start, "#!", 2)) ||
	       (bytes == sizeof(start) && !memcmp(start, "\177ELF", sizeof(start)));
}

/* Add the hint of @cause to @message. Returns true, because the error is then explained. */
static bool advise(
	struct diag_message *message, enum explanation cause, const char *word, const char *other)
{
	explain(message, 0, cause, FACTS(.name = word, .other = other));
	return true;
}

/*
 * If the command names a file, add a hint to @message. Returns true if a hint explains the error.
 */
static bool advise_file(const struct preflight_request *request, struct diag_message *message)
{
	const char *program = request->program;
	const char *here = strchr(program, '/') ? "" : "./";
	const char *interpreter = interpreter_of(program);
	struct stat status;

	if (fstatat(request->directory, program, &status, 0) || !S_ISREG(status.st_mode))
		return false;
	/* An executable file whose name has a slash fails for a reason that no hint explains. */
	if (status.st_mode & 0111)
		return !here[0] || advise(message, EXPLAIN_NOT_IN_PATH, program, NULL);
	if (is_program(request->directory, program))
		return advise(message, EXPLAIN_NOT_EXECUTABLE, program, here);
	if (interpreter)
		return advise(message, EXPLAIN_SOURCE_FILE, program, interpreter);
	return advise(message, EXPLAIN_NO_PROGRAM, program, NULL);
}

static bool is_assignment(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	while (isalnum((unsigned char)*word) || *word == '_')
		word++;
	return *word == '=';
}

static bool is_shell_word(const char *word)
{
	for (size_t i = 0; i < sizeof(shell_words) / sizeof(shell_words[0]); i++)
		if (!strcmp(word, shell_words[i]))
			return true;
	return false;
}

/* Add a hint to @message if the word alone shows what the user meant. Returns true if it does. */
static bool advise_word(const char *word, struct diag_message *message)
{
	if (word[0] == '-')
		return advise(message, EXPLAIN_OPTION, word, NULL);
	if (is_assignment(word))
		return advise(message, EXPLAIN_ASSIGNMENT, word, NULL);
	if (is_shell_word(word))
		return advise(message, EXPLAIN_SHELL_WORD, word, NULL);
	if (!strcmp(word, "help") || !strcmp(word, "version"))
		return advise(message, EXPLAIN_OPTION_WORD, word, NULL);
	if (!strcmp(word, "record"))
		return advise(message, EXPLAIN_RECORD, word, NULL);
	return strpbrk(word, " |;<>&") && advise(message, EXPLAIN_COMMAND_LINE, word, NULL);
}

static void offer_folder(
	struct nearest *nearest, char best[NAME_MAX + 1], const char *path, unsigned *left)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && *left && (entry = readdir(folder))) {
		const char *before = nearest->best;
		unsigned distance = nearest->distance;

		--*left;
		nearest_offer(nearest, entry->d_name);
		if (!nearest->best || (before && nearest->distance == distance))
			continue;
		if (faccessat(dirfd(folder), entry->d_name, X_OK, 0)) {
			nearest->best = before;
			nearest->distance = distance;
			continue;
		}
		strcpy(best, entry->d_name);
		nearest->best = best;
	}
	if (folder)
		closedir(folder);
}

static bool advise_nearest(const struct preflight_request *request, struct diag_message *message)
{
	char folder[PATH_MAX], best[NAME_MAX + 1];
	struct nearest nearest;
	unsigned left = NAMES_MAX;

	nearest_begin(&nearest, request->program, strlen(request->program));
	nearest_offer(&nearest, "render");
	for (const char *at = request->path; at && *at; at += *at == ':') {
		size_t bytes = strcspn(at, ":");

		/* Skip relative folders, because their commands depend on the working directory. */
		if (at[0] == '/' && bytes < sizeof(folder)) {
			memcpy(folder, at, bytes);
			folder[bytes] = '\0';
			offer_folder(&nearest, best, folder, &left);
		}
		at += bytes;
	}
	return nearest.best && advise(message, EXPLAIN_MISTYPED, request->program, nearest.best);
}

/*
 * Set the hint of @message to a command that would have worked, or leave it if there is no guess.
 * The program's name may be mistyped, or meant for a shell, env or an interpreter. The most certain
 * guess comes first. @error is the reason why the program cannot be run. Reads folders of PATH.
 */
static void add_advice(
	const struct preflight_request *request, int error, struct diag_message *message)
{
	const char *word = request->program;
	const char *variable = getenv("SHELL");
	const char *shell = variable ? strrchr(variable, '/') : NULL;

	if (!word[0] || (error != -ENOENT && error != -EACCES))
		return;
	if (advise_file(request, message) || error != -ENOENT || advise_word(word, message))
		return;
	if (strchr(word, '/') ||
		(strlen(word) >= GUESSABLE_BYTES && advise_nearest(request, message)))
		return;
	/*
	 * Suggest -i, with which a shell reads aliases, only for bash and zsh. Other shells do not
	 * read aliases for a single command.
	 */
	if (shell && (!strcmp(shell, "/bash") || !strcmp(shell, "/zsh")))
		advise(message, EXPLAIN_ALIAS, word, shell + 1);
	else
		advise(message, EXPLAIN_UNKNOWN_WORD, word, NULL);
}

/* ---- preflight ------------------------------------------------------------------------------- */

/* Fill @message for a program that cannot be executed. If its interpreter is the cause, say so. */
static int explain_error(int error, const struct executable *executable,
	const struct preflight *out, const struct preflight_request *request,
	struct diag_message *message)
{
	if (executable->file[0] && out->path[0] && strcmp(executable->file, out->path)) {
		explain(message, error, EXPLAIN_NO_INTERPRETER,
			FACTS(.name = request->program, .other = executable->file,
				.why = strerror(-error)));
		if (error == -ENOENT && strchr(executable->file, '\r'))
			explain(message, error, EXPLAIN_WINDOWS_TEXT, FACTS(.other = out->path));
		return error;
	}
	diag_fail(message, error, "cannot run '%s': %s", request->program, strerror(-error));
	add_advice(request, error, message);
	return error;
}

int preflight(struct preflight *out, const struct preflight_request *request,
	struct diag_message *message)
{
	struct preflight *found = calloc(1, sizeof(*found));
	struct executable *executable = calloc(1, sizeof(*executable));
	int error;

	if (!found || !executable) {
		error = diag_fail(message, -ENOMEM, "out of memory");
		goto out;
	}
	error = find_program(executable, found, request);
	if (error) {
		explain_error(error, executable, found, request, message);
		goto out;
	}
	error = check_admission(executable, found, message);
	if (!error)
		*out = *found;
out:
	free(executable);
	free(found);
	return error;
}
