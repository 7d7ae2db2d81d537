/* SPDX-License-Identifier: MIT */
/*
 * How functions of virtual machines are called in trees and pictures: "name (file:line)", in the
 * module "[vm]". Formats that have fields of their own for file and line get them out of that
 * again, so that they survive every way from one file to another.
 */
#ifndef CLI_PROFILE_MACHINE_NAME_H
#define CLI_PROFILE_MACHINE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libprof/pprof/fields.h"
#include "render/calltree.h"

#define MACHINE_MODULE PPROF_MACHINE_FILE

/* Returns the whole, from malloc, or NULL without memory. @file "" and @line 0 are not known. */
char *machine_name_make(const char *name, const char *file, uint32_t line);

/* The parts of a name: lengths of name and file, which begins at @file. */
struct machine_name {
	size_t name_bytes;
	const char *file;
	size_t file_bytes;
	uint32_t line;
};

/*
 * Take "name (file:line)" apart at the last " (". Returns false for a name without both: it is the
 * name as it is.
 */
bool machine_name_split(const char *text, struct machine_name *out);

/* Is @frame a virtual machine's, its root included? */
bool machine_name_is_of(const struct calltree_frame *frame);

#endif
