/* SPDX-License-Identifier: MIT */
/*
 * Settings from elsewhere than the command line: files in the form that inih reads, and FLAMERUN_*
 * in the environment. Every one is checked and ranked by options_store().
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"

/* Strings that grow and keep what they were given. Zero-initialise. */
struct config_strings {
	char **items;
	size_t count;
};

/* What was read; the settings borrow from it. Zero-initialise; config_release() it. */
struct config {
	struct config_strings kept;
	struct config_strings warnings; /* for the person, to be told when it is known how much */
	struct config_strings presets;  /* names of all that were seen */
	bool has_preset;                /* the one asked for was among them */
};

/* A file of settings. */
struct config_source {
	const char *path; /* for messages; outlives the options */
	enum options_rank rank;
	bool is_required; /* named by --config: what is wrong with it is an error, not a warning */
};

/* Where settings files are looked for; owned, NULL: nowhere. config_paths_release() it. */
#define CONFIG_SYSTEM_PATHS 2
struct config_paths {
	char *system[CONFIG_SYSTEM_PATHS]; /* the first that exists counts */
	char *user;
	char *project;
};

/*
 * Look up the usual paths from the environment and the working directory. Without memory a path
 * is NULL.
 */
void config_paths_find(struct config_paths *paths);
void config_paths_release(struct config_paths *paths);

/*
 * The nearest .flamerun.ini from @folder upwards: not above a folder with .git, nor above @home
 * (may be NULL), nor on another file system. Returns an owned path, or NULL.
 */
char *config_project_file(const char *folder, const char *home);

/*
 * Add what @paths and the environment say to @options, whose command line is parsed:
 * options->config and ->no_config are heeded, options->preset is applied.
 *
 * Returns 0, or -errno with @message filled. @config is to be released in either case, when
 * @options is no longer used.
 */
int config_load(struct config *config, struct options *options, const struct config_paths *paths,
	struct diag_message *message);
void config_release(struct config *config);

/*
 * Read settings from @in (borrowed) into @options. Keys that do not exist, or that a file of this
 * rank may not set, are an error in a required file and else a warning.
 * Returns 0, or -errno with @message filled: "file:line: what".
 */
int config_read(struct config *config, struct options *options, const struct config_source *source,
	FILE *in, struct diag_message *message);

#endif
