/* SPDX-License-Identifier: MIT */
/*
 * All settings, which are listed in options.def, and the parser of the command line. As in POSIX,
 * parsing ends at the first word that is not an option, so that options of the program are not
 * parsed as flamerun's. Settings from files and the environment are read in config.h.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/diag.h"

enum options_action {
	OPTIONS_RUN = 0,
	OPTIONS_HELP,
	OPTIONS_SHORT_HELP,
	OPTIONS_VERSION,
	OPTIONS_SHOW_CONFIG,
	OPTIONS_COMPLETIONS
};

#define OPTIONS_LIST_MAX 32
#define OPTIONS_ROWS_MAX 96

/* Origins of values. A later one of these overrides an earlier one, whichever is stored first. */
enum options_rank {
	OPTIONS_BUILT_IN = 0,
	OPTIONS_SYSTEM_FILE,
	OPTIONS_USER_FILE, /* or the file given by --config */
	OPTIONS_PROJECT_FILE,
	OPTIONS_ENVIRONMENT,
	OPTIONS_PRESET,
	OPTIONS_COMMAND_LINE
};

struct options_origin {
	enum options_rank rank;
	/* name of the file or the environment variable, borrowed; NULL if there is none */
	const char *source;
	unsigned line;	   /* line in the file; 0: not from a file */
};

struct options_list {
	const char *item[OPTIONS_LIST_MAX]; /* borrowed */
	unsigned count;
};

/* All settings. Strings are borrowed from argv, the environment, the table or struct config. */
struct options {
	/* files to write; empty: the default, see options_finish() */
	struct options_list outputs;
	struct options_list hide; /* regular expressions */
	struct options_list root; /* REs; empty: whole stacks */
	struct options_list focus; /* REs; empty: all stacks */
	struct options_list ignore; /* REs; empty: no stacks */
	/* "NAME=VALUE": labels of profiles in a store */
	struct options_list label;
	struct options_list source_map; /* "OLD=NEW", OLD is not empty */
	/* regular expressions of --of; empty: tables of all functions */
	struct options_list of;
	/* "[REGEX=]PERCENT": changes above PERCENT are failures; empty: none are */
	struct options_list fail_over;
	/* --by: names of options_groupings(), separated by commas */
	const char *by;
	/* a name of format_names(); NULL: the outputs' file names decide */
	const char *format;
	/* which values of the file to draw; NULL: its default values */
	const char *sample_type;
	/* a name of palette_names(); NULL: the default palette */
	const char *palette;
	const char *demangle;	      /* one of demangle_styles() */
	uint32_t native;
	const char *ground;	      /* "light" or "dark" */
	/* the members from `title` to `font` are NULL if not set */
	const char *title;
	const char *subtitle;
	const char *notes;
	const char *count_name;
	const char *font;
	double min_width;	      /* pixels; 0: the default */
	double frame_height;	      /* pixels; 0: the default */
	double font_size;	      /* pixels; 0: the default */
	uint32_t width;		      /* pixels */
	uint32_t direction;	      /* enum picture_direction */
	uint32_t reverse;	      /* 0 or 1, as all uint32_t members without a comment */
	uint32_t threads;
	uint32_t collapse_recursion;
	uint32_t merge_templates;
	uint32_t no_inline;
	uint32_t inline_suffix;
	uint32_t open;
	uint32_t rate_hz;
	const char *clock; /* one of sampling_clock_names() */
	const char *signal; /* one of sampling_signal_names() */
	uint32_t kernel;   /* 1: show the kernel's functions */
	uint32_t start_paused;
	/* --jit: names of options_runtimes(), separated by commas */
	const char *jit;
	const char *pids; /* "PID[,PID...]" to attach to, or NULL */
	/* the folder in which the ranks of a job gather profiles, or NULL */
	const char *job;
	uint32_t follow;
	uint32_t outside;
	uint32_t wall;
	uint32_t no_fold_idle;
	uint32_t no_waits;
	uint32_t live;
	uint32_t wait_details;
	uint32_t debuginfod; /* default: 1 if DEBUGINFOD_URLS is set */
	uint32_t test_clock_hz; /* 0: off */
	uint64_t duration_ns;	/* 0: until the program ends */
	uint32_t level;		/* enum diag_level */
	uint32_t action;	/* enum options_action */
	uint32_t no_config;
	uint32_t limit; /* rows of a table; 0: the default */
	uint32_t json, csv;
	uint32_t runs;	  /* runs of each program; 0: no --repeat */
	uint32_t warmups; /* runs before these that are not counted */
	uint32_t ignore_failure;
	uint32_t symbols; /* 1: push names of functions */
	/* the shell whose completion script is printed, or NULL */
	const char *completions;
	const char *config;   /* NULL: the usual files */
	const char *preset;   /* "NAME" of @NAME, or NULL */
	bool ended_by_dashes; /* "--" was seen */
	/* The last option given that only runs of programs have, or NULL. */
	const char *run_only;
	/* The last given option that only the command top has, or NULL. */
	const char *top_only;
	/* The last given option that only the command diff has, or NULL. */
	const char *diff_only;
	/* The last given option that only the commands top and diff have, or NULL. */
	const char *tables_only;
	struct options_origin origins[OPTIONS_ROWS_MAX]; /* by row; use options_origin() */
};

