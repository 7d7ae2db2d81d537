/* SPDX-License-Identifier: MIT */
/*
 * The settings, made from the one table in options.def, and the command line. Parsing stops at the
 * first word that is not an option, as POSIX has it, so that a program's own options are never
 * taken for ours. Where else a setting can come from is config.h's.
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
	OPTIONS_VERSION,
	OPTIONS_SHOW_CONFIG,
	OPTIONS_COMPLETIONS
};

#define OPTIONS_LIST_MAX 32
#define OPTIONS_ROWS_MAX 96

/* Where a value comes from. A later one beats an earlier one, in whatever order they are stored. */
enum options_rank {
	OPTIONS_BUILT_IN = 0,
	OPTIONS_SYSTEM_FILE,
	OPTIONS_USER_FILE, /* or the one named by --config */
	OPTIONS_PROJECT_FILE,
	OPTIONS_ENVIRONMENT,
	OPTIONS_PRESET,
	OPTIONS_COMMAND_LINE
};

struct options_origin {
	enum options_rank rank;
	const char *source; /* file or environment variable, NULL: none; borrowed */
	unsigned line;	   /* of the file; 0: not from one */
};

/* What was given several times. */
struct options_list {
	const char *item[OPTIONS_LIST_MAX]; /* borrowed */
	unsigned count;
};

/* Strings are borrowed: from argv, the environment, the table or struct config. */
struct options {
	struct options_list outputs; /* empty: the default, see options_finish() */
	struct options_list hide;    /* extended regular expressions; empty: nothing is hidden */
	struct options_list root;    /* likewise; empty: whole stacks */
	struct options_list focus;   /* likewise; empty: all stacks */
	struct options_list ignore;  /* likewise; empty: none */
	struct options_list label; /* "NAME=VALUE", of what goes into a store */
	struct options_list source_map; /* "OLD=NEW", OLD is not empty */
	struct options_list of;	     /* regular expressions; empty: tables of everything */
	struct options_list fail_over; /* "[RE=]PERCENT"; empty: no change is a failure */
	const char *by;		      /* names of options_groupings(), commas between */
	const char *format;	      /* one of format_names(); NULL: by the outputs' names */
	const char *sample_type;      /* which values are drawn; NULL: a clock's, or those that a
					 file says are to be shown */
	const char *palette;	      /* one of palette_names(); NULL: the default one */
	const char *demangle;	      /* one of demangle_styles() */
	bool native;
	const char *ground;	      /* "light" or "dark" */
	const char *title;	      /* NULL: none was given */
	const char *subtitle;	      /* likewise */
	const char *notes;	      /* likewise */
	const char *count_name;	      /* likewise */
	const char *font;	      /* likewise */
	double min_width;	      /* pixels; 0: the default */
	double frame_height;	      /* likewise */
	double font_size;	      /* likewise */
	uint32_t width;		      /* pixels */
	uint32_t direction;	      /* enum picture_direction */
	uint32_t reverse;	      /* the switches: 0 or 1 */
	uint32_t threads;
	uint32_t collapse_recursion;
	uint32_t merge_templates;
	uint32_t no_inline;
	uint32_t inline_suffix;
	uint32_t open;
	uint32_t rate_hz;
	const char *clock; /* one of sampling_clock_names() */
	const char *signal; /* one of sampling_signal_names() */
	uint32_t kernel;   /* its functions are wanted */
	uint32_t start_paused;
	const char *jit; /* names of options_runtimes(), commas between */
	const char *pids; /* "PID[,PID...]" to attach to, or NULL */
	const char *job;  /* the folder in which ranks are gathered, or NULL */
	uint32_t follow;
	uint32_t outside;
	uint32_t wall;
	uint32_t no_fold_idle;
	uint32_t no_waits;
	uint32_t live;
	uint32_t wait_details;
	uint32_t debuginfod; /* where nobody said so: when DEBUGINFOD_URLS is set */
	uint32_t test_clock_hz; /* 0: off */
	uint64_t duration_ns;	/* 0: until the program ends */
	uint32_t level;		/* enum diag_level */
	uint32_t action;	/* enum options_action */
	uint32_t no_config;
	uint32_t limit; /* 0: as many rows as is usual */
	uint32_t json, csv;
	uint32_t runs;	  /* of each program; 0: one as it is, and diff compares files */
	uint32_t warmups; /* before those */
	uint32_t ignore_failure;
	uint32_t symbols; /* what is pushed */
	const char *completions; /* a shell whose script to write, or NULL */
	const char *config;   /* NULL: the usual files */
	const char *preset;   /* "NAME" of @NAME, or NULL */
	bool ended_by_dashes; /* "--" was seen */
	const char *run_only; /* last option that only makes sense when profiling, or NULL */
	const char *top_only; /* likewise in tables of one profile */
	const char *diff_only;	/* likewise where two versions are compared */
	const char *tables_only; /* likewise in either of the two */
	struct options_origin origins[OPTIONS_ROWS_MAX]; /* of the field of each row */
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
	OPTIONS_FOR_TABLES /* of either of the two */
};
enum options_from { OPTIONS_FROM_COMMAND, OPTIONS_FROM_USER, OPTIONS_FROM_PROJECT };
enum options_listing { OPTIONS_LINES, OPTIONS_NAMES, OPTIONS_NOWHERE };

