/* SPDX-License-Identifier: MIT */
/*
 * Where the samples without a function's name are, and what would name them: also for files that
 * came with this distribution.
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
	char where[256];  /* the module that has most of them, in words; "" when nothing is known */
	char remedy[512]; /* what to do about it; "" likewise */
};

/* Fill @out from @tree (borrowed, finished), whose modules are those of @names (borrowed). */
void unnamed_code_find(
	struct unnamed_code *out, const struct calltree *tree, const struct names *names);

/*
 * Write a line into @out about a runtime of a version that is not read: its kind, its version as
 * the files of @names (borrowed) say, the versions that are read, and what names its functions
 * meanwhile.
 */
void unnamed_code_runtime(
	char *out, size_t size, const struct runtime_kind *kind, const struct names *names);

/*
 * Put into the environment, which programs that are started from now on have, what makes the
 * runtimes of --jit write names that cannot be read out of them; and say so.
 *
 * Returns 0 or -ENOMEM.
 */
int unnamed_code_ask(const struct options *options);

/* Is the file at @path (absolute) one that a distribution brings, by the folder it is in? */
bool distribution_has(const char *path);

/*
 * Do @options want debuginfod servers to be asked for symbols? Where somebody asks for that and
 * DEBUGINFOD_URLS names none, it is the distribution's from now on: no program that is profiled may
 * be started afterwards.
 */
bool distribution_is_asked(const struct options *options);

/*
 * Write the command that brings the symbols of the distribution's file at @path (absolute) to where
 * flamerun finds them, into @out: of a package where its name is sure, else by debuginfod(8).
 * @release  the system's os-release(5). One that cannot be read is of no distribution known.
 * @has_servers  DEBUGINFOD_URLS is set.
 */
void distribution_symbols_command(
	char *out, size_t size, const char *release, const char *path, bool has_servers);

#endif
