/* SPDX-License-Identifier: MIT */
/*
 * The way from an executable file through its "#!" interpreters to the ELF file that will run,
 * walked without executing anything.
 */
#ifndef CLI_RUN_WALK_H
#define CLI_RUN_WALK_H

#include <limits.h>

#define WALK_FIRST_BYTES 256 /* BINPRM_BUF_SIZE: what the kernel reads of a file to judge it */

struct walk {
	int directory;       /* what relative names are relative to */
	char file[PATH_MAX]; /* at the end: the ELF file, or the one that is the cause of an error
			      */
	char first[WALK_FIRST_BYTES + 1];        /* its beginning */
	char env_argument[WALK_FIRST_BYTES + 1]; /* what "#!/usr/bin/env ..." was given, or "" */
};

/*
 * Go from @file, relative to @directory. @walk need not be initialised.
 *
 * Returns 0 at an ELF file or at one that can be executed but not read; -ENOEXEC when the kernel
 * knows no way to run it; otherwise -errno, as execve() would (-EISDIR for a folder).
 */
int walk_from(struct walk *walk, int directory, const char *file);

#endif