/* A row of the table; one that says how the following ones are listed has long_name NULL. */
struct options_row {
	char short_name; /* 0: none */
	const char *long_name;
	const char *argument; /* NULL: a switch or flag */
	size_t field;	      /* offset in struct options */
	enum options_kind kind;
	double min, max; /* numbers: range; SWITCH: on and off; FLAG: min is the value stored */
	const char *const *(*names)(void); /* CHOICE, CHOICES: NULL at the end */
	const char *fallback; /* a value, or in parentheses what holds without; NULL: neither */
	const char *text; /* of a listing row: the group's title, or NULL */
	enum options_completion completion;
	enum options_commands commands;
	enum options_from from;
	enum options_listing listing; /* of a listing row */
};

/* The table, in the order of options.def. */
extern const struct options_row options_rows[];
extern const size_t options_row_count;

/*
 * Names that a value may be, NULL at the end: what the picture can stand on, what boxes can be by
 * ("function" first, which is what they are), the runtimes of --jit ("none" first), shells that
 * completions are written for.
 */
const char *const *options_grounds(void);
const char *const *options_groupings(void);
const char *const *options_runtimes(void);
const char *const *options_shells(void);

/* Is @word one of the words of @list, which have commas between? A @list of NULL has none. */
bool options_has_word(const char *list, const char *word);

/* The row of that name, or NULL. */
const struct options_row *options_find(const char *name, size_t bytes);

/* Has @row a value where nobody gave one? */
static inline bool options_has_default(const struct options_row *row)
{
	return row->fallback && row->fallback[0] != '(';
}

/* Fill @options with the table's defaults. */
void options_init(struct options *options);

/*
 * Store @value (borrowed for as long as @options is used; NULL: a switch is on) unless what is
 * there has a higher rank. It is checked in any case. Outputs and
 * expressions of one rank and place add up; an empty expression takes back those before it.
 *
 * Returns 0, or -EINVAL with @message filled: what is wrong behind a name for the setting
 * ("--rate", "rate", "FLAMERUN_RATE", depending on @origin).
 */
int options_store(struct options *options, const struct options_row *row, const char *value,
	const struct options_origin *origin, struct diag_message *message);

/* Where the value of @row's field came from. */
const struct options_origin *options_origin(
	const struct options *options, const struct options_row *row);

/* Did anybody say what the setting called @name is to be? Else it is as built in. */
bool options_is_said(const struct options *options, const char *name);

/*
 * Read options from argv[*index] on, up to the first operand (a word without '-', or "-"), or past
 * "--". *@index is left at that operand, or at argc. May be called again behind an operand. Long
 * options may be abbreviated. @NAME asks for a preset.
 *
 * Returns 0, or -EINVAL with @message filled; -h, --version and --show-config are only noted in
 * ->action.
 */
int options_parse(struct options *options, int argc, char **argv, int *index,
	struct diag_message *message);

/*
 * Is there an option on the command line that means nothing to a command called @name? That command
 * is @is_top, @is_diff or neither, and runs programs or not. Returns 0, or -EINVAL with @message
 * filled.
 */
int options_check_command(const struct options *options, const char *name, bool is_top,
	bool is_diff, bool runs, struct diag_message *message);

/*
 * Put in what can only be known at the end: the default output when none was given.
 * Returns 0, or -EINVAL with @message filled: nothing tells an output's format.
 */
int options_finish(struct options *options, struct diag_message *message);

#endif
