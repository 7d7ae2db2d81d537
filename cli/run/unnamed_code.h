/* SPDX-License-Identifier: MIT */
/*
 * Find the code that has the most samples without a function's name, and how to get its names, for
 * example from the distribution's symbol packages.
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
	/* the module with the most samples without a name; "": not known */
	char where[256];
	char remedy[512]; /* how to get names; "": not known */
};

/* Fill @out from @tree (borrowed, finished). @names (borrowed) has the modules of @tree. */
void unnamed_code_find(
	struct unnamed_code *out, const struct calltree *tree, const struct names *names);

/*
 * Write a line to @out about a runtime whose functions cannot be named: its kind, its version
 * according to the files in @names (borrowed), the versions that are supported, and other means to
 * get names.
 */
void unnamed_code_runtime(
	char *out, size_t size, const struct runtime_kind *kind, const struct names *names);

/*
 * Set environment variables that make the runtimes of --jit write names of generated code, for
 * programs that are started afterwards. Print the variables. Returns 0 or -ENOMEM.
 */
int unnamed_code_ask(const struct options *options);

/* Is the file at @path (absolute) in a folder of the distribution? */
bool distribution_has(const char *path);

/*
 * Do @options ask for symbols from debuginfod servers? If so, and DEBUGINFOD_URLS is not set, set
 * it to the distribution's server. Do not start a profiled program afterwards, because it would
 * inherit the variable.
 */
bool distribution_is_asked(const struct options *options);

/*
 * Write to @out the command that installs the symbols of the distribution's file @path (absolute):
 * a package if its name is certain, otherwise debuginfod(8). @release: the path of os-release(5);
 * if it is unreadable, the distribution is unknown. @has_servers: DEBUGINFOD_URLS is set.
 */
void distribution_symbols_command(
	char *out, size_t size, const char *release, const char *path, bool has_servers);

#endif
