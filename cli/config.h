/* SPDX-License-Identifier: MIT */
/*
 * Read settings from ini files and from the environment variables FLAMERUN_*. options_store()
 * checks each setting and keeps the value with the highest rank.
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

/*
 * The files and presets that were read. struct options borrows strings from it. Zero-initialise.
 * Release by config_release().
 */
struct config {
	struct config_strings kept;
	struct config_strings warnings; /* print them when --quiet is known */
	struct config_strings presets;  /* names of all presets in the files */
	bool has_preset;                /* options->preset exists */
};

/* A file of settings. */
struct config_source {
	/* Borrowed. Must stay valid while the options are used. */
	const char *path;
	enum options_rank rank;
	/* true for the file of --config: problems are errors, not warnings */
	bool is_required;
};

/* Owned paths of settings files; NULL: none. Release by config_paths_release(). */
#define CONFIG_SYSTEM_PATHS 2
struct config_paths {
	/* Only the first file that exists is read. */
	char *system[CONFIG_SYSTEM_PATHS];
	char *user;
	char *project;
};

/* Find the usual paths from the environment and working directory. NULL: none, or no memory. */
void config_paths_find(struct config_paths *paths);
void config_paths_release(struct config_paths *paths);

/*
 * Find the nearest .flamerun.ini in @folder or in a folder above it. The search ends at a folder
 * that contains .git, at @home (may be NULL) or at the root of the file system. Returns an owned
 * path, or NULL.
 */
char *config_project_file(const char *folder, const char *home);

/*
 * Add the settings of the files in @paths and of the environment to @options, which already has the
 * command line's options. Uses options->config and ->no_config, and applies options->preset.
 *
 * Returns 0, or -errno with @message filled. In both cases the caller must release @config when
 * @options is no longer used.
 */
int config_load(struct config *config, struct options *options, const struct config_paths *paths,
	struct diag_message *message);
void config_release(struct config *config);

/*
 * Read settings from @in (borrowed) into @options. A key that does not exist, or that a file of
 * this rank must not set, is an error if source->is_required, otherwise a warning.
 *
 * Returns 0, or -errno with @message filled: "file:line: what is wrong".
 */
int config_read(struct config *config, struct options *options, const struct config_source *source,
	FILE *in, struct diag_message *message);

#endif
