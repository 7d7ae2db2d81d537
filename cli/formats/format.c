/* SPDX-License-Identifier: MIT */
/* Find the format for a file name. The table of formats is in format.h. */
#include "cli/formats/format.h"

#include <errno.h>
#include <string.h>

#include "cli/formats/firefox.h"
#include "cli/formats/folded.h"
#include "cli/formats/pprof.h"
#include "cli/formats/report.h"
#include "cli/formats/speedscope.h"

static int write_folded(const struct calltree *tree, const struct picture_options *options,
	FILE *out)
{
	return folded_write(tree, options->verdicts ? options->verdicts->scale : NULL,
		options->inline_suffix, out);
}

#define ROW(extension, write, has_stacks) {extension, write, has_stacks},
static const struct format formats[] = {FORMATS(ROW, ROW, ROW)};
#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

static int ends_with(const char *text, const char *end)
{
	size_t text_bytes = strlen(text);
	size_t end_bytes = strlen(end);

	return text_bytes >= end_bytes && !strcmp(text + text_bytes - end_bytes, end);
}

const char *const *format_names(void)
{
	static const char *names[FORMAT_COUNT + 1];

	for (size_t i = 0; i < FORMAT_COUNT; i++)
		names[i] = formats[i].extension + 1;
	return names;
}

/* Returns the format called @name ("svg"), or NULL. */
static const struct format *format_named(const char *name)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i].extension + 1, name))
			return &formats[i];
	return NULL;
}

const struct format *format_by_ending(const char *path)
{
	for (size_t i = 0; i < FORMAT_COUNT; i++)
		if (ends_with(path, formats[i].extension))
			return &formats[i];
	return NULL;
}

const struct format *format_of(const char *path, const char *otherwise)
{
	const struct format *format = format_by_ending(path);

	if (format)
		return format;
	if (otherwise)
		return format_named(otherwise);
	if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
		return format_named("svg");
	return NULL;
}

int format_unknown(const char *path, struct diag_message *message)
{
	diag_fail(message, -EINVAL, "cannot tell the format of '%s' by its name", path);
	diag_fail_hint(message, "known endings: " FORMAT_EXTENSIONS ", or say it with --format");
	return -EINVAL;
}

bool format_is_svg(const struct format *format)
{
	return format->write == picture_write_svg;
}

bool format_is_picture(const struct format *format)
{
	return format_is_svg(format) || format->write == picture_write_png ||
	       format->write == picture_write_pdf;
}

bool format_is_folded(const struct format *format)
{
	return format->write == write_folded;
}

bool format_is_pprof(const struct format *format)
{
	return format->write == pprof_write || format->write == pprof_write_gz;
}

bool format_is_speedscope(const struct format *format)
{
	return format->write == speedscope_write;
}

bool format_is_json(const struct format *format)
{
	return format->write == report_write_json;
}
