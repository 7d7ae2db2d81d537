/* SPDX-License-Identifier: MIT */
/*
 * The nodes of the tree in as few bytes as their shape leaves: the column EMBED_NODES of
 * render/embed.h, which says how it is read.
 */
#ifndef RENDER_EMBED_NODES_H
#define RENDER_EMBED_NODES_H

#include "render/bytes.h"
#include "render/calltree.h"

/*
 * Append the column to @column. Everything is borrowed; @preorder is of @tree. Returns 0 or
 * -ENOMEM.
 */
int embed_nodes(const struct calltree *tree, const struct preorder *preorder, struct bytes *column);

#endif
