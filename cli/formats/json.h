/* SPDX-License-Identifier: MIT */
/*
 * Read JSON in place: a value is a range of the text and is parsed only when it is used.
 *
 * JSON libraries in Debian build the whole document in memory (a profile of 23 MB takes 220 MB in
 * jansson and 400 MB in json-c, so the largest files read here would take 5 to 9 GB). Profiles are
 * long lists of small numbers, which need to be read only once. Nothing is allocated here. Values
 * that are not used are only checked as far as needed to find their end.
 *
 * Context: any thread.
 */
#ifndef CLI_FORMATS_JSON_H
#define CLI_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Deepest nesting of lists and objects; deeper ones are refused. */
#define JSON_DEPTH_MAX 64u

/* A value, or the unread part of a list or object. Borrowed from the text. */
struct json {
	const char *at, *end;
};

/* Find the single value in @text. Returns 0 or -EBADMSG. */
int json_begin(const char *text, size_t bytes, struct json *value);

bool json_is_object(const struct json *value);
bool json_is_text(const struct json *value);

/* Start reading a list's items or an object's members. Returns 0, or -EBADMSG for other values. */
int json_list(const struct json *value, struct json *list);
int json_object(const struct json *value, struct json *object);

/* Read the next item or member. Returns 1, 0 at the end, or -EBADMSG with list->at at the error. */
int json_next(struct json *list, struct json *item);
int json_next_member(struct json *object, struct json *name, struct json *value);

/* Find the first member @name of object @value. Returns 1, 0 if there is none, or -EBADMSG. */
int json_member(const struct json *value, const char *name, struct json *member);

/* Parse a number. Returns 0, or -EBADMSG if it is not a number or too large for a double. */
int json_number(const struct json *value, double *number);

/* Parse a non-negative integer below @limit. Returns 0 or -EBADMSG. */
int json_index(const struct json *value, uint32_t limit, uint32_t *number);

/*
 * Decode a string to UTF-8 in @out, cut to @room bytes with the NUL. NULs and unpaired surrogates
 * become U+FFFD; invalid UTF-8 is copied. Returns 0 or -EBADMSG.
 */
int json_text(const struct json *value, char *out, size_t room);

#endif
