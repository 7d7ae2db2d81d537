/* SPDX-License-Identifier: MIT */
/*
 * Whole files in memory, inflated where they are compressed, up to a limit.
 */
#ifndef CLI_FORMATS_WHOLE_H
#define CLI_FORMATS_WHOLE_H

#include <stddef.h>
#include <stdio.h>

#include "render/bytes.h"

/* A larger file, or one that inflates to more, is refused. */
#define WHOLE_BYTES_MAX (512u << 20)

/* Add all that @in has to @out. Returns 0, -EFBIG, -ENOMEM or -errno of reading. */
int whole_read(FILE *in, struct bytes *out);

/*
 * Inflate @packed (borrowed), all its streams, into @out. @window_bits: as inflateInit2() has them,
 * which tells gzip from zlib.
 * Returns 0, -EFBIG, -ENOMEM; -ENODATA when it ends early, -EBADMSG with *@used at the damage.
 */
int whole_inflate(const struct bytes *packed, int window_bits, struct bytes *out, size_t *used);

#endif
