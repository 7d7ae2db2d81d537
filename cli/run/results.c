/* SPDX-License-Identifier: MIT */
/*
 * Handle the outputs of one command: fill placeholders in their names, write them, save the stacks
 * if an output fails, and open a browser.
 */
#include "cli/run/results.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/diag.h"
#include "cli/formats/format.h"
#include "cli/formats/pprof.h"
#include "cli/run/outputs.h"
#include "cli/run/signals.h"
#include "cli/store/output.h"
#include "libprof/placeholder.h"
#include "render/calltree.h"
#include "render/transform.h"

/* ---- placeholders in names ------------------------------------------------------------------- */

static int refuse_gap(int error, const char *pattern, const char *at, struct diag_message *message)
{
	if (error == -ENAMETOOLONG)
		return diag_fail(message, error, "cannot write '%.64s...': %s", pattern,
			strerror(ENAMETOOLONG));
	if (error == -ENOENT)
		return diag_fail(message, error, "'%.*s' is not set in the environment",
			(int)strcspn(at + 1, "}"), at + 1);
	if (*at == '{')
		return diag_fail(message, error, "'%%{%.64s' names no variable", at + 1);
	diag_fail(message, error, "'%%%.1s' means nothing in the name of an output", at);
	diag_fail_hint(message, "%%p %%h %%t %%r %%{VAR} are filled in, %%%% is a percent sign");
	return error;
}

int pattern_fill(char out[PATH_MAX], const char *pattern, const struct pattern_values *values,
	struct diag_message *message)
{
	const struct placeholder_values placeholders = {
		.pid = values->child, .started_s = values->started_s};
	const char *last = strrchr(pattern, '/');
	const char *pid = placeholder_find_pid(pattern);
	char text[PATH_MAX];
	const char *at;
	int error;

	if (pid && !values->has_child)
		return diag_fail(message, -EINVAL, "there is no program, and no pid for %%p");
	/* The folder is checked before the child's pid is known, so it cannot contain the pid. */
	if (pid && last && pid < last)
		return diag_fail(
			message, -EINVAL, "'%s': %%p can stand in the file's name only", pattern);
	tzset(); /* localtime_r() need not read TZ */
	error = placeholder_fill(text, sizeof(text), pattern, &placeholders, &at);
	if (error)
		return refuse_gap(error, pattern, at, message);
	strcpy(out, text);
	return 0;
}

bool pattern_has_child(const char *pattern)
{
	return placeholder_find_pid(pattern) != NULL;
}

/* ---- outputs --------------------------------------------------------------------------------- */

#define STANDARD_OUTPUT "-"

struct result {
	const char *pattern; /* as given; borrowed */
	char name[PATH_MAX]; /* with placeholders filled */
	const struct format *format; /* NULL: a store's address */
	struct store_push *store;    /* owned; NULL: a file */
	bool is_standard_output;
};

struct results {
	struct outputs *outputs;
	struct pattern_values values;
	const struct options_list *labels; /* labels for stores; borrowed */
	bool is_so_far;
	unsigned count;
	struct result list[];
};

struct result_content {
	const struct calltree *tree;
	const struct picture_options *picture;
	const struct format *format;
};

static int write_result(void *context, FILE *file)
{
	const struct result_content *writing = context;

	return writing->format->write(writing->tree, writing->picture, file);
}

/* Refuse standard output, because the program's output would be mixed into the picture. */
static int refuse_shared(struct diag_message *message)
{
	diag_fail(message, -EINVAL,
		"'-o -' would mix the picture with what the program writes to standard output");
	diag_fail_hint(message,
		"-o /dev/stdout if it writes nothing, else a descriptor of its own: "
		"-o /dev/fd/3 -- ... 3>&1 1>&2");
	return -EINVAL;
}

static int name_result(struct result *result, const struct results *results, const char *format,
	struct diag_message *message)
{
	if (store_address_is(result->pattern)) {
		/*
		 * No file is written for a store, but outputs_open() needs a path for each output.
		 */
		strcpy(result->name, "/dev/null");
		return store_push_new(&result->store, result->pattern, message);
	}
	result->is_standard_output = !strcmp(result->pattern, STANDARD_OUTPUT);
	if (result->is_standard_output && results->values.has_child)
		return refuse_shared(message);
	result->format = format_of(result->pattern, format);
	if (!result->format)
		return format_unknown(result->pattern, message);
	if (result->is_standard_output) {
		strcpy(result->name, "/dev/stdout");
		return 0;
	}
	return pattern_fill(result->name, result->pattern, &results->values, message);
}

int results_open(struct results **out, const struct options *options, bool has_child,
	struct diag_message *message)
{
	const struct options_list *paths = &options->outputs;
	struct results *results =
		calloc(1, sizeof(*results) + paths->count * sizeof(results->list[0]));
	const char *names[OPTIONS_LIST_MAX];
	int error = 0;

