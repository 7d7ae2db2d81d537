/* SPDX-License-Identifier: MIT */
/*
 * "M a b L c b L c d L a d Z M a b" becomes "Ma bHcVdHaZ". Numbers are compared and copied as text,
 * so nothing is rounded; what has another shape is copied.
 */
#include "render/svg_paths.h"

#include <string.h>

struct word {
	const char *at;
	size_t length;
};

/* The next word at *@text before @end, stepped over; an empty one when there is none. */
static struct word next_word(const char **text, const char *end)
{
	struct word word;

	while (*text < end && **text == ' ')
		++*text;
	word.at = *text;
	while (*text < end && **text != ' ')
		++*text;
	word.length = (size_t)(*text - word.at);
	return word;
}

static int is_letter(struct word word, char letter)
{
	return word.length == 1 && word.at[0] == letter;
}

static int is_same(struct word a, struct word b)
{
	return a.length && a.length == b.length && !memcmp(a.at, b.at, a.length);
}

/*
 * A rectangle at *@text: what is kept of it in @numbers (left, top, right, bottom). Returns
 * non-zero and steps over it, or 0.
 */
static int match_rectangle(const char **text, const char *end, struct word numbers[4])
{
	static const char letters[] = "MLLL";
	struct word corner[4][2];
	const char *at = *text;

	for (unsigned i = 0; i < 4; i++) {
		if (!is_letter(next_word(&at, end), letters[i]))
			return 0;
		corner[i][0] = next_word(&at, end);
		corner[i][1] = next_word(&at, end);
	}
	if (!is_letter(next_word(&at, end), 'Z') || !is_same(corner[0][1], corner[1][1]) ||
		!is_same(corner[1][0], corner[2][0]) || !is_same(corner[2][1], corner[3][1]) ||
		!is_same(corner[3][0], corner[0][0]))
		return 0;
	memcpy(numbers, (struct word[]){corner[0][0], corner[0][1], corner[1][0], corner[2][1]},
		4 * sizeof(*numbers));
	*text = at;
	return 1;
}

/* Step over an "M a b" that only says where the pen is already: @left, @top. */
static void skip_move(const char **text, const char *end, struct word left, struct word top)
{
	const char *at = *text;

	if (is_letter(next_word(&at, end), 'M') && is_same(next_word(&at, end), left) &&
		is_same(next_word(&at, end), top))
		*text = at;
}

static void put_rectangle(struct bytes *bytes, const struct word numbers[4])
{
	bytes_put(bytes, "M", 1);
	bytes_put(bytes, numbers[0].at, numbers[0].length);
	bytes_put(bytes, " ", 1);
	bytes_put(bytes, numbers[1].at, numbers[1].length);
	bytes_put(bytes, "H", 1);
	bytes_put(bytes, numbers[2].at, numbers[2].length);
	bytes_put(bytes, "V", 1);
	bytes_put(bytes, numbers[3].at, numbers[3].length);
	bytes_put(bytes, "H", 1);
	bytes_put(bytes, numbers[0].at, numbers[0].length);
	bytes_put(bytes, "Z", 1);
}

/* One attribute's data, all rectangles or none: a path that has other shapes too is copied. */
static void put_data(struct bytes *bytes, const char *text, const char *end)
{
	size_t before = bytes->used;
	const char *at = text;
	struct word numbers[4];

	while (at < end) {
		const char *ahead = at;

		if (!next_word(&ahead, end).length)
			return;
		if (!match_rectangle(&at, end, numbers))
			break;
		put_rectangle(bytes, numbers);
		skip_move(&at, end, numbers[0], numbers[1]);
	}
	if (at == end)
		return;
	bytes->used = before;
	bytes_put(bytes, text, (size_t)(end - text));
}

void svg_paths_put(struct bytes *bytes, const char *text, const char *end)
{
	static const char open[] = " d=\"";

	while (text < end) {
		const char *data = memmem(text, (size_t)(end - text), open, sizeof(open) - 1);

		if (!data)
			break;
		data += sizeof(open) - 1;
		const char *close = memchr(data, '"', (size_t)(end - data));

		if (!close)
			break;
		bytes_put(bytes, text, (size_t)(data - text));
		put_data(bytes, data, close);
		text = close;
	}
	bytes_put(bytes, text, (size_t)(end - text));
}
