/* SPDX-License-Identifier: MIT */
/*
 * When a file is certainly no folded stacks. Nearly any text could be: what ends in a number is a
 * stack, and single lines that are none are left out. What is said here is said of the file's first
 * lines, so that a damaged end costs only itself.
 */
#ifndef CLI_FORMATS_FOLDED_DOUBT_H
#define CLI_FORMATS_FOLDED_DOUBT_H

#include <stddef.h>
#include <stdint.h>

#include "cli/diag.h"

/* A file of which none of so many lines is a stack has none. */
#define FOLDED_DOUBT_LINES 100

/*
 * Look at @line (of @bytes), the line @number (from 1, at most FOLDED_DOUBT_LINES) of @name.
 * Returns 0, or -ENODATA with @message filled: the beginning of another kind of file, or bytes that
 * no text has.
 */
int folded_doubt_line(const char *line, size_t bytes, uint64_t number, const char *name,
	struct diag_message *message);

/*
 * None of the first @count lines that are not empty was a stack; the first of them was the line
 * @number. Returns -ENODATA with @message filled.
 */
int folded_doubt_all(
	uint64_t count, uint64_t number, const char *name, struct diag_message *message);

/*
 * Of @name each line that is a stack ends with two numbers. Returns -ENODATA with @message filled.
 */
int folded_doubt_doubles(const char *name, struct diag_message *message);

#endif
