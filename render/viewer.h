/* SPDX-License-Identifier: MIT */
/*
 * The viewer as built from share/viewer/, linked into the program. Each ends where its _end is; no
 * NUL.
 */
#ifndef RENDER_VIEWER_H
#define RENDER_VIEWER_H

/* Its style, a zero byte and its script, compressed by gzip: lines of base64. */
extern const char viewer_text[], viewer_text_end[];

/* The script that inflates and starts it. */
extern const char viewer_loader[], viewer_loader_end[];

#endif
