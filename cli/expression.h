/* SPDX-License-Identifier: MIT */
/*
 * Which regular expressions are taken: POSIX extended ones that glibc compiles, and that do not
 * make it take all memory.
 */
#ifndef CLI_EXPRESSION_H
#define CLI_EXPRESSION_H

#define EXPRESSION_WHY_BYTES 160

/*
 * Returns 0, or -EINVAL with what is wrong in @why, to be followed by the expression itself:
 * "Unmatched ( or \( at character 3 of".
 */
int expression_check(const char *text, char why[EXPRESSION_WHY_BYTES]);

#endif
