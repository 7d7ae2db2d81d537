/* SPDX-License-Identifier: MIT */
/*
 * Bytes into a stream of text: a zlib stream, which has a checksum, as digits to the base of 91, in
 * pieces no XML reader refuses.
 *
 * The digits are the characters from ! to ~ but &, < and >, in the order of ASCII. Two of them, the
 * lower one first, hold 13 bits, the first byte's lowest bit the lowest. In the end one digit is
 * enough for six bits or less. White space means nothing.
 */
#ifndef RENDER_PACK_H
#define RENDER_PACK_H

#include <stddef.h>
#include <stdio.h>

struct pack;

/*
 * Begin; text goes to @out (borrowed). Every piece of at most 1 MiB of text stands between
 * @open and @close (borrowed). Returns an owned pack, or NULL without memory.
 */
struct pack *pack_new(FILE *out, const char *open, const char *close);

/* Append. Errors show in pack_finish(). */
void pack_put(struct pack *pack, const void *data, size_t length);

/* Write what is left. Returns 0, or -ENOMEM, or -errno of the stream. */
int pack_finish(struct pack *pack);
void pack_free(struct pack *pack); /* NULL is fine */

#endif
