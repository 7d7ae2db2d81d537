/* SPDX-License-Identifier: MIT */
/*
 * The viewer as built from share/viewer/, linked into the program. Each ends where its _end is; no
 * NUL.
 */
#ifndef RENDER_VIEWER_H
#define RENDER_VIEWER_H

#include <stdint.h>

/* Its script and its style, folded by share/viewer/pack.awk: gzip. */
extern const uint8_t viewer_pack[], viewer_pack_end[];

/* The script that inflates and starts it. */
extern const char viewer_loader[], viewer_loader_end[];

#endif
