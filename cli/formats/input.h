/* SPDX-License-Identifier: MIT */
/*
 * Read a file of stacks in any format: folded stacks, pprof, speedscope, perf.data or perf script,
 * a picture of flamerun, a job. The format is found by the file's name or by its first bytes.
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
	const char *path; /* borrowed; "-": standard input */
	/* @path, or "standard input", for messages */
	const char *name;
	/* @other: stacks of a second kind of time; empty if there is none */
	struct calltree *tree, *other;
	/* stacks with the values of facts.unread, if the request keeps types; else NULL */
	struct calltree *kept[INPUT_TYPES_MAX];
	struct input_facts facts; /* all zero for folded stacks */
	struct folded_bad bad;
};

/*
 * Read @path (borrowed as long as @input) with @request (borrowed for the call). Skipped lines and
 * time of another kind are reported to the user. Returns 0 with finished trees, or -errno with
 * @message filled. The caller must release @input in both cases.
 */
int input_read(struct input *input, const char *path, const struct input_request *request,
	struct diag_message *message);

/*
 * Read folded stacks @path with counts of two versions of a program into two @inputs. Returns 0, or
 * -errno with @message filled; -ENODATA for other formats. The caller must release both in any
 * case.
 */
int input_read_versions(
	struct input inputs[FOLDED_VERSIONS], const char *path, struct diag_message *message);

/* Report it to the user if @input has no stacks, because a program ran too briefly. */
void input_report_empty(const struct input *input);

void input_release(struct input *input);

#endif
