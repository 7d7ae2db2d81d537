/* SPDX-License-Identifier: MIT */
/*
 * Guesses about a command that cannot be run, most certain first. A message ends in something to
 * type: what a beginner gets wrong is known in kinds, a word meant for the shell, for env or an
 * interpreter, another profiler's option (command_line.c), a mistyped name.
 * tests/e2e/test_first_day.py types the mistakes.
 */
#include "cli/run/advice.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/explain.h"
#include "cli/formats/format.h"

/* A folder of the path may be a network's: no more than this many names are compared in all. */
#define NAMES_MAX 50000

/* Of so many letters a word is rather mistyped than somebody's alias: ll is not llc. */
#define GUESSABLE_BYTES 3

/* Words that only a shell knows: POSIX.1-2017, XCU 1.6 and 2.14. */
static const char *const shell_words[] = {".", ":", "alias", "bg", "case", "cd", "eval", "exec",
	"exit", "export", "fg", "for", "function", "if", "jobs", "read", "set", "shopt", "source",
	"trap", "type", "ulimit", "umask", "unset", "until", "wait", "while"};

/* How a source file is run that does not say it itself. */
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

/* Would the kernel know what to do with the file, if it were executable? */
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

/* Add the hint of @cause to @message. Returns true: the error is explained. */
static bool advise(
	struct diag_message *message, enum explanation cause, const char *word, const char *other)
{
	explain(message, 0, cause, FACTS(.name = word, .other = other));
	return true;
}

/* Add a hint if the word names a file. Returns whether that explains the error. */
static bool advise_file(const struct advice_request *request, struct diag_message *message)
{
	const char *program = request->program;
	const char *here = strchr(program, '/') ? "" : "./";
	const char *interpreter = interpreter_of(program);
	struct stat status;

	if (fstatat(request->directory, program, &status, 0) || !S_ISREG(status.st_mode))
		return false;
	/* With a folder in its name, an executable file fails for another reason than its mode. */
	if (status.st_mode & 0111)
		return !here[0] || advise(message, EXPLAIN_NOT_IN_PATH, program, NULL);
	if (is_program(request->directory, program))
		return advise(message, EXPLAIN_NOT_EXECUTABLE, program, here);
	if (interpreter)
		return advise(message, EXPLAIN_SOURCE_FILE, program, interpreter);
	return advise(message, EXPLAIN_NO_PROGRAM, program, NULL);
}

/* A name as variables have it, then '='. */
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

/* Add a hint if the word alone shows what was meant. Returns whether it does. */
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
		/* A name that cannot be run is no help. */
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

static bool advise_nearest(const struct advice_request *request, struct diag_message *message)
{
	char folder[PATH_MAX], best[NAME_MAX + 1];
	struct nearest nearest;
	unsigned left = NAMES_MAX;

	nearest_begin(&nearest, request->program, strlen(request->program));
	nearest_offer(&nearest, "render");
	for (const char *at = request->path; at && *at; at += *at == ':') {
		size_t bytes = strcspn(at, ":");

		/* Folders that depend on where one stands are not for suggestions. */
		if (at[0] == '/' && bytes < sizeof(folder)) {
			memcpy(folder, at, bytes);
			folder[bytes] = '\0';
			offer_folder(&nearest, best, folder, &left);
		}
		at += bytes;
	}
	return nearest.best && advise(message, EXPLAIN_MISTYPED, request->program, nearest.best);
}

void advice_give(const struct advice_request *request, int error, struct diag_message *message)
{
	const char *word = request->program;
	const char *shell = request->shell ? strrchr(request->shell, '/') : NULL;

	if (!word[0] || (error != -ENOENT && error != -EACCES))
		return;
	if (advise_file(request, message) || error != -ENOENT || advise_word(word, message))
		return;
	if (strchr(word, '/') ||
		(strlen(word) >= GUESSABLE_BYTES && advise_nearest(request, message)))
		return;
	/* Other shells than these do not read aliases with -i for a single command. */
	if (shell && (!strcmp(shell, "/bash") || !strcmp(shell, "/zsh")))
		advise(message, EXPLAIN_ALIAS, word, shell + 1);
	else
		advise(message, EXPLAIN_UNKNOWN_WORD, word, NULL);
}

/* What @argument, with @next behind it, gives to -o; NULL: it does not. */
static const char *output_of(const char *argument, const char *next)
{
	if (!strcmp(argument, "-o") || !strcmp(argument, "--output"))
		return next;
	if (!strncmp(argument, "--output=", strlen("--output=")))
		return argument + strlen("--output=");
	return !strncmp(argument, "-o", 2) ? argument + 2 : NULL;
}

void advise_outputs(char *const *argv)
{
	for (char *const *at = argv + 1; *at; at++) {
		const char *path = output_of(*at, at[1]);

		if (!path || !format_by_ending(path) || !access(path, F_OK))
			continue;
		diag_info(
			"hint: '-o %s' went to '%s': options for flamerun stand before the program",
			path, argv[0]);
		return;
	}
}
