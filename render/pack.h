/* SPDX-License-Identifier: MIT */
/*
 * Bytes into a stream of text: deflated without a header, in base64, in pieces no XML reader
 * refuses.
 */
#ifndef RENDER_PACK_H
#define RENDER_PACK_H

#include <stddef.h>
#include <stdio.h>

struct pack;

/*
 * Begin; text goes to @out (borrowed). Every piece of at most 1 MiB of base64 stands between
 * @open and @close (borrowed). Returns an owned pack, or NULL without memory.
 */
struct pack *pack_new(FILE *out, const char *open, const char *close);

/* Append. Errors show in pack_finish(). */
void pack_put(struct pack *pack, const void *data, size_t length);

/* Write what is left. Returns 0, or -ENOMEM, or -errno of the stream. */
int pack_finish(struct pack *pack);
void pack_free(struct pack *pack); /* NULL is fine */

#endif
