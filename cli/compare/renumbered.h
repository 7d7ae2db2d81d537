/* SPDX-License-Identifier: MIT */
/*
 * Names by which functions of two versions are compared. Compilers and runtimes write numbers into
 * names that differ from one build or run to the next, although the function is the same:
 * "App$$Lambda$4.run" becomes "App$$Lambda.run". share/viewer/renumbered.js has the rules.
 *
 * Context: one thread.
 */
#ifndef CLI_COMPARE_RENUMBERED_H
#define CLI_COMPARE_RENUMBERED_H

#include <stdbool.h>

struct renumbered; /* the compiled rules */

/* Returns 0 with *@out owned by the caller, or -ENOMEM. */
int renumbered_new(struct renumbered **out);
void renumbered_free(struct renumbered *renumbered); /* NULL is fine */

/*
 * Returns the name for comparing @name, from malloc, or NULL if out of memory. Suffixes of
 * compilers' copies of a function are cut off, too (demangle_drop_copies()). @is_common: both
 * versions have this name, so the line in "name (file:line)" is kept.
 */
char *renumbered_name(const struct renumbered *renumbered, const char *name, bool is_common);

#endif
