/* SPDX-License-Identifier: MIT */
/*
 * Write one call tree to all outputs, each in its own format. Names of outputs may contain
 * placeholders (libprof/placeholder.h), which are filled when their values are known: "%p" is the
 * child's pid, "%t" the start of the run. outputs.h writes the files.
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

/* ---- placeholders in names ------------------------------------------------------------------- */

struct pattern_values {
	pid_t child;      /* 0: not known yet, "%p" is kept */
	bool has_child;   /* false: there is no child, "%p" is refused */
	time_t started_s; /* seconds since the epoch */
};

/*
 * Write @pattern to @out with its placeholders replaced by @values. A value cannot lead to another
 * folder: slashes in it become '_', and so does a dot at the beginning of a name. "%p" may be only
 * in the file's name, not in its folder. Returns 0, or -errno with @message filled: -EINVAL for an
 * unknown placeholder, -ENOENT for a variable that is not set, or -ENAMETOOLONG.
 */
int pattern_fill(char out[PATH_MAX], const char *pattern, const struct pattern_values *values,
	struct diag_message *message);

/* Does @pattern contain "%p", the child's pid? */
bool pattern_has_child(const char *pattern);

/* ---- outputs --------------------------------------------------------------------------------- */

struct results;

struct results_written {
	unsigned failed;  /* outputs that could not be written */
	unsigned unread;  /* failed pipes without a reader */
	bool has_stacks; /* true for folded or pprof */
	/* the first SVG file written, for a browser; borrowed, or NULL */
	const char *show;
};

/*
 * Fill the names of options->outputs (@options is finished; borrowed) and check that they can be
 * written. "-" is standard output. If @has_child, a program will run: "-" is refused, because the
 * program uses standard output, and results_name_child() fills "%p" later. Returns 0 with an owned
 * object in *@out, or -errno with @message filled.
 */
int results_open(struct results **out, const struct options *options, bool has_child,
	struct diag_message *message);
void results_free(struct results *results); /* NULL is fine */

/* Fill the program's pid into the names that contain "%p". */
void results_name_child(struct results *results, pid_t child);

/*
 * Set whether the next results are preliminary, because the run continues. They are not sent to
 * stores, so that a store receives each run once, at its end.
 */
void results_are_so_far(struct results *results, bool is_so_far);

/*
 * Write @tree (finished) to each output in its format. If an output fails, report this and write
 * the others. @is_alone: no program uses the terminal, so progress may be shown.
 */
void results_write(struct results *results, const struct calltree *tree,
	const struct picture_options *picture, bool is_alone, struct results_written *written);

/*
 * Save the stacks of a run whose output could not be written, because the run may have taken hours.
 * Write @tree (finished), described by @picture, as a pprof profile to a new file
 * "flamerun-XXXXXX.pb.gz" in $TMPDIR. If that fails, try /tmp, /var/tmp and /dev/shm, which is
 * memory. pprof is the smallest format that contains waits, lines, threads and virtual machines.
 * Returns 0 with the file's name in @path, or -errno with @message filled and no file left.
 */
int results_rescue(const struct calltree *tree, const struct picture_options *picture,
	char path[PATH_MAX], struct diag_message *message);

/*
 * Finish a run. If an output failed and no other output has the stacks, save them by
 * results_rescue(). Open a written picture if @options ask for it. Reports errors.
 */
void results_finish(const struct options *options, const struct calltree *tree,
	const struct picture_options *picture, const struct results_written *written);

/*
 * Open the picture @path in $BROWSER (commands separated by ':'; the file replaces "%s"), or by
 * xdg-open if BROWSER is not set. The browser does not use flamerun's session, terminal or output.
 * Wait only until its exec has succeeded. Returns 0, or -errno with @message filled if no command
 * could be started.
 */
int opener_start(const char *path, struct diag_message *message);

#endif
