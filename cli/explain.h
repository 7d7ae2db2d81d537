/* SPDX-License-Identifier: MIT */
/*
 * Print messages by their cause. The table is explain.def.
 *
 * In a text of the table "{name}", "{other}", "{why}", "{n}", "{percent}" and "{seconds}" stand for
 * the member of struct explain_facts of that name. "{thread|threads}" stands for the first word if
 * `n` is 1, otherwise for the second.
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/diag.h"

/* A rate that is worth recommending: higher than the default, and not yet costly. */
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

/* Values of the placeholders. Texts are borrowed; NULL is as "". */
struct explain_facts {
	const char *name; /* of the file, process or word that the message is about */
	const char *other;
	const char *why;
	uint64_t n;
	double percent; /* printed with one decimal */
	double seconds; /* printed with two decimals */
};

/* The address of a struct explain_facts with these members, for an argument of a call. */
#define FACTS(...) (&(const struct explain_facts){__VA_ARGS__})

/* Write @text with its placeholders replaced into @out, cut to @size bytes. */
void explain_expand(char *out, size_t size, const char *text, const struct explain_facts *facts);

/*
 * Fill @message (may be NULL) with the message and the hint of @cause. Without a message only the
 * hint is set. Returns @error, a negative errno.
 */
int explain(struct diag_message *message, int error, enum explanation cause,
	const struct explain_facts *facts);

/* Print the message of @cause, if it has one, and "hint: " with its hint, unless quiet. */
void explain_print(enum explanation cause, const struct explain_facts *facts);

/* Write the name of user @uid, or "uid 1000" if it has none. */
void explain_user(char *out, size_t size, uid_t uid);

#endif
