/* SPDX-License-Identifier: MIT */
/*
 * system_calls.inc is made by the Makefile: a line [number] = "name", for each __NR_name of
 * <sys/syscall.h>, since headers have them as macros only.
 */
#include "cli/symbols/system_calls.h"

#include <stddef.h>

static const char *const names[] = {
#include "system_calls.inc"
};

const char *system_calls_name(long number)
{
	return number >= 0 && (size_t)number < sizeof(names) / sizeof(names[0]) ? names[number]
										: NULL;
}
