/* SPDX-License-Identifier: MIT */
/* What a profile says about itself: title, times, and the marks that libflameprof's have. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/formats/pprof.h"
#include "cli/formats/pprof_tables.h"
#include "cli/profile/marks.h"

#define NS_PER_S   1000000000
#define TYPE_BYTES 64

/* What stands behind @start in comment number @i, in @text; NULL when it does not begin so. */
static const char *comment(const struct pprof_tables *tables, uint32_t i, const char *start,
	char text[PPROF_NAME_BYTES])
{
	pprof_text(tables, tables->comments[i], text, PPROF_NAME_BYTES);
	return strncmp(text, start, strlen(start)) ? NULL : text + strlen(start);
}

static void find_title(
	struct pprof_facts *facts, const struct pprof_tables *tables, const char *type)
{
	char text[PPROF_NAME_BYTES];
	const char *found;

	for (uint32_t i = 0; i < tables->comment_count; i++) {
		found = comment(tables, i, PPROF_COMMENT_TITLE, text);
		if (found) {
			snprintf(facts->title, sizeof(facts->title), "%.250s", found);
			return;
		}
	}
	if (!tables->mapping_count)
		return;
	/* The first mapping is the program's, as a rule of the format. */
	pprof_text(tables, tables->mappings[0].file, text, sizeof(text));
	found = strrchr(text, '/');
	if (text[0])
		snprintf(facts->title, sizeof(facts->title), "%.150s: %s",
			found ? found + 1 : text, type);
}

/* "12 samples of cpu, 0.12 s in 2.00 s" */
static void tell(struct pprof_facts *facts, const char *type, uint64_t weight)
{
	char *out = facts->subtitle;
	size_t room = sizeof(facts->subtitle);
	size_t at = (size_t)snprintf(out, room, "%" PRIu64 " %s", weight, facts->count_name);

	if (strcmp(type, facts->count_name))
		at += (size_t)snprintf(out + at, room - at, " of %s", type);
	if (facts->period_ns > 1)
		at += (size_t)snprintf(out + at, room - at, ", %.2f s",
			(double)weight * (double)facts->period_ns / NS_PER_S);
	if (facts->duration_ns)
		snprintf(out + at, room - at, " in %.2f s", (double)facts->duration_ns / NS_PER_S);
}

static uint64_t find_dropped(const struct pprof_tables *tables)
{
	char text[PPROF_NAME_BYTES];

	for (uint32_t i = 0; i < tables->comment_count; i++) {
		const char *found = comment(tables, i, PPROF_COMMENT_DROPPED, text);

		if (found)
			return strtoull(found, NULL, 10);
	}
	return 0;
}

/* "started 2001-09-09 01:46:40, 12 dropped" */
static void note(struct pprof_facts *facts, uint64_t dropped)
{
	char *out = facts->notes;
	size_t room = sizeof(facts->notes), at = 0;
	time_t created_s = (time_t)facts->created_s;
	struct tm local;

	if (facts->created_s > 0 && localtime_r(&created_s, &local))
		at = strftime(out, room, "started %Y-%m-%d %H:%M:%S", &local);
	if (dropped)
		snprintf(out + at, room - at, "%s%" PRIu64 " dropped", at ? ", " : "", dropped);
}

/* "12.345 678 text": milliseconds, thread, text. False when it is none. */
static bool parse_mark(const char *text, struct picture_mark *mark)
{
	unsigned long long ms;
	unsigned us;
	int used = 0;

	if (sscanf(text, "%18llu.%3u %" SCNu32 "%n", &ms, &us, &mark->tid, &used) != 3 ||
		text[used] != ' ')
		return false;
	mark->time_ns = (ms * 1000 + us) * 1000;
	mark->text = text + used + 1;
	return ms < INT64_MAX / 1000000;
}

static int find_marks(struct pprof_facts *facts, const struct pprof_tables *tables)
{
	char text[PPROF_NAME_BYTES];

	facts->marks = calloc(tables->comment_count + 1ULL, sizeof(*facts->marks));
	if (!facts->marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < tables->comment_count; i++) {
		const char *found = comment(tables, i, PPROF_COMMENT_MARK, text);
		struct picture_mark *mark = &facts->marks[facts->mark_count];

		if (!found || !parse_mark(found, mark))
			continue;
		mark->text = strdup(mark->text);
		if (!mark->text)
			return -ENOMEM;
		facts->mark_count++;
	}
	marks_sort(facts->marks, facts->mark_count);
	return 0;
}

int pprof_facts_fill(struct pprof_facts *facts, const struct pprof_tables *tables, uint32_t type,
	uint64_t weight)
{
	char name[TYPE_BYTES];
	int error;

	pprof_text(tables, tables->types[type].type, name, sizeof(name));
	if ((int64_t)tables->duration_ns > 0)
		facts->duration_ns = tables->duration_ns;
	facts->created_s = (int64_t)tables->time_ns / NS_PER_S;
	find_title(facts, tables, name);
	tell(facts, name, weight);
	note(facts, find_dropped(tables));
	error = find_marks(facts, tables);
	return error ? diag_fail(tables->message, error, "out of memory") : 0;
}

void pprof_facts_release(struct pprof_facts *facts)
{
	for (uint32_t i = 0; i < facts->mark_count; i++)
		free((char *)(uintptr_t)facts->marks[i].text);
	free(facts->marks);
	facts->marks = NULL;
	facts->mark_count = 0;
}
