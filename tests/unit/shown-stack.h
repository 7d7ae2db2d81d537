/* SPDX-License-Identifier: MIT */
/*
 * For tests of language runtimes: write a walk's stack as a line of text. A native frame is written
 * as a letter, which is its offset in its module; a language frame is written by the name passed to
 * shown_word().
 */
#ifndef TESTS_UNIT_SHOWN_STACK_H
#define TESTS_UNIT_SHOWN_STACK_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "libprof/wire.h"

#define SHOWN_NAMES 64u

struct shown_stack {
	unsigned count; /* of names; 0 before a walk */
	char names[SHOWN_NAMES][64], text[4096];
};

/*
 * Returns an encoded frame for a language function with this name. After SHOWN_NAMES names, all
 * further names get one encoded frame.
 */
__attribute__((format(printf, 2, 3))) static inline uint64_t shown_word(
	struct shown_stack *shown, const char *format, ...)
{
	unsigned number = shown->count < SHOWN_NAMES ? shown->count++ : SHOWN_NAMES - 1;
	va_list values;

	va_start(values, format);
	vsnprintf(shown->names[number], sizeof(shown->names[0]), format, values);
	va_end(values);
	return wire_language_frame(WIRE_LANGUAGE_BIT + number * WIRE_LANGUAGE_LINES, 1, 1);
}

/* Returns the stack as text, innermost frame first, cut off where the buffer ends. */
static inline const char *shown_text(
	struct shown_stack *shown, const uint64_t *frames, unsigned count)
{
	char *out = shown->text, *end = out + sizeof(shown->text) - sizeof(shown->names[0]) - 2;

	out[1] = '\0';
	for (unsigned i = 0; i < count && out < end; i++)
		if (wire_frame_is_language(frames[i]))
			out += sprintf(out, " %s",
				shown->names[(frames[i] & (WIRE_LANGUAGE_BIT - 1)) /
					     WIRE_LANGUAGE_LINES % SHOWN_NAMES]);
		else
			out += sprintf(out, " %c", (char)(frames[i] & 0xff));
	return shown->text + 1;
}

#endif
