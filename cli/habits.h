/* SPDX-License-Identifier: MIT */
/*
 * Options that other profilers have, for those whose fingers know them.
 */
#ifndef CLI_HABITS_H
#define CLI_HABITS_H

#include <stddef.h>

/*
 * What to tell somebody who gave the option of @bytes at @word, without its dashes, which flamerun
 * does not have. Never NULL; a constant.
 */
const char *habits_hint(const char *word, size_t bytes);

#endif
