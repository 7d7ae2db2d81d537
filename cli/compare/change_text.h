/* SPDX-License-Identifier: MIT */
/*
 * What changed, in words and numbers: for a terminal, as JSON, and of one function for its box.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_CHANGE_TEXT_H
#define CLI_COMPARE_CHANGE_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "cli/compare/changes.h"

/* The version of the JSON's form. */
#define CHANGE_TEXT_JSON_VERSION 1

#define CHANGE_TEXT_BYTES 160

/* "old 201 ms, new 231 ms a run: +15.0 % (+9.1 % to +21.3 %)"; "" of what nothing is known. */
void change_text_of(const struct changes *changes, uint32_t function, char text[CHANGE_TEXT_BYTES]);

/* How much more it is, "+15.0 %", "new" or "gone". */
void change_text_part(const struct change *change, char text[CHANGE_TEXT_BYTES]);

/* The name of what changed, any bytes. */
const char *change_text_name(const struct changes *changes, const struct change *change);

/* Write all; @limit: rows of functions, 0: as usual. Returns 0 or -errno of @out. */
int change_text_put(const struct changes *changes, uint32_t limit, FILE *out);
int change_text_put_json(const struct changes *changes, uint32_t limit, FILE *out);

#endif
