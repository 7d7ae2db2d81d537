/* SPDX-License-Identifier: MIT */
/*
 * Find which code has the most samples without a function's name, and how to get the names, also
 * from the distribution's packages of symbols.
 */
#ifndef CLI_RUN_UNNAMED_CODE_H
#define CLI_RUN_UNNAMED_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "libprof/profile/names.h"
#include "libprof/runtime/runtime.h"
#include "render/calltree.h"

struct unnamed_code {
	char where[256];  /* the module with the most such samples; "": not known */
	char remedy[512]; /* how to get names; "": not known */
};

/* Fill @out from @tree (borrowed, finished), whose modules are those of @names (borrowed). */
void unnamed_code_find(
	struct unnamed_code *out, const struct calltree *tree, const struct names *names);

/*
 * Write a line to @out about a runtime whose version cannot be read: its kind, its version
 * according to the files of @names (borrowed), the versions that can be read, and what else names
 * its functions.
 */
void unnamed_code_runtime(
	char *out, size_t size, const struct runtime_kind *kind, const struct names *names);

/*
 * Set the environment variables that make the runtimes of --jit write names of generated code, for
 * programs started from now on, and print that. Returns 0 or -ENOMEM.
 */
int unnamed_code_ask(const struct options *options);

/* Is the file at @path (absolute) in a folder of the distribution? */
bool distribution_has(const char *path);

/*
 * Do @options ask for symbols from debuginfod servers? If they do and DEBUGINFOD_URLS is not set,
 * set it to the distribution's server. Do not start a profiled program afterwards, because it would
 * inherit the variable.
 */
bool distribution_is_asked(const struct options *options);

/*
 * Write to @out the command that installs the symbols of the distribution's file @path (absolute):
 * a package if its name is certain, else debuginfod(8).
 * @release: the system's os-release(5); unreadable: no known distribution.
 * @has_servers: DEBUGINFOD_URLS is set.
 */
void distribution_symbols_command(
	char *out, size_t size, const char *release, const char *path, bool has_servers);

#endif
