/* SPDX-License-Identifier: MIT */
/*
 * Settings that are not on the command line: from ini files and from FLAMERUN_* in the environment.
 * options_store() checks and ranks each of them.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/options.h"

/* A growing list of owned strings. Zero-initialise. */
struct config_strings {
	char **items;
	size_t count;
};

/* What was read. struct options borrows strings from it. Zero-initialise; config_release() it. */
struct config {
	struct config_strings kept;
	struct config_strings warnings; /* print them when --quiet is known */
	struct config_strings presets;  /* names of all presets in the files */
	bool has_preset;                /* options->preset is one of them */
};

/* A file of settings. */
struct config_source {
	const char *path; /* borrowed for as long as the options are used */
	enum options_rank rank;
	bool is_required; /* given by --config: problems are errors, not warnings */
};

/* Paths of settings files; owned, NULL: none. config_paths_release() it. */
#define CONFIG_SYSTEM_PATHS 2
struct config_paths {
	char *system[CONFIG_SYSTEM_PATHS]; /* only the first file that exists is read */
	char *user;
	char *project;
};

/*
 * Find the usual paths from the environment and the working directory. A path is NULL if there is
 * no memory for it.
 */
void config_paths_find(struct config_paths *paths);
void config_paths_release(struct config_paths *paths);

/*
 * Find the nearest .flamerun.ini in @folder or above it, at most up to a folder with .git, @home
 * (may be NULL) or the root of the file system. Returns an owned path, or NULL.
 */
char *config_project_file(const char *folder, const char *home);

/*
 * Add the settings in @paths and in the environment to @options, whose command line is parsed. Uses
 * options->config and ->no_config, and applies options->preset.
 *
 * Returns 0, or -errno with @message filled. In both cases the caller must release @config when
 * @options is no longer used.
 */
int config_load(struct config *config, struct options *options, const struct config_paths *paths,
	struct diag_message *message);
void config_release(struct config *config);

/*
 * Read settings from @in (borrowed) into @options. A key that does not exist, or that a file of
 * this rank may not set, is an error in a required file and otherwise a warning.
 * Returns 0, or -errno with @message filled: "file:line: what is wrong".
 */
int config_read(struct config *config, struct options *options, const struct config_source *source,
	FILE *in, struct diag_message *message);

#endif
