/* SPDX-License-Identifier: MIT */
/*
 * Outputs meet formats: one call tree, written to every output that was asked for, under names that
 * may have gaps, filled when the run knows what goes there; libprof/placeholder.h says which there
 * are. %p is the child's pid, %t the start of the run. How a file is written is outputs.h's.
 */
#ifndef CLI_RUN_RESULTS_H
#define CLI_RUN_RESULTS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "cli/diag.h"
#include "cli/options.h"
#include "render/calltree.h"
#include "render/picture.h"

/* ---- gaps of names --------------------------------------------------------------------------- */

struct pattern_values {
	pid_t child;      /* 0: not known yet, "%p" is left as it is */
	bool has_child;   /* false: there will never be one, and "%p" is refused */
	time_t started_s; /* seconds since the epoch */
};

/*
 * Fill the gaps of @pattern into @out. A value never leads to another folder: its slashes become
 * '_', and so does a dot it would begin a name with. "%p" stands in the file's name only.
 *
 * Returns 0, or -errno with @message filled: -EINVAL for a gap that is none of the above, -ENOENT
 * for a variable that is not set, -ENAMETOOLONG.
 */
int pattern_fill(char out[PATH_MAX], const char *pattern, const struct pattern_values *values,
	struct diag_message *message);

/* Does @pattern depend on the child's pid? */
bool pattern_has_child(const char *pattern);

/* ---- outputs --------------------------------------------------------------------------------- */

struct results;

struct results_written {
	unsigned failed;  /* outputs that could not be written */
	unsigned unread;  /* of these: pipes whose reader had gone */
	bool has_stacks;  /* one that could holds stacks: folded or pprof */
	const char *show; /* the first SVG that could, for a browser, or NULL (borrowed) */
};

/*
 * Fill the names of options->outputs (@options is finished, borrowed) and prove that they can be
 * written. "-" is standard output. @has_child: a program is going to run; it shares standard output
 * with us, so that "-" is refused, and its pid is what "%p" is waiting for.
 *
 * Returns 0 and an owned object in *@out, or -errno with @message filled.
 */
int results_open(struct results **out, const struct options *options, bool has_child,
	struct diag_message *message);
void results_free(struct results *results); /* NULL is fine */

/* The program's pid is known: the names that depend on it get it. */
void results_name_child(struct results *results, pid_t child);

/* What is written is what is there so far, and more comes: stores get a run once, at its end. */
void results_are_so_far(struct results *results, bool is_so_far);

/*
 * Write @tree (finished), each output in its format. A failure is reported and the other outputs
 * are still written. @is_alone: no program is using our terminal, progress may be shown.
 */
void results_write(struct results *results, const struct calltree *tree,
	const struct picture_options *picture, bool is_alone, struct results_written *written);

/*
 * When an output could not be written, a run that may have taken hours is not thrown away.
 *
 * Write @tree (finished), of which @picture tells what it counts, as a pprof profile to a new file
 * "flamerun-XXXXXX.pb.gz" in $TMPDIR, or where that is not set or has no room for it, in /tmp,
 * /var/tmp or, as memory may be what is left, in /dev/shm. That is the smallest format that has all
 * of it: what waits apart from what runs, lines, threads and machines.
 *
 * Returns 0 and its name in @path, or -errno with @message filled and nothing left behind.
 */
int results_rescue(const struct calltree *tree, const struct picture_options *picture,
	char path[PATH_MAX], struct diag_message *message);

/*
 * When a run is over: what could not be written as @written says is saved so, unless there are its
 * stacks in another output; what was written is shown if @options want that. Reports.
 */
void results_finish(const struct options *options, const struct calltree *tree,
	const struct picture_options *picture, const struct results_written *written);

/*
 * Show a finished picture: the person's browser is started and left alone.
 * Start $BROWSER (names separated by ':', "%s" in one is where the file goes) or, when that is not
 * set, xdg-open on @path. It belongs to no session, terminal or output of ours, and is not waited
 * for: only its exec is.
 *
 * Returns 0, or -errno with @message filled when nothing could be started.
 */
int opener_start(const char *path, struct diag_message *message);

#endif
