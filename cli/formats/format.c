/* SPDX-License-Identifier: MIT */
/*
 * The table of output formats.
 */
#include "cli/formats/format.h"

#include <string.h>

#include "cli/formats/folded.h"

static int write_folded(const struct calltree *tree, const struct picture_options *options,
	FILE *out)
{
	(void)options;
	return folded_write(tree, out);
}

static const struct format formats[] = {
	{".svg", picture_write_svg},
	{".png", picture_write_png},
	{".folded", write_folded},
};

static int ends_with(const char *text, const char *end)
{
	size_t text_bytes = strlen(text);
	size_t end_bytes = strlen(end);

	return text_bytes >= end_bytes && !strcmp(text + text_bytes - end_bytes, end);
}

const struct format *format_of(const char *path)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (ends_with(path, formats[i].extension))
			return &formats[i];
	if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6))
		return &formats[0];
	return NULL;
}
