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

int marks_make(struct flameprof_profile *profile, struct picture_mark **marks, uint32_t *count)
{
	uint64_t start_ns = profile_first_ns(profile);
	struct picture_mark *made = NULL;

	if (profile->mark_count) {
		made = calloc(profile->mark_count, sizeof(*made));
		if (!made)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < profile->mark_count; i++) {
		const struct profile_mark *mark = profile_mark_at(profile, i);

		made[i] = (struct picture_mark){
			.time_ns = mark->time_ns > start_ns ? mark->time_ns - start_ns : 0,
			.tid = mark->tid,
			.text = names_string(&profile->names, mark->name),
		};
	}
	marks_sort(made, profile->mark_count);
	*marks = made;
	*count = profile->mark_count;
	return 0;
}
