/* SPDX-License-Identifier: MIT */
/*
 * Print the result of a comparison: for a terminal, as JSON, and for a function's box in a picture.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_CHANGE_TEXT_H
#define CLI_COMPARE_CHANGE_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "cli/compare/changes.h"

/* Version of the JSON. */
#define CHANGE_TEXT_JSON_VERSION 1

#define CHANGE_TEXT_BYTES 160

/* Print "201 ms to 231 ms a run, +15.0 % (+9.1 % to +21.3 %)", or "" if @function is untested. */
void change_text_of(const struct changes *changes, uint32_t function, char text[CHANGE_TEXT_BYTES]);

/* Print the relative change: "+15.0 % (+9.1 % to +21.3 %)", "new" or "gone". */
void change_text_part(const struct change *change, char text[CHANGE_TEXT_BYTES]);

/* Returns the name of the changed function, which may contain any bytes, or "the program". */
const char *change_text_name(const struct changes *changes, const struct change *change);

/*
 * Write the result as a table, or as JSON. @limit is the maximum number of functions, 0: 20 in the
 * table, all in JSON. Returns 0, or -errno if writing to @out fails.
 */
int change_text_put(const struct changes *changes, uint32_t limit, FILE *out);
int change_text_put_json(const struct changes *changes, uint32_t limit, FILE *out);

#endif
