/* SPDX-License-Identifier: MIT */
/*
 * Whole files in memory, inflated where they are compressed, up to a limit.
 */
#ifndef CLI_FORMATS_WHOLE_H
#define CLI_FORMATS_WHOLE_H

#include <stddef.h>
#include <stdio.h>

#include "cli/diag.h"
#include "render/bytes.h"

/* A larger file, or one that inflates to more, is refused. */
#define WHOLE_BYTES_MAX (512u << 20)

/*
 * Read all that @in has into @out (zero-initialised). @name is for messages.
 * Returns 0, or -errno with @message filled and nothing in @out: -EFBIG, -ENOMEM, or of reading.
 */
int whole_read(FILE *in, const char *name, struct bytes *out, struct diag_message *message);

/* Fill @message for @name, which cannot be read for @error, one of those. Returns @error. */
int whole_refuse(const char *name, int error, struct diag_message *message);

/*
 * Inflate @packed (borrowed), all its streams, into @out. @window_bits: as inflateInit2() has them,
 * which tells gzip from zlib.
 * Returns 0, -EFBIG, -ENOMEM; -ENODATA when it ends early, -EBADMSG with *@used at the damage.
 */
int whole_inflate(const struct bytes *packed, int window_bits, struct bytes *out, size_t *used);

#endif
