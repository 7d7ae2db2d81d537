/* SPDX-License-Identifier: MIT */
/*
 * Completion scripts for shells, made from the options table. Those in completions/ are what
 * `make completions` wrote; tests/lint/lint_settings.py holds them to it.
 */
#ifndef CLI_COMPLETIONS_H
#define CLI_COMPLETIONS_H

#include <stdio.h>

/* Write the script for @shell, one of options_shells(). Returns 0 or -errno of @out. */
int completions_write(const char *shell, FILE *out);

#endif
