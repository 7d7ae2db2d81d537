/* SPDX-License-Identifier: MIT */
/*
 * JSON where it lies: values are places in a text, looked into when they are asked for.
 *
 * Libraries that Debian has build all of it in memory first: of a profile of 23 MB jansson makes
 * 220 MB and json-c 400 MB, so that the largest files that are read here would take 5 to 9 GB.
 * Profiles are long lists of small numbers, which need to be read once and kept nowhere.
 *
 * Nothing is allocated. What is not looked at is only checked as far as it takes to find its end.
 *
 * Context: any thread.
 */
#ifndef CLI_FORMATS_JSON_H
#define CLI_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists within objects within lists: deeper ones are refused. */
#define JSON_DEPTH_MAX 64u

/* A value, or what is left of a list or object. All borrowed from the text. */
struct json {
	const char *at, *end;
};

/* The value that all of @text is. Returns 0, or -EBADMSG. */
int json_begin(const char *text, size_t bytes, struct json *value);

bool json_is_object(const struct json *value);
bool json_is_text(const struct json *value);

/*
 * Enter @value, to take its items or members one by one. Returns 0, or -EBADMSG when it is no list
 * or no object.
 */
int json_list(const struct json *value, struct json *list);
int json_object(const struct json *value, struct json *object);

/* Take the next one. Returns 1, 0 behind the last one, or -EBADMSG with list->at at the damage. */
int json_next(struct json *list, struct json *item);
int json_next_member(struct json *object, struct json *name, struct json *value);

/* The member @name of @value: the first of that name. Returns 1, 0: there is none, or -EBADMSG. */
int json_member(const struct json *value, const char *name, struct json *member);

/* Read a number. Returns 0, or -EBADMSG for anything else, and for what no double holds. */
int json_number(const struct json *value, double *number);

/* A whole number below @limit. Returns 0 or -EBADMSG. */
int json_index(const struct json *value, uint32_t limit, uint32_t *number);

/*
 * Decode a text into @out as UTF-8, cut to @room with its NUL. NUL, and surrogates without their
 * other half, become U+FFFD; bytes that are no UTF-8 stay as they are. Returns 0 or -EBADMSG.
 */
int json_text(const struct json *value, char *out, size_t room);

#endif
