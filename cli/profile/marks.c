/* SPDX-License-Identifier: MIT */
/* Programs say what time it is: what comes before the first sample is at its time. */
#include "cli/profile/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *left, const void *right)
{
	const struct picture_mark *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return strcmp(a->text, b->text);
}

void marks_sort(struct picture_mark *marks, uint32_t count)
{
	if (count)
		qsort(marks, count, sizeof(*marks), by_time);
}

int marks_make(struct profile *profile, struct picture_mark **marks, uint32_t *count)
{
	const struct announced *announced = profile_announced(profile);
	uint64_t start_ns = profile_start_ns(profile);
	struct picture_mark *made = NULL;

	if (announced->mark_count) {
		made = calloc(announced->mark_count, sizeof(*made));
		if (!made)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < announced->mark_count; i++) {
		const struct announced_mark *mark = &announced->marks[i];

		made[i] = (struct picture_mark){
			.time_ns = mark->time_ns > start_ns ? mark->time_ns - start_ns : 0,
			.tid = mark->tid,
			.text = mark->text,
		};
	}
	marks_sort(made, announced->mark_count);
	*marks = made;
	*count = announced->mark_count;
	return 0;
}
