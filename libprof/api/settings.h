/* SPDX-License-Identifier: MIT */
/*
 * struct flameprof_options with defaults put in and values brought into their ranges.
 */
#ifndef LIBPROF_API_SETTINGS_H
#define LIBPROF_API_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "libprof/flameprof.h"

#define SETTINGS_RATE_MAX_HZ 10000u

struct settings {
	unsigned rate_hz;
	enum flameprof_clock clock;
	unsigned depth;
	unsigned max_span_ms;
	size_t ring_bytes;
	size_t queue_bytes;
	size_t profile_bytes;
	const char *title; /* borrowed from the options; NULL: the program's name */
	uint32_t is_paused;
};

/* @options NULL: all defaults. Returns 0, or -EINVAL for what no clamping can mend. */
int settings_from_options(struct settings *settings, const struct flameprof_options *options);

/* The title into @out, at most SESSION_TITLE_BYTES with the NUL. */
void settings_title(const struct settings *settings, char *out);

#endif
