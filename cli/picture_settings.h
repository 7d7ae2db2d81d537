/* SPDX-License-Identifier: MIT */
/* Translate options into parameters of the functions in render/: picture options and trees. */
#ifndef CLI_PICTURE_SETTINGS_H
#define CLI_PICTURE_SETTINGS_H

#include <stdbool.h>

#include "cli/formats/facts.h"
#include "cli/options.h"
#include "render/calltree.h"
#include "render/picture.h"
#include "render/transform.h"

/*
 * Copy the settings of @options (finished; strings are borrowed) into @picture. A text of @picture
 * stays if @options has no such text. If SOURCE_DATE_EPOCH is set, it becomes picture->created_s.
 */
void picture_settings(const struct options *options, struct picture_options *picture);

/* Returns how to read a file of stacks. @options is finished, and its strings are borrowed. */
struct input_request picture_input(const struct options *options);

/* Returns which stacks to draw: on a CPU, waiting (--sample-type wait), or both (--wall). */
enum calltree_times picture_times(const struct options *options);

/* Does each input file get a root frame of its own? */
bool picture_by_file(const struct options *options);

/* Does each rank or node of a job get a root frame of its own? */
bool picture_by_rank(const struct options *options);

/*
 * Check --by and --threads. @has_files: the command accepts several files. Returns 0, or -EINVAL
 * with @message filled.
 */
int picture_check_groups(
	const struct options *options, bool has_files, struct diag_message *message);

/*
 * Compile the expressions of @list, the values of option --@name. Set @matcher to match a frame if
 * at least one expression matches. *@out (owned) must live as long as @matcher. If @list is empty,
 * *@out is NULL and @matcher is unchanged. Returns 0, or -errno with @message filled.
 */
struct picture_expressions;
int picture_expressions_new(struct picture_expressions **out, const char *name,
	const struct options_list *list, struct transform_matcher *matcher,
	struct diag_message *message);
void picture_expressions_free(struct picture_expressions *expressions); /* NULL is fine */

/* The stages of the tree that is drawn. If a step changed nothing, two pointers are equal. */
struct picture_trees {
	enum calltree_times times;	 /* which stacks are drawn */
	const struct calltree *whole;	 /* the input tree, borrowed */
	/* @whole after the filters. A function has one frame per line. Used for profiles. */
	const struct calltree *filtered;
	/* @filtered with a single frame per function */
	const struct calltree *merged;
	/* the stacks of @merged that @times selects; used for tables of numbers */
	const struct calltree *functions;
	const struct calltree *everything; /* @merged after grouping and reversing */
	const struct calltree *shown;	 /* @everything restricted to @times */
};

/*
 * Make @trees from @tree, which is finished and borrowed until picture_trees_release(). Report the
 * weight that each filter drops, as "N @unit of @of"; @of may be "", and if @unit is NULL, nothing
 * is reported. Returns 0, or -errno with @message filled and nothing to release.
 */
int picture_trees_make(struct picture_trees *trees, const struct calltree *tree,
	const struct options *options, enum calltree_times times, const char *unit, const char *of,
	struct diag_message *message);

void picture_trees_release(struct picture_trees *trees);

/* Set picture->times and the further trees that a picture needs. These are borrowed from @trees. */
void picture_trees_settings(const struct picture_trees *trees, struct picture_options *picture);

/* Returns the weight of the stacks of trees->whole that trees->times selects. */
uint64_t picture_trees_weight(const struct picture_trees *trees);

/* Returns the text to draw if options left no stacks; NULL if there are stacks. */
const char *picture_trees_empty(const struct picture_trees *trees);

#define PICTURE_SUBTITLE_BYTES 512

/*
 * Write into @out a text with the filters, the drawn share of the weight and @subtitle, so that
 * nobody mistakes a filtered picture for the whole profile.
 */
void picture_trees_subtitle(const struct picture_trees *trees, const struct options *options,
	const char *subtitle, char out[PICTURE_SUBTITLE_BYTES]);

#define PICTURE_FILTERS_BYTES 256

/*
 * Write into @out a text with the filters and the share of the weight that is left, for an output
 * profile; "" if nothing was filtered. @before is this text of the input, or "".
 */
void picture_trees_filters(const struct picture_trees *trees, const struct options *options,
	const char *before, char out[PICTURE_FILTERS_BYTES]);

#endif