enum options_kind {
	OPTIONS_KIND_UINT,
	OPTIONS_KIND_DECIMAL,
	OPTIONS_KIND_SECONDS,
	OPTIONS_KIND_TEXT,
	OPTIONS_KIND_REGEX,
	OPTIONS_KIND_MAP,
	OPTIONS_KIND_CHOICE,
	OPTIONS_KIND_CHOICES,
	OPTIONS_KIND_SWITCH,
	OPTIONS_KIND_FLAG,
	OPTIONS_KIND_OUTPUT
};

enum options_completion {
	OPTIONS_COMPLETE_NONE,
	OPTIONS_COMPLETE_FILE,
	OPTIONS_COMPLETE_NAMES
};
enum options_commands {
	OPTIONS_FOR_ANY,
	OPTIONS_FOR_RUN,
	OPTIONS_FOR_TOP,
	OPTIONS_FOR_DIFF,
	OPTIONS_FOR_TABLES /* top and diff */
};
enum options_from { OPTIONS_FROM_COMMAND, OPTIONS_FROM_USER, OPTIONS_FROM_PROJECT };
enum options_listed { OPTIONS_LISTED_LONG, OPTIONS_LISTED_SHORT }; /* SHORT: -h lists it, too */

/*
 * A row of the table describes an option. If long_name is NULL, it is the title of the group of
 * options that follows. If text is NULL, too, all options after it are hidden (undocumented).
 */
struct options_row {
	char short_name; /* 0: none */
	const char *long_name;
	const char *argument; /* NULL: a switch or flag */
	size_t field;	      /* offset in struct options */
	enum options_kind kind;
	/* of a number: its range; SWITCH: values for on and off; FLAG: `min` is the value */
	double min, max;
	const char *const *(*names)(void); /* CHOICE, CHOICES: the names, then NULL */
	/* the default value, a description in parentheses, or NULL */
	const char *fallback;
	/* text for --help, in which "\n" begins a new line; or the title of a group */
	const char *text;
	enum options_completion completion;
	enum options_commands commands;
	enum options_from from;
	enum options_listed listed;
};

/* The table, in the order of options.def. */
extern const struct options_row options_rows[];
extern const size_t options_row_count;

/*
 * Return the allowed values of --ground, --by (first the default, "function"), --jit (first the
 * default, "none") and --completions. NULL ends each list.
 */
const char *const *options_grounds(void);
const char *const *options_groupings(void);
const char *const *options_runtimes(void);
const char *const *options_shells(void);

/* Does @list contain @word? Its words are separated by commas. @list may be NULL. */
bool options_has_word(const char *list, const char *word);

/* Returns the row whose long name is the @bytes at @name, or NULL. */
const struct options_row *options_find(const char *name, size_t bytes);

/* Does @row have a default value? If `fallback` is in parentheses, it only describes one. */
static inline bool options_has_default(const struct options_row *row)
{
	return row->fallback && row->fallback[0] != '(';
}

/* Fill @options with the table's defaults. */
void options_init(struct options *options);

/*
 * Check @value and store it, unless the field has a value of a higher rank. @value is borrowed
 * while @options is used; NULL turns a switch on. If the option has a list, @value is appended if
 * it has the same origin as the list, and replaces the list otherwise. An empty expression clears
 * the list.
 *
 * Returns 0, or -EINVAL with @message filled. The message begins with the setting's name at its
 * origin: "--rate", "FLAMERUN_RATE" or "/etc/flamerun.ini:3: rate".
 */
int options_store(struct options *options, const struct options_row *row, const char *value,
	const struct options_origin *origin, struct diag_message *message);

/* Returns the origin of the value in @row's field. */
const struct options_origin *options_origin(
	const struct options *options, const struct options_row *row);

/* Was the setting @name given? If not, it has its default value. */
bool options_is_said(const struct options *options, const char *name);

/*
 * Parse options from argv[*@index] on. Stop at the first operand (a word without '-', or "-"),
 * after "--", or at @argc, and set *@index to the next word. May be called again after an operand.
 * Long options may be abbreviated. A word "@NAME" selects a preset.
 *
 * Returns 0, or -EINVAL with @message filled. -h, --help, --version and --show-config only set
 * ->action.
 */
int options_parse(struct options *options, int argc, char **argv, int *index,
	struct diag_message *message);

/*
 * Refuse command-line options that the command @name does not have. @runs: it runs programs.
 * Returns 0, or -EINVAL with @message filled.
 */
int options_check_command(const struct options *options, const char *name, bool is_top,
	bool is_diff, bool runs, struct diag_message *message);

/*
 * If no output was given, set the default. Check that the format of each output is known. Returns
 * 0, or -EINVAL with @message filled.
 */
int options_finish(struct options *options, struct diag_message *message);

#endif
