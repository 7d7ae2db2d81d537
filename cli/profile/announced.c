/* SPDX-License-Identifier: MIT */
/* Growing arrays; codes are sorted when they are first asked for. */
#include "cli/profile/announced.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/machine_name.h"

void announced_release(struct announced *announced)
{
	for (uint32_t i = 0; i < announced->code_count; i++)
		free(announced->codes[i].name);
	for (uint32_t i = 0; i < announced->mark_count; i++)
		free(announced->marks[i].text);
	free(announced->codes);
	free(announced->marks);
	*announced = (struct announced){0};
}

/* Count @bytes of text within the ceiling. Returns 0 or -ENOSPC. */
static int count_text(struct announced *announced, size_t bytes)
{
	if (bytes > ANNOUNCED_TEXT_MAX - announced->text_bytes)
		return -ENOSPC;
	announced->text_bytes += bytes;
	return 0;
}

/* A copy of @text within the ceiling in *@copy. Returns 0, -ENOSPC or -ENOMEM. */
static int keep(struct announced *announced, const char *text, char **copy)
{
	int error;

	*copy = strdup(text);
	if (!*copy)
		return -ENOMEM;
	error = count_text(announced, strlen(text) + 1);
	if (error)
		free(*copy);
	return error;
}

static uint32_t larger(uint32_t room)
{
	return room ? room * 2 : 64;
}

/* Add @code, whose name is copied. */
static int add(struct announced *announced, const struct announced_code *code)
{
	struct announced_code added = *code;
	int error;

	if (!code->name[0] || !code->bytes)
		return 0;
	if (announced->code_count == ANNOUNCED_CODES_MAX)
		return -ENOSPC;
	if (announced->code_count == announced->code_room) {
		uint32_t room = larger(announced->code_room);
		struct announced_code *more =
			reallocarray(announced->codes, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		announced->codes = more;
		announced->code_room = room;
	}
	error = keep(announced, code->name, &added.name);
	if (error)
		return error;
	added.turn = announced->code_count;
	announced->codes[announced->code_count++] = added;
	announced->is_sorted = false;
	return 0;
}

int announced_add_code(struct announced *announced, uint32_t image, uint64_t start, uint64_t bytes,
	const char *name)
{
	const struct announced_code code = {
		.start = start,
		.bytes = bytes,
		.kind = ANNOUNCED_CODE,
		.image = image,
		.name = (char *)(uintptr_t)name,
	};

	return add(announced, &code);
}

int announced_add_function(struct announced *announced, uint32_t image, uint64_t start,
	enum announced_kind kind, const char *name, const char *file, uint32_t line)
{
	struct announced_code code = {.start = start, .bytes = 1, .kind = kind, .image = image};
	int error;

	code.name = machine_name_make(name, file, line);
	if (!code.name)
		return -ENOMEM;
	error = add(announced, &code);
	free(code.name);
	return error;
}

int announced_add_mark(struct announced *announced, const struct announced_mark *mark)
{
	struct announced_mark kept = *mark;
	int error;

	if (announced->mark_count == ANNOUNCED_MARKS_MAX)
		return -ENOSPC;
	if (announced->mark_count == announced->mark_room) {
		uint32_t room = larger(announced->mark_room);
		struct announced_mark *more =
			reallocarray(announced->marks, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		announced->marks = more;
		announced->mark_room = room;
	}
	error = keep(announced, mark->text, &kept.text);
	if (error)
		return error;
	announced->marks[announced->mark_count++] = kept;
	return 0;
}

static int by_place(const void *left, const void *right)
{
	const struct announced_code *a = left, *b = right;

	if (a->image != b->image)
		return a->image < b->image ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->turn < b->turn ? -1 : a->turn > b->turn;
}

const struct announced_code *announced_at(
	struct announced *announced, uint32_t image, uint64_t address)
{
	uint32_t low = 0, high = announced->code_count;

	if (!announced->is_sorted && high)
		qsort(announced->codes, high, sizeof(*announced->codes), by_place);
	announced->is_sorted = true;
	/* The last one that begins at or before @address. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct announced_code *code = &announced->codes[middle];

		if (code->image < image || (code->image == image && code->start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || announced->codes[low - 1].image != image ||
		address - announced->codes[low - 1].start >= announced->codes[low - 1].bytes)
		return NULL;
	return &announced->codes[low - 1];
}
