/* SPDX-License-Identifier: MIT */
/*
 * A file of stacks, whichever format it has: folded text, a pprof profile, a file for speedscope,
 * what perf recorded, or a picture that flamerun drew. The name tells where it can, else how the
 * file begins.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_INPUT_H
#define CLI_FORMATS_INPUT_H

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "cli/formats/folded.h"
#include "render/calltree.h"

struct input {
	const char *path;	       /* borrowed; "-": standard input */
	const char *name;	       /* the same for messages */
	struct calltree *tree, *other; /* of another kind of time; empty where there is none */
	struct input_facts facts;      /* all zero for folded stacks */
	struct folded_bad bad;
};

/*
 * Read @path (borrowed as long as @input) as @request (borrowed) wants it. Lines that are no
 * stacks, and time of another kind are reported.
 * Returns 0 with finished trees, or -errno with @message filled. To be released in any case.
 */
int input_read(struct input *input, const char *path, const struct input_request *request,
	struct diag_message *message);

/*
 * Read @path, folded stacks with a count for each of two versions of a program, into @inputs.
 * Returns as input_read() does, -ENODATA for any other file. Both are to be released in any case.
 */
int input_read_versions(
	struct input inputs[FOLDED_VERSIONS], const char *path, struct diag_message *message);

/* Tell that it has no stacks, as flamerun itself writes it when a program was too short. */
void input_report_empty(const struct input *input);

void input_release(struct input *input);

#endif