	if (!results)
		return diag_fail(message, -ENOMEM, "out of memory");
	results->labels = &options->label;
	error = store_labels_check(&options->label, message);
	results->values = (struct pattern_values){.has_child = has_child, .started_s = time(NULL)};
	for (; !error && results->count < paths->count; results->count++) {
		struct result *result = &results->list[results->count];

		result->pattern = paths->item[results->count];
		names[results->count] = result->name;
		error = name_result(result, results, options->format, message);
	}
	if (!error)
		error = outputs_open(&results->outputs, names, results->count, message);
	if (error)
		results_free(results);
	else
		*out = results;
	return error;
}

void results_free(struct results *results)
{
	if (!results)
		return;
	for (unsigned i = 0; i < results->count; i++)
		store_push_free(results->list[i].store);
	outputs_free(results->outputs);
	free(results);
}

void results_are_so_far(struct results *results, bool is_so_far)
{
	results->is_so_far = is_so_far;
}

void results_name_child(struct results *results, pid_t child)
{
	results->values.child = child;
	for (unsigned i = 0; i < results->count; i++) {
		struct result *result = &results->list[i];

		if (!pattern_has_child(result->pattern))
			continue;
		/* Insert the pid; other values are from the start. On errors the name stays. */
		pattern_fill(result->name, result->pattern, &results->values, NULL);
		outputs_rename(results->outputs, i, result->name);
	}
}

static int write_one(struct results *results, unsigned index, struct result_content *writing,
	bool is_alone, struct diag_message *message)
{
	struct result *result = &results->list[index];
	int error;

	if (result->store)
		return store_output_write(
			result->store, writing->tree, writing->picture, results->labels, message);
	if (is_alone)
		progress_begin("drawing '%s'", results->list[index].name);
	error = outputs_write(results->outputs, index, write_result, writing, message);
	progress_end();
	return error;
}

void results_write(struct results *results, const struct calltree *tree,
	const struct picture_options *picture, bool is_alone, struct results_written *written)
{
	*written = (struct results_written){0};
	for (unsigned i = 0; i < results->count; i++) {
		const struct result *result = &results->list[i];
		struct result_content writing = {tree, picture, result->format};
		struct diag_message message = {0};
		int error;

		if (result->store && results->is_so_far)
			continue;
		error = write_one(results, i, &writing, is_alone, &message);
		if (error) {
			diag_report(&message);
			written->failed++;
			written->unread += error == -EPIPE;
			continue;
		}
		if (!result->format || result->format->has_stacks)
			written->has_stacks = true;
		if (!result->format)
			continue;
		if (!written->show && format_is_svg(result->format) &&
			outputs_is_file(results->outputs, i))
			written->show = result->name;
		if (!result->is_standard_output)
			diag_info("wrote '%s'", result->name);
	}
}

#define SUFFIX ".pb.gz"

static int write_stacks(void *context, FILE *file)
{
	const struct result_content *stacks = context;

	return pprof_write_gz(stacks->tree, stacks->picture, file);
}

static int write_in(const char *folder, struct result_content *stacks, char path[PATH_MAX])
{
	int bytes = snprintf(path, PATH_MAX, "%s/flamerun-XXXXXX" SUFFIX, folder);
	int descriptor, error;

	if (bytes >= PATH_MAX)
		return -ENAMETOOLONG;
	descriptor = mkostemps(path, (int)strlen(SUFFIX), O_CLOEXEC);
	if (descriptor < 0)
		return -errno;
	error = outputs_fill(descriptor, write_stacks, stacks);
	if (error)
		unlink(path);
	close(descriptor);
	return error;
}

