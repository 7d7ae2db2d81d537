/* SPDX-License-Identifier: MIT */
/*
 * From what was asked for to what render/ is told: the one place where options become a picture.
 */
#ifndef CLI_PICTURE_SETTINGS_H
#define CLI_PICTURE_SETTINGS_H

#include <stdbool.h>

#include "cli/formats/facts.h"
#include "cli/options.h"
#include "render/calltree.h"
#include "render/picture.h"
#include "render/transform.h"

/*
 * Put what @options (finished) say into @picture; strings are borrowed. A title, subtitle or
 * name of what is counted that is there already is kept when the options have none. A picture is
 * created at SOURCE_DATE_EPOCH when the environment has that, else when @picture says.
 */
void picture_settings(const struct options *options, struct picture_options *picture);

/* What @options (finished; their strings are borrowed) want of a file of stacks. */
struct input_request picture_input(const struct options *options);

/* The stacks that @options want drawn: those on a CPU, with --wall those that wait as well. */
enum calltree_times picture_times(const struct options *options);

/* Is there to be a root for each file? */
bool picture_by_file(const struct options *options);

/* Or one for each rank or node? Only a job has those. */
bool picture_by_rank(const struct options *options);

/*
 * Can a command group as @options (finished) want? @has_files: it has several. Returns 0, or
 * -EINVAL with @message filled.
 */
int picture_check_groups(
	const struct options *options, bool has_files, struct diag_message *message);

/*
 * What matches one of the expressions of @list, given as --@name: as with --focus and its kin. An
 * empty list is NULL, and leaves @matcher as it is.
 * Returns 0, *@out and a matcher that is valid as long; or -errno with @message filled.
 */
struct picture_expressions;
int picture_expressions_new(struct picture_expressions **out, const char *name,
	const struct options_list *list, struct transform_matcher *matcher,
	struct diag_message *message);
void picture_expressions_free(struct picture_expressions *expressions); /* NULL is fine */

/* One tree in its states; those in which nothing changed are the same. */
struct picture_trees {
	enum calltree_times times; /* that are drawn */
	const struct calltree *whole;	 /* borrowed */
	const struct calltree *filtered; /* without what was not to be drawn, functions by line:
					    what profiles are made of */
	const struct calltree *merged;	 /* the same with functions whole */
	const struct calltree *functions; /* of that what is drawn: what numbers are of */
	const struct calltree *everything; /* merged, grouped and turned as asked for */
	const struct calltree *shown;	 /* of that the stacks that are drawn */
};

/*
 * Make of @tree (finished, borrowed until the release) what @options want shown of @times. What
 * leaves is reported by its weight, as samples @of something unless that is "".
 *
 * Returns 0, or -errno with @message filled and nothing to release.
 */
int picture_trees_make(struct picture_trees *trees, const struct calltree *tree,
	const struct options *options, enum calltree_times times, const char *of,
	struct diag_message *message);

void picture_trees_release(struct picture_trees *trees);

/* Put what @trees (borrowed) are and hold beside the tree that is shown into @picture. */
void picture_trees_settings(const struct picture_trees *trees, struct picture_options *picture);

/* The weight of the stacks of the whole tree whose times are drawn. */
uint64_t picture_trees_weight(const struct picture_trees *trees);

/* What an empty picture says when the options left nothing to show; NULL when they did not. */
const char *picture_trees_empty(const struct picture_trees *trees);

#define PICTURE_SUBTITLE_BYTES 512

/*
 * Write @subtitle into @out, behind what says of it that some was left out, and how much is drawn:
 * a picture that somebody is sent must not pass for the whole.
 */
void picture_trees_subtitle(const struct picture_trees *trees, const struct options *options,
	const char *subtitle, char out[PICTURE_SUBTITLE_BYTES]);

#define PICTURE_FILTERS_BYTES 256

/*
 * Write into @out what was left out of stacks, of which @before (borrowed, "": nothing) was left
 * out already: what profiles say of themselves, "" when they are whole.
 */
void picture_trees_filters(const struct picture_trees *trees, const struct options *options,
	const char *before, char out[PICTURE_FILTERS_BYTES]);

#endif
