/* SPDX-License-Identifier: MIT */
/*
 * Settings, from the table options.def, and how the command line is parsed. Parsing stops at the
 * first word that is not an option, as in POSIX, so that options of the program are not parsed as
 * flamerun's. Settings from files and the environment are in config.h.
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

/* Origins of values. A later rank overrides an earlier one, in whatever order they are stored. */
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
	const char *source; /* file or environment variable, NULL: none; borrowed */
	unsigned line;	   /* of the file; 0: not from a file */
};

struct options_list {
	const char *item[OPTIONS_LIST_MAX]; /* borrowed */
	unsigned count;
};

/* Strings are borrowed: from argv, the environment, the table or struct config. */
struct options {
	struct options_list outputs; /* empty: the default, see options_finish() */
	struct options_list hide;    /* regular expressions; empty: hide nothing */
	struct options_list root;    /* regular expressions; empty: whole stacks */
	struct options_list focus;   /* regular expressions; empty: all stacks */
	struct options_list ignore;  /* regular expressions; empty: no stacks */
	struct options_list label; /* "NAME=VALUE", labels of profiles in a store */
	struct options_list source_map; /* "OLD=NEW", OLD is not empty */
	struct options_list of;	     /* regular expressions; empty: tables of all functions */
	struct options_list fail_over; /* "[RE=]PERCENT"; empty: no change is a failure */
	const char *by;		      /* names of options_groupings(), separated by commas */
	const char *format;	      /* one of format_names(); NULL: by the outputs' names */
	const char *sample_type;      /* which values to draw; NULL: the file's default values */
	const char *palette;	      /* one of palette_names(); NULL: the default one */
	const char *demangle;	      /* one of demangle_styles() */
	uint32_t native;
	const char *ground;	      /* "light" or "dark" */
	const char *title;	      /* NULL: not set, as in the following strings */
	const char *subtitle;
	const char *notes;
	const char *count_name;
	const char *font;
	double min_width;	      /* pixels; 0: the default */
	double frame_height;	      /* pixels; 0: the default */
	double font_size;	      /* pixels; 0: the default */
	uint32_t width;		      /* pixels */
	uint32_t direction;	      /* enum picture_direction */
	uint32_t reverse;	      /* this and all without a comment: 0 or 1 */
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
	const char *jit; /* names of options_runtimes(), separated by commas */
	const char *pids; /* "PID[,PID...]" to attach to, or NULL */
	const char *job;  /* the folder in which ranks are gathered, or NULL */
	uint32_t follow;
	uint32_t outside;
	uint32_t wall;
	uint32_t no_fold_idle;
	uint32_t no_waits;
	uint32_t live;
	uint32_t wait_details;
	uint32_t debuginfod; /* not set: 1 if DEBUGINFOD_URLS is set */
	uint32_t test_clock_hz; /* 0: off */
	uint64_t duration_ns;	/* 0: until the program ends */
	uint32_t level;		/* enum diag_level */
	uint32_t action;	/* enum options_action */
	uint32_t no_config;
	uint32_t limit; /* rows of a table; 0: the default of the command */
	uint32_t json, csv;
	uint32_t runs;	  /* of each program; 0: no --repeat */
	uint32_t warmups; /* runs before those of @runs */
	uint32_t ignore_failure;
	uint32_t symbols; /* 1: push names of functions */
	const char *completions; /* a shell whose script to write, or NULL */
	const char *config;   /* NULL: the usual files */
	const char *preset;   /* "NAME" of @NAME, or NULL */
	bool ended_by_dashes; /* "--" was seen */
	const char *run_only;	 /* the last option given that is only for runs, or NULL */
	const char *top_only;	 /* the last option given that is only for top, or NULL */
	const char *diff_only;	 /* the last option given that is only for diff, or NULL */
	const char *tables_only; /* the last option given that is only for top and diff, or NULL */
	struct options_origin origins[OPTIONS_ROWS_MAX]; /* of each row's field; options_origin() */
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
 * A row of the table: an option; or, if long_name is NULL, the title of the group that follows or,
 * if text is NULL as well, the beginning of the options that are not documented.
 */
struct options_row {
	char short_name; /* 0: none */
	const char *long_name;
	const char *argument; /* NULL: a switch or flag */
	size_t field;	      /* offset in struct options */
	enum options_kind kind;
	double min, max; /* numbers: range; SWITCH: on and off; FLAG: min is the value stored */
	const char *const *(*names)(void); /* CHOICE, CHOICES: NULL at the end */
	const char *fallback; /* default value, or a description in parentheses, or NULL */
	const char *text; /* for --help, "\n" begins a new line; or the title */
	enum options_completion completion;
	enum options_commands commands;
	enum options_from from;
	enum options_listed listed;
};

/* The table, in the order of options.def. */
extern const struct options_row options_rows[];
extern const size_t options_row_count;

/*
 * Return the allowed values, NULL at the end, of --ground, --by ("function" first, the default),
 * --jit ("none" first, the default) and --completions.
 */
const char *const *options_grounds(void);
const char *const *options_groupings(void);
const char *const *options_runtimes(void);
const char *const *options_shells(void);

/* Is @word in @list, whose words are separated by commas? @list may be NULL. */
bool options_has_word(const char *list, const char *word);

/* Returns the row whose long name is the @bytes at @name, or NULL. */
const struct options_row *options_find(const char *name, size_t bytes);

/* Does @row have a default value? */
static inline bool options_has_default(const struct options_row *row)
{
	return row->fallback && row->fallback[0] != '(';
}

/* Fill @options with the table's defaults. */
void options_init(struct options *options);

/*
 * Check @value (borrowed for as long as @options is used; NULL: switch on) and store it unless the
 * field's value has a higher rank. Values of a list add up if they have the same origin, otherwise
 * they replace the list; an empty expression clears it.
 *
 * Returns 0, or -EINVAL with @message filled. The message begins with the name of the setting as in
 * @origin: "--rate", "FLAMERUN_RATE" or "/etc/flamerun.ini:3: rate".
 */
int options_store(struct options *options, const struct options_row *row, const char *value,
	const struct options_origin *origin, struct diag_message *message);

/* Returns the origin of the value in @row's field. */
const struct options_origin *options_origin(
	const struct options *options, const struct options_row *row);

/* Was the setting @name given anywhere? Otherwise it has its default. */
bool options_is_said(const struct options *options, const char *name);

/*
 * Parse options from argv[*@index] on. Stops at the first operand (a word without '-', or "-"),
 * after "--", or at argc, and sets *@index to the next word. May be called again after an operand.
 * Long options may be abbreviated. A word @NAME selects a preset.
 *
 * Returns 0, or -EINVAL with @message filled. -h, --help, --version and --show-config only set
 * ->action.
 */
int options_parse(struct options *options, int argc, char **argv, int *index,
	struct diag_message *message);

/*
 * Refuse options of the command line that the command @name does not have. @runs: it runs programs.
 * Returns 0, or -EINVAL with @message filled.
 */
int options_check_command(const struct options *options, const char *name, bool is_top,
	bool is_diff, bool runs, struct diag_message *message);

/*
 * Set the default output if none was given, and check that the format of each output is known.
 * Returns 0, or -EINVAL with @message filled.
 */
int options_finish(struct options *options, struct diag_message *message);

#endif
