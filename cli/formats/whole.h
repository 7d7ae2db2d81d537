/* SPDX-License-Identifier: MIT */
/* Read whole files into memory and inflate compressed data, up to a limit. */
#ifndef CLI_FORMATS_WHOLE_H
#define CLI_FORMATS_WHOLE_H

#include <stddef.h>
#include <stdio.h>

#include "cli/diag.h"
#include "render/bytes.h"

/* Larger files, or files that inflate to more, are refused. */
#define WHOLE_BYTES_MAX (512u << 20)

/*
 * Read all of @in into @out (zero-initialised). @name is for messages. Returns 0, or -errno with
 * @message filled and @out empty: -EFBIG, -ENOMEM, or the error of a read.
 */
int whole_read(FILE *in, const char *name, struct bytes *out, struct diag_message *message);

/* Fill @message with @error, because of which whole_read() cannot read @name. Returns @error. */
int whole_refuse(const char *name, int error, struct diag_message *message);

/*
 * Inflate all streams of @packed (borrowed) into @out. @window_bits is that of inflateInit2(): it
 * selects gzip or zlib. Returns 0; -EFBIG; -ENOMEM; -ENODATA if the data is truncated; or -EBADMSG
 * if it is damaged after *@used bytes.
 */
int whole_inflate(const struct bytes *packed, int window_bits, struct bytes *out, size_t *used);

#endif
