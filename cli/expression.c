/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions are compiled where they are given, so that a mistake is told before anything
 * runs; regcomp() itself does not say where it stumbled.
 */
#include "cli/expression.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc's regcomp copies what is repeated: a few nested repeats take all memory. */
#define BYTES_MAX  1000
#define COPIES_MAX 1000

/*
 * At most how often something in @text is copied, as if all repeats were nested. An interval makes
 * as many copies as it allows; "x+" is "xx*" to glibc, which matters where x repeats itself.
 */
static double copies_in(const char *text)
{
	double product = 1;

	for (const char *at = text; *at; at++) {
		double most = 1;

		if (*at == '+' && at > text && strchr(")+*?}", at[-1]))
			product *= 2;
		if (*at != '{')
			continue;
		for (at++; *at >= '0' && *at <= '9'; at++)
			most = fmax(most, strtod(at, NULL));
		if (*at == ',')
			for (at++; *at >= '0' && *at <= '9'; at++)
				most = fmax(most, strtod(at, NULL));
		product *= most;
		at--;
	}
	return product;
}

/* Is what @bytes of @text are an expression? Else its regcomp() error is in @why unless NULL. */
static int compile(const char *text, size_t bytes, char *why, size_t size)
{
	char part[BYTES_MAX + 1];
	regex_t regex;
	int error;

	memcpy(part, text, bytes);
	part[bytes] = '\0';
	error = regcomp(&regex, part, REG_EXTENDED | REG_NOSUB);
	if (!error)
		regfree(&regex);
	else if (why)
		regerror(error, &regex, why, size);
	return error;
}

/* The mistake is behind the longest beginning that is an expression by itself. */
int expression_check(const char *text, char why[EXPRESSION_WHY_BYTES])
{
	size_t bytes = strlen(text), good = bytes;
	char error[EXPRESSION_WHY_BYTES - 40];

	if (bytes > BYTES_MAX) {
		snprintf(why, EXPRESSION_WHY_BYTES, "more than %d bytes in", BYTES_MAX);
		return -EINVAL;
	}
	if (copies_in(text) > COPIES_MAX) {
		snprintf(why, EXPRESSION_WHY_BYTES, "more than %d repeats by '{}' and '+' in",
			COPIES_MAX);
		return -EINVAL;
	}
	if (!compile(text, bytes, error, sizeof(error)))
		return 0;
	do
		good--;
	while (good && compile(text, good, NULL, 0));
	snprintf(why, EXPRESSION_WHY_BYTES, "%s at character %zu of", error, good + 1);
	return -EINVAL;
}
