/* SPDX-License-Identifier: MIT */
/*
 * Read pictures that flamerun drew: rebuild the tree from the data that render/embed.h puts into
 * each SVG, so that a picture can serve as a profile. Frames of the tree are functions without
 * lines; a table has the eight heaviest lines of each function.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_SVG_H
#define CLI_FORMATS_SVG_H

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/bytes.h"
#include "render/calltree.h"

/* First byte of XML; a folded stack may begin with it, too. */
#define SVG_FIRST '<'

/*
 * Add the stacks of picture @file to @tree (not finished here). Reversed stacks are reversed back,
 * and folded idle threads are unfolded. Returns 0 and *@facts; or -errno with @message filled:
 * -ENODATA if flamerun did not draw it, -EBADMSG with the damage, -ENOMEM. The caller must release
 * @facts in both cases.
 */
int svg_read(struct calltree *tree, const struct bytes *file, const char *name,
	struct input_facts *facts, struct diag_message *message);

#endif
