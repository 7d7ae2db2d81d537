/* SPDX-License-Identifier: MIT */
/*
 * Pictures that flamerun drew, as files of stacks: the data that render/embed.h puts into each SVG,
 * back as a tree. Whoever was sent a picture has what it was drawn from.
 *
 * The tree has functions, not lines: those are in its table, the heaviest eight of each function.
 *
 * Context: one thread.
 */
#ifndef CLI_FORMATS_SVG_H
#define CLI_FORMATS_SVG_H

#include "cli/diag.h"
#include "cli/formats/facts.h"
#include "render/bytes.h"
#include "render/calltree.h"

/* What XML begins with; a stack of functions may, too. */
#define SVG_FIRST '<'

/*
 * Add the stacks of the picture @file to @tree (not finished by this). Stacks that were merged from
 * the leaf are turned back, and threads that had been folded as idle are threads again.
 * Returns 0 and *@facts; or -errno with @message filled: -ENODATA for a picture of somebody else's,
 * -EBADMSG with what is damaged, -ENOMEM. @facts are to be released in any case.
 */
int svg_read(struct calltree *tree, const struct bytes *file, const char *name,
	struct input_facts *facts, struct diag_message *message);

#endif
