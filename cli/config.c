/* SPDX-License-Identifier: MIT */
/*
 * Read settings from the system's file, the user's file, the project's file and the environment,
 * listed with the lowest rank first. A value with a higher rank wins, so the order of reading does
 * not matter.
 *
 * The library inih parses each line. This file reads the lines itself, because inih's own reader
 * cuts a line at 200 bytes, then counts lines wrongly, and accepts a directory as an empty file.
 *
 * A project's file may come with foreign code, so it can change the picture, but cannot set file
 * names or anything to execute. An unknown key in a file that --config names is an error. In other
 * files it is a warning, because the file may be for another version. A bad value is always an
 * error.
 */
#include "cli/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/diag.h"

#define SETTINGS_FILE  "flamerun.ini"
#define PROJECT_FILE   "." SETTINGS_FILE
#define VARIABLE_START "FLAMERUN_"

#define FILE_BYTES_MAX (1u << 20)
/* inih cuts the name of a section to this length (its MAX_SECTION without the NUL). */
#define SECTION_BYTES_MAX 49
#define PRESET_PREFIX	  "preset "

/* ---- strings that are kept ------------------------------------------------------------------- */

/* Store a copy of @text in @strings. Returns the copy (borrowed), or NULL if there is no memory. */
static const char *config_keep(struct config_strings *strings, const char *text)
{
	char **items = reallocarray(strings->items, strings->count + 1, sizeof(*items));

	if (!items)
		return NULL;
	strings->items = items;
	items[strings->count] = strdup(text);
	return items[strings->count] ? items[strings->count++] : NULL;
}

static void release_strings(struct config_strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
}

void config_release(struct config *config)
{
	release_strings(&config->kept);
	release_strings(&config->warnings);
	release_strings(&config->presets);
	*config = (struct config){0};
}

/* ---- where files are ------------------------------------------------------------------------- */

