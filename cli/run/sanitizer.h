/* SPDX-License-Identifier: MIT */
/*
 * Programs whose sanitizer ends them when a library is preloaded.
 */
#ifndef CLI_RUN_SANITIZER_H
#define CLI_RUN_SANITIZER_H

#include "cli/diag.h"
#include "cli/run/needed.h"

/*
 * AddressSanitizer as a shared library ends a program in which anything was loaded before it, and
 * preloaded libraries are, unless ASAN_OPTIONS of our environment tells it not to look. Other
 * sanitizers, and it linked statically, do not look.
 *
 * @name  what to call the program in messages. Everything is borrowed.
 * Returns 0, or -ENOTSUP with @message filled.
 */
int sanitizer_check(const struct needed_file *file, const char *name, struct diag_message *message);

#endif
