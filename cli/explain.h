/* SPDX-License-Identifier: MIT */
/*
 * Print messages by their cause. The table of messages is explain.def.
 *
 * In the table's texts, "{name}", "{other}", "{why}", "{n}", "{percent}" and "{seconds}" stand for
 * the member of struct explain_facts with that name. "{thread|threads}" stands for the first word
 * if `n` is 1, otherwise for the second word.
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"

/* Hz. A rate that messages recommend: higher than the default rate, but its cost is still low. */
#define EXPLAIN_HIGHER_HZ 997

/* The value of macro @x as a string literal. */
#define EXPLAIN_STRING(x)  EXPLAIN_LITERAL(x)
#define EXPLAIN_LITERAL(x) #x

enum explanation {
#define EXPLAIN(cause, message, hint) EXPLAIN_##cause,
#include "cli/explain.def"
#undef EXPLAIN
	EXPLAIN_COUNT
};

/* Values of the placeholders. Texts are borrowed. NULL has the meaning of "". */
struct explain_facts {
	/* The file, process or word that the message is about. */
	const char *name;
	const char *other;
	const char *why;
	uint64_t n;
	double percent; /* printed with one decimal */
	double seconds; /* printed with two decimals */
};

/* The address of a temporary struct explain_facts with these members, for a call. */
#define FACTS(...) (&(const struct explain_facts){__VA_ARGS__})

/*
 * Write @text into @out, cut to @size bytes, and replace its placeholders by the values in @facts.
 */
void explain_expand(char *out, size_t size, const char *text, const struct explain_facts *facts);

/*
 * Fill @message (may be NULL) with the message and the hint of @cause. If the cause has only a
 * hint, only the hint of @message is set. Returns @error, a negative errno.
 */
int explain(struct diag_message *message, int error, enum explanation cause,
	const struct explain_facts *facts);

/* Print the message of @cause, if any, then its hint, if any. Print nothing if quiet. */
void explain_print(enum explanation cause, const struct explain_facts *facts);

/* Write the name of user @uid into @out, or "uid 1000" if the user has no name. */
void explain_user(char *out, size_t size, uid_t uid);

#endif
