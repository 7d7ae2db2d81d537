/* SPDX-License-Identifier: MIT */
/*
 * From what was asked for to what render/ is told: the one place where options become a picture.
 */
#ifndef CLI_PICTURE_SETTINGS_H
#define CLI_PICTURE_SETTINGS_H

#include "cli/options.h"
#include "render/calltree.h"
#include "render/picture.h"

/*
 * Put what @options (finished) say into @picture; strings are borrowed. A title, subtitle or
 * name of what is counted that is there already is kept when the options have none. A picture is
 * created at SOURCE_DATE_EPOCH when the environment has that, else when @picture says.
 */
void picture_settings(const struct options *options, struct picture_options *picture);

/*
 * Make the tree that @options want shown from @tree (finished, borrowed): --root, --hide, --threads
 * and --reverse. What leaves is reported by its weight, as samples @of something unless that is "".
 *
 * Returns 0 and an owned tree in *@shown, NULL when nothing was asked for and @tree itself is it;
 * or -errno with @message filled.
 */
int picture_settings_tree(const struct calltree *tree, const struct options *options,
	const char *of, struct calltree **shown, struct diag_message *message);

/* What an empty picture says when the options left nothing to show; NULL when they did not. */
const char *picture_settings_empty(const struct options *options, const struct calltree *shown);

#endif
