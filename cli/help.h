/* SPDX-License-Identifier: MIT */
/*
 * What --help and --version say. Both go to stdout: they are what was asked for.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

/* Write the help, made from the options table, to @out. Returns 0 or -errno of @out. */
int help_write(FILE *out);

/* Write "flamerun <version>" to @out. Returns 0 or -errno of @out. */
int help_write_version(FILE *out);

#endif
