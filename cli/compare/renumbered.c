/* SPDX-License-Identifier: MIT */
#include "cli/compare/renumbered.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/expression.h"
#include "cli/symbols/demangle.h"

/*
 * The Makefile makes this table from share/viewer/renumbered.js. The last rule cuts off lines, only
 * from names that one version lacks.
 */
static const struct {
	const char *pattern, *by;
} rules[] = {
#include "renumbered.inc"
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

/* A rule makes a name at most so much longer. */
#define LONGER_BYTES 16

struct renumbered {
	struct expression *rule[RULES];
};

int renumbered_new(struct renumbered **out)
{
	struct renumbered *made = calloc(1, sizeof(*made));
	char why[EXPRESSION_WHY_BYTES];

	for (size_t i = 0; made && i < RULES; i++)
		if (expression_new(&made->rule[i], rules[i].pattern, why)) {
			renumbered_free(made);
			return -ENOMEM; /* tests compile all rules */
		}
	*out = made;
	return made ? 0 : -ENOMEM;
}

void renumbered_free(struct renumbered *renumbered)
{
	for (size_t i = 0; renumbered && i < RULES; i++)
		expression_free(renumbered->rule[i]);
	free(renumbered);
}

char *renumbered_name(const struct renumbered *renumbered, const char *name, bool is_common)
{
	size_t bytes = strlen(name) + LONGER_BYTES + 1;
	char *text = malloc(bytes), *other = malloc(bytes);

	if (text && other) {
		strcpy(text, name);
		demangle_drop_copies(text);
		for (size_t i = 0; i < RULES - is_common; i++)
			if (!expression_replace(
				    renumbered->rule[i], text, rules[i].by, other, bytes)) {
				char *last = text;

				text = other;
				other = last;
			}
		if (!*text)
			strcpy(text, name);
	} else {
		free(text);
		text = NULL;
	}
	free(other);
	return text;
}
