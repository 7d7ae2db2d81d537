/* SPDX-License-Identifier: MIT */
/*
 * The viewer's script and style as built from share/viewer/, linked into the program.
 */
#ifndef RENDER_VIEWER_H
#define RENDER_VIEWER_H

/* Each ends where its _end is; no NUL. */
extern const char viewer_script[], viewer_script_end[];
extern const char viewer_style[], viewer_style_end[];

#endif
