/* SPDX-License-Identifier: MIT */
/*
 * Where cairo writes: a stream, with the error it met first.
 */
#ifndef RENDER_SINK_H
#define RENDER_SINK_H

#include <cairo.h>
#include <stdio.h>

struct sink {
	FILE *out; /* borrowed */
	int error; /* 0 or -errno of @out */
};

/* A cairo_write_func_t; @closure is a struct sink. */
cairo_status_t sink_write(void *closure, const unsigned char *bytes, unsigned int length);

#endif
