/* SPDX-License-Identifier: MIT */
/* What brings the symbols of files that came with this distribution. */
#ifndef CLI_RUN_DISTRIBUTION_H
#define CLI_RUN_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>

/* Is the file at @path (absolute) one that a distribution brings, by the folder it is in? */
bool distribution_has(const char *path);

/*
 * Write the command that brings the symbols of the distribution's file at @path (absolute) to where
 * flamerun finds them, into @out: of a package where its name is sure, else by debuginfod(8).
 * @release  the system's os-release(5). One that cannot be read is of no distribution known.
 * @has_servers  DEBUGINFOD_URLS is set.
 */
void distribution_symbols_command(
	char *out, size_t size, const char *release, const char *path, bool has_servers);

#endif
