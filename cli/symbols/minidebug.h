/* SPDX-License-Identifier: MIT */
/*
 * MiniDebugInfo: a small ELF file with the symbols that .dynsym lacks, xz-compressed in the section
 * .gnu_debugdata. Fedora and its relatives ship every binary so.
 *
 * Context: one thread.
 */
#ifndef CLI_SYMBOLS_MINIDEBUG_H
#define CLI_SYMBOLS_MINIDEBUG_H

#include "cli/symbols/elfimage.h"

/* No more than this is unpacked. */
#define MINIDEBUG_MAX_BYTES (256u << 20)

/*
 * Unpack the embedded file of @image. Returns 0 and an image to be closed by the caller; -ENOENT
 * when there is none, -EBADMSG when it is broken or too large; or -ENOMEM.
 */
int minidebug_open(struct elfimage *mini, const struct elfimage *image);

#endif
