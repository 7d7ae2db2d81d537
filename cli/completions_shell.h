/* SPDX-License-Identifier: MIT */
/*
 * What the completion scripts of all shells are made of. Only completions*.c include this.
 */
#ifndef CLI_COMPLETIONS_SHELL_H
#define CLI_COMPLETIONS_SHELL_H

#include <stdio.h>

#include "cli/options.h"

/*
 * Prints the presets of the usual files as @NAME, in every shell: sh -c has the one way to say
 * "this variable, else that". As for flamerun itself a name that is not absolute counts for none.
 */
#define COMPLETIONS_PRESETS                                                                        \
	"sh -c 'case $XDG_CONFIG_HOME in /*) user=$XDG_CONFIG_HOME ;; *) user=~/.config ;; esac\n" \
	"\t\texec sed -n \"s/^[[:blank:]]*\\[preset  *\\([^]]*\\)\\].*/@\\1/p\" \\\n"              \
	"\t\t\t/etc/flamerun.ini \"$user/flamerun/flamerun.ini\" .flamerun.ini' 2>/dev/null"

typedef void completions_each_fn(const struct options_row *row, FILE *out);

/* Call @each with every row of the table that is not hidden. */
void completions_each(completions_each_fn *each, FILE *out);

/* The names a CHOICE has, with @between between them. */
void completions_choices(const struct options_row *row, const char *between, FILE *out);

/* The first line of the text, without a colon at its end; in single quotes' safety. */
void completions_text(const struct options_row *row, FILE *out);

/* The row's letter, if it has one and takes a value; if it has one and takes none. */
void completions_letter_with_value(const struct options_row *row, FILE *out);
void completions_letter_of_switch(const struct options_row *row, FILE *out);

/* Each writes the whole script of one shell. Errors stay with @out. */
void completions_bash(FILE *out);
void completions_zsh(FILE *out);
void completions_fish(FILE *out);

#endif
