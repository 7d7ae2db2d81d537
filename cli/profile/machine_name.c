/* SPDX-License-Identifier: MIT */
/* Names of virtual machines' functions, put together and taken apart. */
#include "cli/profile/machine_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *machine_name_make(const char *name, const char *file, uint32_t line)
{
	char *made = NULL;
	int bytes;

	if (!*file)
		return strdup(name);
	if (line)
		bytes = asprintf(&made, "%s (%s:%" PRIu32 ")", name, file, line);
	else
		bytes = asprintf(&made, "%s (%s)", name, file);
	return bytes < 0 ? NULL : made;
}

/* Where the last " (" of @text is, NULL without one. */
static const char *last_open(const char *text)
{
	const char *found = NULL;

	while ((text = strstr(text, " ("))) {
		found = text;
		text += 2;
	}
	return found;
}

bool machine_name_split(const char *text, struct machine_name *out)
{
	const char *open = last_open(text);
	const char *colon = open ? strrchr(open, ':') : NULL;
	unsigned long long line;
	char *end;

	if (!colon || open == text || colon == open + 2 || colon[1] < '0' || colon[1] > '9')
		return false;
	line = strtoull(colon + 1, &end, 10);
	if (strcmp(end, ")") || line > UINT32_MAX)
		return false;
	*out = (struct machine_name){
		.name_bytes = (size_t)(open - text),
		.file = open + 2,
		.file_bytes = (size_t)(colon - open - 2),
		.line = (uint32_t)line,
	};
	return true;
}

bool machine_name_is_of(const struct calltree_frame *frame)
{
	return !strcmp(frame->module, MACHINE_MODULE);
}
