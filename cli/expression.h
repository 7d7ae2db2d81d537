/* SPDX-License-Identifier: MIT */
/*
 * Compile and match regular expressions by PCRE2. Its settings make an expression mean the same as
 * in JavaScript, because the viewer's search uses JavaScript. flamerun(1) lists the differences
 * that remain.
 *
 * Context: any thread, one at a time for each expression.
 */
#ifndef CLI_EXPRESSION_H
#define CLI_EXPRESSION_H

#include <stddef.h>

#define EXPRESSION_WHY_BYTES 160

struct expression;

/*
 * Compile @text. Returns 0 with *@out owned by the caller, -ENOMEM, or -EINVAL. After an error @why
 * has a text such as "missing closing parenthesis in", which @text should follow.
 */
int expression_new(
	struct expression **out, const char *text, char why[static EXPRESSION_WHY_BYTES]);
void expression_free(struct expression *expression); /* NULL is fine */

/*
 * Is there a match in the first @bytes of @text? Returns 1, 0, or -EAGAIN if matching takes so many
 * steps that it was given up.
 */
int expression_match(const struct expression *expression, const char *text, size_t bytes);

/*
 * Write @text with each match replaced by @by, in which $1 is the match's first group. Returns 0,
 * or -errno if the result does not fit or matching was given up.
 */
int expression_replace(const struct expression *expression, const char *text, const char *by,
	char *out, size_t size);

#endif
