/* SPDX-License-Identifier: MIT */
/*
 * Recognise files of other programs that flamerun does not read, in order to name the command that
 * converts them. Files that count calls without stacks (gmon.out, callgrind, pstats) cannot be
 * converted: a flame graph of them would be invented.
 */
#ifndef CLI_FORMATS_FOREIGN_H
#define CLI_FORMATS_FOREIGN_H

#include <stddef.h>

#include "cli/diag.h"

/*
 * Refuse the file that begins with @bytes bytes at @text if it is one of another program. @name is
 * for the message. Returns -ENODATA with @message filled, or 0 if the file is not recognised.
 */
int foreign_refuse(const char *text, size_t bytes, const char *name, struct diag_message *message);

#endif