static char *join_path(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool file_exists(const char *folder, const char *name)
{
	char *path = join_path(folder, name);
	struct stat status;
	bool found = path && !lstat(path, &status);

	free(path);
	return found;
}

char *config_project_file(const char *folder, const char *home)
{
	char at[PATH_MAX];
	struct stat here, above, root;

	if (folder[0] != '/' || strlen(folder) >= sizeof(at) || stat(folder, &here))
		return NULL;
	strcpy(at, folder);
	while (!file_exists(at, PROJECT_FILE)) {
		char *slash = strrchr(at, '/');

		if (file_exists(at, ".git") || slash == at || !slash)
			return NULL;
		if (home && !stat(home, &root) && root.st_dev == here.st_dev &&
			root.st_ino == here.st_ino)
			return NULL;
		*slash = '\0';
		if (stat(at, &above) || above.st_dev != here.st_dev)
			return NULL;
		here = above;
	}
	return join_path(at, PROJECT_FILE);
}

void config_paths_find(struct config_paths *paths)
{
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *folder = getcwd(NULL, 0);

	memset(paths, 0, sizeof(*paths));
	paths->system[0] = strdup(FLAMERUN_SYSCONFDIR "/" SETTINGS_FILE);
	paths->system[1] = strdup("/etc/" SETTINGS_FILE);
	/* The XDG base directory specification requires that relative paths are ignored. */
	if (base && base[0] == '/')
		paths->user = join_path(base, "flamerun/" SETTINGS_FILE);
	else if (home && home[0] == '/')
		paths->user = join_path(home, ".config/flamerun/" SETTINGS_FILE);
	if (folder)
		paths->project = config_project_file(folder, home);
	free(folder);
}

void config_paths_release(struct config_paths *paths)
{
	for (size_t i = 0; i < CONFIG_SYSTEM_PATHS; i++)
		free(paths->system[i]);
	free(paths->user);
	free(paths->project);
}

/* ---- one file -------------------------------------------------------------------------------- */

struct config_reader {
	struct config *config;
	struct options *options;
	/* Receives the settings of presets that the user did not request. */
	struct options other;
	const struct config_source *source;
	struct diag_message *message;
	FILE *in;
	char *line;
	size_t capacity; /* of line */
	size_t bytes;	 /* read so far */
	unsigned number; /* of the line, from 1 */
	/* value in @line if the line is too long for inih's buffer; NULL: inih has the value */
	const char *long_value;
	int error;
};

static int fail_memory(struct config_reader *reader)
{
	reader->error = diag_fail(reader->message, -ENOMEM, "out of memory");
	return 0;
}

static int fail_line(struct config_reader *reader, const char *what)
{
	reader->error = diag_fail(
		reader->message, -EINVAL, "%s:%u: %s", reader->source->path, reader->number, what);
	return 0;
}

/* Returns the comment in @text (as in inih, a ';' after a blank), or the end of @text. */
static char *find_comment(char *text)
{
	bool was_blank = false;

	for (; *text && !(was_blank && *text == ';'); text++)
		was_blank = isspace((unsigned char)*text);
	return text;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Write only "name=" of the long line @text to @buffer. reader->long_value gets the value. */
static void shorten_line(struct config_reader *reader, char *text, char *buffer, size_t size)
{
	char *value = text + strcspn(text, "=:");

	strcpy(buffer, "\n");
	if (strchr(";#", *text))
		return;
	if (!*value) {
		fail_line(reader, "this is not 'name = value'");
		return;
	}
	*value++ = '\0';
	*find_comment(value) = '\0';
	reader->long_value = trim(value);
	snprintf(buffer, size, "%s=\n", text);
}

/*
 * Read the next line for inih, which calls this instead of fgets(). Remove leading blanks, because
 * inih treats an indented line as a continuation of the previous line.
 */
static char *read_line(char *buffer, int size, void *stream)
{
	struct config_reader *reader = stream;
	ssize_t bytes;
	char *text;

	reader->long_value = NULL;
	if (reader->error)
		return NULL;
	errno = 0;
	bytes = getline(&reader->line, &reader->capacity, reader->in);
	if (bytes < 0) {
		if (!feof(reader->in))
			reader->error = diag_fail(reader->message, errno ? -errno : -EIO,
				"cannot read '%s': %s", reader->source->path, strerror(errno));
		return NULL;
	}
	reader->number++;
	reader->bytes += (size_t)bytes;
	text = reader->line;
	if (memchr(text, '\0', (size_t)bytes))
		fail_line(reader, "this is not text");
	else if (reader->bytes > FILE_BYTES_MAX)
		fail_line(reader, "the file is too long (more than 1 MiB)");
	if (reader->number == 1 && !strncmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	text = trim(text);
	if (*text == '[' && strcspn(text + 1, "]") > SECTION_BYTES_MAX)
		fail_line(reader, "the section's name is too long");
	if (reader->error)
		return NULL;
	if (strlen(text) + sizeof("\n") > (size_t)size)
		shorten_line(reader, text, buffer, (size_t)size);
	else
		snprintf(buffer, (size_t)size, "%s\n", text);
	return reader->error ? NULL : buffer;
}

/*
 * Report that @name cannot be used. @near is a similar name to suggest, or NULL. Returns what
 * inih's handler must return: 1 after a warning, 0 after an error.
 */
static int report_unusable(
	struct config_reader *reader, const char *what, const char *name, const char *near)
{
	struct diag_message warning = {0};

	diag_fail(&warning, 0, "%s:%u: %s '%.100s'", reader->source->path, reader->number, what,
		name);
	if (reader->source->is_required) {
		reader->error = diag_fail(reader->message, -EINVAL, "%s", warning.text);
		if (near)
			diag_fail_hint(reader->message, "did you mean %s?", near);
		return 0;
	}
	if (near) {
		size_t at = strlen(warning.text);

		snprintf(warning.text + at, sizeof(warning.text) - at, " (did you mean %s?)", near);
	}
	return config_keep(&reader->config->warnings, warning.text) ? 1 : fail_memory(reader);
}

static int report_unknown_key(struct config_reader *reader, const char *name)
{
	struct nearest nearest;

	nearest_begin(&nearest, name, strlen(name));
	for (size_t i = 0; i < options_row_count; i++)
		if (options_rows[i].long_name && options_rows[i].from != OPTIONS_FROM_COMMAND)
			nearest_offer(&nearest, options_rows[i].long_name);
	return report_unusable(reader, "there is no setting", name, nearest.best);
}

/*
 * Handle the beginning of @section. Set *@options to the options that its settings change (NULL if
 * they are ignored) and *@rank to their rank. Returns 1, or 0 after an error.
 */
static int begin_section(struct config_reader *reader, const char *section,
	struct options **options, enum options_rank *rank)
{
	const char *name = section + strlen(PRESET_PREFIX);
	struct config *config = reader->config;

	*options = reader->options;
	*rank = reader->source->rank;
	if (!*section)
		return 1;
	if (strncmp(section, PRESET_PREFIX, strlen(PRESET_PREFIX))) {
		*options = NULL;
		return report_unusable(reader, "there is no section", section, NULL);
	}
	while (*name == ' ')
		name++;
	if (!config_keep(&config->presets, name))
		return fail_memory(reader);
	*rank = OPTIONS_PRESET;
	if (reader->options->preset && !strcmp(reader->options->preset, name))
		config->has_preset = true;
	else
		*options = &reader->other;
	return 1;
}

/* Store one setting. inih calls this for each line. Returns 1, or 0 if the line is wrong. */
static int store_setting(void *user, const char *section, const char *name, const char *value)
{
	struct config_reader *reader = user;
	const struct options_row *row = options_find(name, strlen(name));
	struct options_origin origin = {.source = reader->source->path, .line = reader->number};
	struct options *options;
	int good;

	if (reader->error)
		return 0;
	good = begin_section(reader, section, &options, &origin.rank);
	if (!good || !options)
		return good;
	if (!row)
		return report_unknown_key(reader, name);
	if (row->from == OPTIONS_FROM_COMMAND)
		return report_unusable(reader, "only the command line can say", name, NULL);
	if (row->from != OPTIONS_FROM_PROJECT && reader->source->rank == OPTIONS_PROJECT_FILE)
		return report_unusable(reader, "a project's file may not say", name, NULL);
	value = config_keep(&reader->config->kept, reader->long_value ? reader->long_value : value);
	if (!value)
		return fail_memory(reader);
	reader->error = options_store(options, row, value, &origin, reader->message);
	return !reader->error;
}

int config_read(struct config *config, struct options *options, const struct config_source *source,
	FILE *in, struct diag_message *message)
{
	struct config_reader *reader = calloc(1, sizeof(*reader));
	int line, error;

	if (!reader)
		return diag_fail(message, -ENOMEM, "out of memory");
	reader->config = config;
	reader->options = options;
	reader->source = source;
	reader->message = message;
	reader->in = in;
	options_init(&reader->other);
	line = ini_parse_stream(read_line, reader, store_setting, reader);
	if (line < 0 && !reader->error)
		fail_memory(reader);
	/* @line is the first bad line. If no error was reported for that line, it has no '='. */
	if (line > 0 && (!reader->error || (unsigned)line < reader->number)) {
		reader->number = (unsigned)line;
		fail_line(reader, "this is not 'name = value'");
	}
	error = reader->error;
	free(reader->line);
	free(reader);
	return error;
}

static int check_file(
	int descriptor, const struct config_source *source, struct diag_message *message)
{
	struct stat status;

	if (fstat(descriptor, &status))
		return diag_fail(
			message, -errno, "cannot read '%s': %s", source->path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return diag_fail(message, S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL,
			"cannot read '%s': it is %s", source->path,
			S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
	if (source->rank != OPTIONS_PROJECT_FILE)
		return 0;
	if (status.st_uid != geteuid() && status.st_uid)
		return diag_fail(message, -EPERM, "'%s' is not read: it belongs to somebody else",
			source->path);
	if (status.st_mode & S_IWOTH)
		return diag_fail(message, -EPERM, "'%s' is not read: everybody can write to it",
			source->path);
	return 0;
}

/*
 * Open the regular file @source->path for reading. A project's file must belong to the user or root
 * and must not be writable for all users.
 *
 * Returns 0 and an owned *@out, or -errno with @message filled (-ENOENT if there is no such file).
 */
static int config_open(const struct config_source *source, FILE **out, struct diag_message *message)
{
	/* O_NONBLOCK: do not wait if the path is a FIFO that no process writes to. */
	int descriptor = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error;

	if (descriptor < 0)
		return diag_fail(
			message, -errno, "cannot read '%s': %s", source->path, strerror(errno));
	error = check_file(descriptor, source, message);
	if (!error) {
		*out = fdopen(descriptor, "r");
		if (*out)
			return 0;
		error = diag_fail(
			message, -errno, "cannot read '%s': %s", source->path, strerror(errno));
	}
	close(descriptor);
	return error;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/*
 * Read a settings file if it exists. *@read is set if the file exists. If the file cannot be read,
 * this is an error only if --config named the file. Otherwise it is a warning, because the user may
 * not know of the file.
 */
static int load_file(struct config *config, struct options *options,
	const struct config_source *given, bool *read, struct diag_message *message)
{
	struct config_source source = *given;
	struct diag_message why = {0};
	struct stat status;
	FILE *in = NULL;
	int error;

	source.path = config_keep(&config->kept, given->path);
	if (!source.path)
		return diag_fail(message, -ENOMEM, "out of memory");
	error = config_open(&source, &in, &why);
	/* Do not warn if the folder cannot be searched: after su(1), HOME may be another user's. */
	*read = !error || !lstat(source.path, &status);
	if (error && source.is_required) {
		*message = why;
		return error;
	}
	if (error) {
		if (*read && !config_keep(&config->warnings, why.text))
			return diag_fail(message, -ENOMEM, "out of memory");
		return 0;
	}
	error = config_read(config, options, &source, in, message);
	fclose(in);
	if (error && !source.is_required && !message->hint[0])
		diag_fail_hint(message, "flamerun --no-config runs without settings files");
	return error;
}

static int load_files(struct config *config, struct options *options,
	const struct config_paths *paths, struct diag_message *message)
{
	struct config_source source = {.path = options->config, .rank = OPTIONS_USER_FILE};
	bool read = false;
	int error = 0;

	if (options->no_config)
		return 0;
	if (options->config) {
		source.is_required = true;
		return load_file(config, options, &source, &read, message);
	}
	source.rank = OPTIONS_SYSTEM_FILE;
	for (size_t i = 0; i < CONFIG_SYSTEM_PATHS && !read && !error; i++) {
		source.path = paths->system[i];
		if (source.path)
			error = load_file(config, options, &source, &read, message);
	}
	source = (struct config_source){.path = paths->user, .rank = OPTIONS_USER_FILE};
	if (!error && source.path)
		error = load_file(config, options, &source, &read, message);
	source = (struct config_source){.path = paths->project, .rank = OPTIONS_PROJECT_FILE};
	if (!error && source.path)
		error = load_file(config, options, &source, &read, message);
	return error;
}

/* Write @row's environment variable to @name: FLAMERUN_COUNT_NAME for the option count-name. */
static void name_variable(char *name, size_t size, const struct options_row *row)
{
	snprintf(name, size, VARIABLE_START "%s", row->long_name);
	for (char *at = name + strlen(VARIABLE_START); *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* Read FLAMERUN_* variables. An empty one counts as unset: many tools cannot unset a variable. */
static int load_environment(
	struct config *config, struct options *options, struct diag_message *message)
{
	for (size_t i = 0; i < options_row_count; i++) {
		const struct options_row *row = &options_rows[i];
		struct options_origin origin = {.rank = OPTIONS_ENVIRONMENT};
		const char *value;
		char name[64];
		int error;

		if (!row->long_name || row->from == OPTIONS_FROM_COMMAND)
			continue;
		name_variable(name, sizeof(name), row);
		value = getenv(name);
		if (!value || !value[0])
			continue;
		origin.source = config_keep(&config->kept, name);
		if (!origin.source)
			return diag_fail(message, -ENOMEM, "out of memory");
		error = options_store(options, row, value, &origin, message);
		if (error)
			return error;
	}
	return 0;
}

static int check_preset(
	const struct config *config, const struct options *options, struct diag_message *message)
{
	struct nearest nearest;

	if (!options->preset || config->has_preset)
		return 0;
	nearest_begin(&nearest, options->preset, strlen(options->preset));
	for (size_t i = 0; i < config->presets.count; i++)
		nearest_offer(&nearest, config->presets.items[i]);
	diag_fail(message, -EINVAL, "no settings file has a preset '%s'", options->preset);
	if (nearest.best)
		diag_fail_hint(message, "did you mean @%s?", nearest.best);
	else
		diag_fail_hint(
			message, "to run a program of that name: flamerun -- @%s", options->preset);
	return -EINVAL;
}

int config_load(struct config *config, struct options *options, const struct config_paths *paths,
	struct diag_message *message)
{
	int error = load_files(config, options, paths, message);

	if (!error)
		error = load_environment(config, options, message);
	if (!error)
		error = check_preset(config, options, message);
	return error;
}
