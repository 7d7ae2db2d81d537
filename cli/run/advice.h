/* SPDX-License-Identifier: MIT */
/*
 * What to type instead, for a command that cannot be run: the word was meant for a shell, for env,
 * for an interpreter, or is mistyped.
 */
#ifndef CLI_RUN_ADVICE_H
#define CLI_RUN_ADVICE_H

#include "cli/diag.h"

struct advice_request {
	const char *program; /* the word, as it was given */
	const char *path;    /* the search path; NULL: the standard one, whose programs are not
				looked through */
	const char *shell;   /* the user's, "/bin/bash"; NULL: unknown */
	int directory;	     /* descriptor relative names start from, AT_FDCWD */
};

/*
 * Set the hint of @message (already filled) to what would have worked; nothing when nothing is
 * known. @error is why the program cannot be run, from preflight(). Reads folders of the search
 * path; starts nothing. Everything is borrowed.
 */
void advice_give(const struct advice_request *request, int error, struct diag_message *message);

/*
 * The program @argv[0] has ended. Say so if one of its arguments was an output for flamerun: "-o"
 * and a picture's name, where there is no such file.
 */
void advise_outputs(char *const *argv);

#endif
