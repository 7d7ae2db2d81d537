/* SPDX-License-Identifier: MIT */
/*
 * Read pictures that flamerun drew: rebuild the tree from the data that render/embed.h puts into
 * each SVG, so that a picture can serve as a profile. The tree has a frame per function, without
 * lines. The eight heaviest lines of each function are kept in a table beside the tree.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_SVG_H
#define CLI_FORMATS_SVG_H

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/bytes.h"
#include "render/calltree.h"

/* First byte of XML. A file of folded stacks may begin with it, too. */
#define SVG_FIRST '<'

/*
 * Add the stacks of picture @file to @tree (not finished here). Reversed stacks are reversed back,
 * and folded idle threads are unfolded. Returns 0 with *@facts filled, or -errno with @message
 * filled: -ENODATA if flamerun did not draw the picture, -EBADMSG if its data is damaged, -ENOMEM.
 * The caller must release @facts in both cases.
 */
int svg_read(struct calltree *tree, const struct bytes *file, const char *name,
	struct input_facts *facts, struct diag_message *message);

#endif
