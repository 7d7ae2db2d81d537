/* SPDX-License-Identifier: MIT */
/*
 * Where settings come from, lowest rank first: the system's file, the user's, the project's, the
 * environment. The ranks settle what counts, so the order of reading does not matter.
 */
#include "cli/config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/nearest.h"

#define SETTINGS_FILE  "flamerun.ini"
#define PROJECT_FILE   "." SETTINGS_FILE
#define VARIABLE_START "FLAMERUN_"

static char *join(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static bool exists(const char *folder, const char *name)
{
	char *path = join(folder, name);
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
	while (!exists(at, PROJECT_FILE)) {
		char *slash = strrchr(at, '/');

		if (exists(at, ".git") || slash == at || !slash)
			return NULL;
		if (home && !stat(home, &root) && root.st_dev == here.st_dev &&
			root.st_ino == here.st_ino)
			return NULL;
		*slash = '\0';
		if (stat(at, &above) || above.st_dev != here.st_dev)
			return NULL;
		here = above;
	}
	return join(at, PROJECT_FILE);
}

void config_places_find(struct config_places *places)
{
	const char *base = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char *folder = getcwd(NULL, 0);

	memset(places, 0, sizeof(*places));
	places->system[0] = strdup(FLAMERUN_SYSCONFDIR "/" SETTINGS_FILE);
	places->system[1] = strdup("/etc/" SETTINGS_FILE);
	/* The base directory specification has relative names ignored. */
	if (base && base[0] == '/')
		places->user = join(base, "flamerun/" SETTINGS_FILE);
	else if (home && home[0] == '/')
		places->user = join(home, ".config/flamerun/" SETTINGS_FILE);
	if (folder)
		places->project = config_project_file(folder, home);
	free(folder);
}

void config_places_release(struct config_places *places)
{
	for (size_t i = 0; i < CONFIG_SYSTEM_PLACES; i++)
		free(places->system[i]);
	free(places->user);
	free(places->project);
}

/*
 * Read a file if it is there. One that was not asked for and cannot be read is no reason not to
 * run: the person may not even know of it. *@read tells whether it was there.
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
	/* In somebody else's folder (HOME outlives a change of user) there is nothing of ours. */
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
	const struct config_places *places, struct diag_message *message)
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
	for (size_t i = 0; i < CONFIG_SYSTEM_PLACES && !read && !error; i++) {
		source.path = places->system[i];
		if (source.path)
			error = load_file(config, options, &source, &read, message);
	}
	source = (struct config_source){.path = places->user, .rank = OPTIONS_USER_FILE};
	if (!error && source.path)
		error = load_file(config, options, &source, &read, message);
	source = (struct config_source){.path = places->project, .rank = OPTIONS_PROJECT_FILE};
	if (!error && source.path)
		error = load_file(config, options, &source, &read, message);
	return error;
}

/* FLAMERUN_COUNT_NAME for count-name. */
static void name_variable(char *name, size_t size, const struct options_row *row)
{
	snprintf(name, size, VARIABLE_START "%s", row->long_name);
	for (char *at = name + strlen(VARIABLE_START); *at; at++)
		*at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* An empty variable is as good as none: there is no other way to take one back in many tools. */
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
		origin.place = config_keep(&config->kept, name);
		if (!origin.place)
			return diag_fail(message, -ENOMEM, "out of memory");
		error = options_store(options, row, value, &origin, message);
		if (error)
			return error;
	}
	return 0;
}

static int check_preset(const struct config *config, const struct options *options,
	struct diag_message *message)
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
		diag_fail_hint(message, "to run a program of that name: flamerun -- @%s",
			options->preset);
	return -EINVAL;
}

int config_load(struct config *config, struct options *options, const struct config_places *places,
	struct diag_message *message)
{
	int error = load_files(config, options, places, message);

	if (!error)
		error = load_environment(config, options, message);
	if (!error)
		error = check_preset(config, options, message);
	return error;
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
