/* SPDX-License-Identifier: MIT */
#include "cli/expression.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/*
 * The meaning of JavaScript: \xHH and \uHHHH are characters, [] matches nothing, a reference to a
 * group that did not match is empty, and $ is the very end. Only DOTALL differs: a name with a line
 * break is shown on one line, so that "." matches the break.
 */
#define JAVASCRIPT                                                              \
	(PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF | \
		PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL)

/* Names may be damaged. \C would match a part of a character. */
#define TEXT (PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C)

/* Some milliseconds. Expressions such as (a+)+$ would take years for some names. */
#define STEPS_MAX 100000

struct expression {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *limits;
};

static int describe_error(int error, char *why)
{
	unsigned char text[EXPRESSION_WHY_BYTES - 40];

	if (error == PCRE2_ERROR_HEAP_FAILED || error == PCRE2_ERROR_NOMEMORY) {
		snprintf(why, EXPRESSION_WHY_BYTES, "out of memory for");
		return -ENOMEM;
	}
	pcre2_get_error_message(error, text, sizeof(text));
	/* Versions of PCRE2 disagree about the place of the error. */
	snprintf(why, EXPRESSION_WHY_BYTES, "%s in", (char *)text);
	return -EINVAL;
}

int expression_new(struct expression **out, const char *text, char why[static EXPRESSION_WHY_BYTES])
{
	struct expression *made = calloc(1, sizeof(*made));
	int error = PCRE2_ERROR_NOMEMORY;
	size_t offset = 0;

	if (made)
		made->code = pcre2_compile(
			(PCRE2_SPTR)text, strlen(text), JAVASCRIPT | TEXT, &error, &offset, NULL);
	if (made && made->code) {
		made->data = pcre2_match_data_create_from_pattern(made->code, NULL);
		made->limits = pcre2_match_context_create(NULL);
		error = made->data && made->limits ? 0 : PCRE2_ERROR_NOMEMORY;
	}
	if (error) {
		expression_free(made);
		return describe_error(error, why);
	}
	pcre2_set_match_limit(made->limits, STEPS_MAX);
	*out = made;
	return 0;
}

void expression_free(struct expression *expression)
{
	if (!expression)
		return;
	pcre2_match_context_free(expression->limits);
	pcre2_match_data_free(expression->data);
	pcre2_code_free(expression->code);
	free(expression);
}

int expression_match(const struct expression *expression, const char *text, size_t bytes)
{
	int found = pcre2_match(expression->code, (PCRE2_SPTR)text, bytes, 0, 0, expression->data,
		expression->limits);

	return found >= 0 ? 1 : found == PCRE2_ERROR_NOMATCH ? 0 : -EAGAIN;
}

int expression_replace(const struct expression *expression, const char *text, const char *by,
	char *out, size_t size)
{
	int count = pcre2_substitute(expression->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0,
		PCRE2_SUBSTITUTE_GLOBAL, expression->data, expression->limits, (PCRE2_SPTR)by,
		PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)out, &size);

	return count >= 0 ? 0 : count == PCRE2_ERROR_NOMEMORY ? -ENOBUFS : -EAGAIN;
}
