/* SPDX-License-Identifier: MIT */
/*
 * The viewer, which the Makefile builds from share/viewer/ and links into the program. Each text
 * ends at its _end symbol, without a NUL.
 */
#ifndef RENDER_VIEWER_H
#define RENDER_VIEWER_H

/* The style sheet, a zero byte and the script, compressed by gzip, in lines of base64. */
extern const char viewer_text[], viewer_text_end[];

/* The script that decompresses and starts the viewer. */
extern const char viewer_loader[], viewer_loader_end[];

#endif