int results_rescue(const struct calltree *tree, const struct picture_options *picture,
	char path[PATH_MAX], struct diag_message *message)
{
	const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
	struct picture_options whole = *picture;
	struct result_content stacks = {.tree = tree, .picture = &whole};
	char written[PATH_MAX] = "";
	int error = -ENOENT;

	/* Describe @tree without filters, because all of its stacks are saved. */
	whole.fine = NULL;
	whole.filters = NULL;

	for (size_t i = 0; error && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (folders[i] && *folders[i])
			error = write_in(folders[i], &stacks, written);
	if (error)
		return diag_fail(message, error,
			"cannot save the stacks either, not even in '%s': %s",
			folders[sizeof(folders) / sizeof(folders[0]) - 1], strerror(-error));
	strcpy(path, written);
	return 0;
}

/* ---- a browser ------------------------------------------------------------------------------- */

#define OPENER	  "xdg-open"
#define WORDS_MAX 16

struct command {
	char *words[WORDS_MAX + 2]; /* NULL at the end */
	/* copy of the command, into which the words point; owned */
	char *text;
	char *with_path;	    /* the word that had "%s"; owned, or NULL */
};

static void command_release(struct command *command)
{
	free(command->text);
	free(command->with_path);
}

/* If *@word has the first "%s" of the command, replace it by @path. Returns 0 or -ENOMEM. */
static int fill_word(struct command *command, char **word, const char *path)
{
	char *gap = strstr(*word, "%s");

	if (!gap || command->with_path)
		return 0;
	if (asprintf(&command->with_path, "%.*s%s%s", (int)(gap - *word), *word, path, gap + 2) <
		0) {
		command->with_path = NULL;
		return -ENOMEM;
	}
	*word = command->with_path;
	return 0;
}

/* Split @bytes of @text at blanks, add @path. Returns 0, -ENOENT if no words exist, or -ENOMEM. */
static int command_init(struct command *command, const char *text, size_t bytes, const char *path)
{
	size_t count = 0;
	char *rest;

	*command = (struct command){.text = strndup(text, bytes)};
	if (!command->text)
		return -ENOMEM;
	for (char *word = strtok_r(command->text, " \t", &rest); word && count < WORDS_MAX;
		word = strtok_r(NULL, " \t", &rest)) {
		if (fill_word(command, &word, path))
			return -ENOMEM;
		command->words[count++] = word;
	}
	if (!command->with_path)
		command->words[count++] = (char *)path;
	return count > 1 || command->with_path ? 0 : -ENOENT;
}

/* In the grandchild: detach from flamerun's session, terminal and outputs, then exec. */
static void exec_detached(const struct command *command, int report)
{
	int null = open("/dev/null", O_RDWR);
	int error;

	setsid();
	signals_restore();
	for (int i = STDIN_FILENO; null >= 0 && i <= STDERR_FILENO; i++)
		dup2(null, i);
	/* Close other descriptors on exec, because a browser may keep them open for days. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	execvp(command->words[0], command->words);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0) {
		/* the parent is gone */
	}
	_exit(1);
}

/* Start @command in a grandchild. Returns 0 when exec has succeeded, or -errno. */
static int start_command(const struct command *command)
{
	int report[2], error = 0;
	ssize_t bytes;
	pid_t child;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child) {
		pid_t grandchild = fork();

		if (!grandchild)
			exec_detached(command, report[1]);
		error = errno;
		if (grandchild < 0 && write(report[1], &error, sizeof(error)) < 0)
			_exit(1);
		_exit(0);
	}
	error = child < 0 ? errno : 0;
	close(report[1]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	do {
		int sent = 0;

		bytes = child > 0 ? read(report[0], &sent, sizeof(sent)) : 0;
		error = bytes == (ssize_t)sizeof(sent) ? sent : error;
	} while (bytes < 0 && errno == EINTR);
	close(report[0]);
	return -error;
}

static int try_opener(const char *text, size_t bytes, const char *path)
{
	struct command command;
	int error = command_init(&command, text, bytes, path);

	if (!error)
		error = start_command(&command);
	command_release(&command);
	return error;
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/*
 * Report that there is no display. xdg-open would start nothing, or a text browser, which needs the
 * terminal that exec_detached() takes away.
 */
static int refuse_without_display(
	const char *path, const char *absolute, struct diag_message *message)
{
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	diag_fail(message, -ENODEV, "cannot show '%s': there is no display here", path);
	diag_fail_hint(message, "where there is one: scp '%s:%s' . and open it in a browser", host,
		absolute);
	return -ENODEV;
}

int opener_start(const char *path, struct diag_message *message)
{
	const char *browsers = getenv("BROWSER");
	const char *list = browsers && *browsers ? browsers : OPENER;
	char absolute[PATH_MAX];
	int error = -ENOENT;

	/* Use an absolute path, which an opener cannot mistake for an option. */
	if (!realpath(path, absolute))
		return diag_fail(message, -errno, "cannot open '%s': %s", path, strerror(errno));
	if (list != browsers && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return refuse_without_display(path, absolute, message);
	for (const char *at = list; error && *at;) {
		size_t bytes = strcspn(at, ":");

		error = try_opener(at, bytes, absolute);
		at += bytes + (at[bytes] == ':');
	}
	if (!error)
		return 0;
	diag_fail(message, error, "cannot show '%s': %s: %s", path, list, strerror(-error));
	if (list != browsers)
		diag_fail_hint(message, "set BROWSER to a browser, or install xdg-utils");
	return error;
}

void results_finish(const struct options *options, const struct calltree *tree,
	const struct picture_options *picture, const struct results_written *written)
{
	struct diag_message message = {0};
	char path[PATH_MAX];

	if (written->failed && !written->has_stacks && calltree_total(tree)) {
		if (results_rescue(tree, picture, path, &message)) {
			diag_report(&message);
		} else {
			diag_error("the stacks are in '%s'", path);
			diag_hint("to draw them: flamerun render '%s' -o FILE", path);
		}
	}
	if (options->open && !written->show)
		diag_error("nothing to open: no SVG was written to a file");
	else if (options->open && opener_start(written->show, &message))
		diag_report(&message);
}
