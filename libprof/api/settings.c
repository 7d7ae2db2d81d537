/* SPDX-License-Identifier: MIT */
#include "libprof/api/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libprof/api/session.h"

/* The ranges of flameprof.h; 0 stands for the default. */
#define RATE_DEFAULT_HZ	      197u
#define RING_BYTES_MIN	      ((size_t)4 << 10)
#define RING_BYTES_MAX	      ((size_t)90 << 10)
#define QUEUE_BYTES_DEFAULT   ((size_t)16 << 20)
#define QUEUE_BYTES_MAX	      ((size_t)1 << 30)
#define PROFILE_BYTES_DEFAULT ((size_t)256 << 20)
#define PROFILE_BYTES_MIN     ((size_t)64 << 10)
#define PROFILE_BYTES_MAX     ((size_t)16 << 30)

static size_t in_range(size_t value, size_t if_zero, size_t min, size_t max)
{
	if (!value)
		return if_zero;
	return value < min ? min : value > max ? max : value;
}

/* What a later version may give a meaning to must not be ignored by this one. */
static int has_unknown(const struct flameprof_options *options)
{
	unsigned bits = options->flags & ~FLAMEPROF_START_PAUSED;

	for (unsigned i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++)
		bits |= options->reserved[i];
	return bits ||
	       (options->clock != FLAMEPROF_CLOCK_CPU &&
		       options->clock != FLAMEPROF_CLOCK_ELAPSED &&
		       options->clock != FLAMEPROF_CLOCK_VM);
}

int settings_from_options(struct settings *settings, const struct flameprof_options *options)
{
	static const struct flameprof_options defaults;
	unsigned fits;

	if (!options)
		options = &defaults;
	if (has_unknown(options))
		return -EINVAL;
	*settings = (struct settings){
		.rate_hz = (unsigned)in_range(options->rate, RATE_DEFAULT_HZ, 1, SETTINGS_RATE_MAX_HZ),
		.clock = options->clock,
		.depth = (unsigned)in_range(options->depth, WIRE_MAX_DEPTH, 1, WIRE_MAX_DEPTH),
		.max_span_ms = options->max_span_ms,
		.ring_bytes = in_range(
			options->ring_bytes, RING_BYTES_MAX, RING_BYTES_MIN, RING_BYTES_MAX),
		.queue_bytes =
			in_range(options->queue_bytes, QUEUE_BYTES_DEFAULT, 1, QUEUE_BYTES_MAX),
		.profile_bytes = in_range(options->profile_bytes, PROFILE_BYTES_DEFAULT,
			PROFILE_BYTES_MIN, PROFILE_BYTES_MAX),
		.title = options->title,
		.is_paused = !!(options->flags & FLAMEPROF_START_PAUSED),
	};
	/* A stack that fills the ring is cut, else it could never be recorded. */
	fits = (unsigned)((settings->ring_bytes - sizeof(struct wire_sample)) / sizeof(uint64_t));
	if (settings->depth > fits)
		settings->depth = fits;
	return 0;
}

void settings_title(const struct settings *settings, char *out)
{
	const char *title = settings->title ? settings->title : program_invocation_short_name;

	snprintf(out, SESSION_TITLE_BYTES, "%s", title);
}
