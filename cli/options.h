/* SPDX-License-Identifier: MIT */
/*
 * The command line, made from the one table in options.def. Parsing stops at the first word that
 * is not an option, as POSIX has it, so that a program's own options are never taken for ours.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/diag.h"

enum options_action { OPTIONS_RUN = 0, OPTIONS_HELP, OPTIONS_VERSION };

#define OPTIONS_OUTPUTS_MAX 32

struct options_paths {
	const char *path[OPTIONS_OUTPUTS_MAX]; /* borrowed from argv */
	unsigned count;
};

struct options {
	struct options_paths outputs; /* empty: the default, see options_finish() */
	const char *title;            /* NULL: none was given */
	uint32_t rate_hz;
	uint32_t test_clock_hz; /* 0: off */
	uint64_t duration_ns;   /* 0: until the program ends */
	uint32_t level;         /* enum diag_level */
	uint32_t action;        /* enum options_action */
	bool ended_by_dashes;   /* "--" was seen */
	const char *run_only;   /* last option that only makes sense when profiling, or NULL */
};

enum options_kind {
	OPTIONS_KIND_UINT,
	OPTIONS_KIND_SECONDS,
	OPTIONS_KIND_TEXT,
	OPTIONS_KIND_OUTPUT,
	OPTIONS_KIND_SET
};

enum options_completion { OPTIONS_COMPLETE_NONE, OPTIONS_COMPLETE_FILE };
enum options_commands { OPTIONS_FOR_ANY, OPTIONS_FOR_RUN };

/* One row of the table; a row that begins a group has long_name NULL and its title in text. */
struct options_row {
	char short_name; /* 0: none */
	const char *long_name;
	const char *argument; /* NULL: a switch */
	size_t field;         /* offset in struct options */
	enum options_kind kind;
	uint32_t min, max; /* UINT: range; SET: min is the value stored */
	const char *fallback;
	const char *text;
	enum options_completion completion;
	enum options_commands commands;
};

/* The table, in the order of options.def. */
extern const struct options_row options_rows[];
extern const size_t options_row_count;

/* Fill @options with the table's defaults. */
void options_init(struct options *options);

/*
 * Read options from argv[*index] on, up to the first operand (a word without '-', or "-"), or past
 * "--". *@index is left at that operand, or at argc. May be called again behind an operand.
 * Strings are borrowed from @argv.
 *
 * Returns 0, or -EINVAL with @message filled; -h and --version are only noted in ->action.
 */
int options_parse(struct options *options, int argc, char **argv, int *index,
	struct diag_message *message);

/* Put in what can only be known at the end: the default output when none was given. */
void options_finish(struct options *options);

#endif
