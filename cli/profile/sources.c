/* SPDX-License-Identifier: MIT */
/* Print rows in words: which files named the code, and how to get missing names. */
#include "cli/profile/sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diag.h"
#include "cli/explain.h"
#include "render/array.h"

#define ROWS_PRINTED 20u
#define TEXT_BYTES   4200

static void add_row(struct sources *sources, const char *name, const char *origin,
	const struct sources_share *share)
{
	struct sources_row row = {.share = *share};

	if (!share->weight || ARRAY_GROW(sources->rows, sources->count, sources->room, 16))
		return;
	row.name = strdup(name);
	row.origin = strdup(origin);
	if (!row.name || !row.origin) {
		free(row.name);
		free(row.origin);
		return;
	}
	sources->rows[sources->count++] = row;
}

void sources_add_module(struct sources *sources, const char *name,
	const struct symbols_origin *origin, const struct sources_share *share)
{
	static const char *const words[] = {
		[SYMBOLS_NONE] = "no file or no symbols in it",
		[SYMBOLS_SYMTAB] = ".symtab",
		[SYMBOLS_GO] = ".gopclntab",
		[SYMBOLS_DEBUG_FILE] = "by build-id, ",
		[SYMBOLS_DEBUG_LINK] = "by debug link, ",
		[SYMBOLS_MINI] = ".gnu_debugdata",
		[SYMBOLS_DEBUGINFOD] = "by debuginfod, ",
		[SYMBOLS_DYNSYM] = ".dynsym",
		[SYMBOLS_VDSO] = "vDSO",
		[SYMBOLS_MISMATCH] = "another file is there, by its build-id",
		[SYMBOLS_REPLACED] = "replaced while it ran",
	};
	char text[TEXT_BYTES];

	snprintf(text, sizeof(text), "%s%s", words[origin->source],
		origin->path ? origin->path : "");
	add_row(sources, name, text, share);
}

void sources_add_generated(
	struct sources *sources, uint32_t pid, const char *map, const struct sources_share *share)
{
	char name[64];

	snprintf(name, sizeof(name), "code that process %" PRIu32 " made", pid);
	add_row(sources, name, map[0] ? map : "no perf map or jitdump", share);
}

void sources_add_reported(struct sources *sources, const struct sources_share *share)
{
	add_row(sources, "code that programs reported", "flameprof_stub.h", share);
}

static int by_weight(const void *left, const void *right)
{
	const struct sources_row *a = left, *b = right;

	if (a->share.weight != b->share.weight)
		return a->share.weight < b->share.weight ? 1 : -1;
	return strcmp(a->name, b->name);
}

void sources_print(const struct sources *sources)
{
	uint64_t others = 0;

	if (sources->count)
		qsort(sources->rows, sources->count, sizeof(*sources->rows), by_weight);
	for (size_t i = 0; i < sources->count; i++) {
		const struct sources_row *row = &sources->rows[i];

		if (i >= ROWS_PRINTED) {
			others += row->share.weight;
			continue;
		}
		diag_verbose("names of %s: %" PRIu64 " %s, %.1f %% named: %s", row->name,
			row->share.weight, row->share.weight == 1 ? "sample" : "samples",
			100.0 * (double)row->share.named / (double)row->share.weight, row->origin);
	}
	if (others)
		diag_verbose("names of %zu others: %" PRIu64 " samples",
			sources->count - ROWS_PRINTED, others);
}

void sources_print_fetched(const struct debuginfod_report *fetched)
{
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", fetched->seconds);
	if (fetched->has_no_library)
		explain_print(EXPLAIN_NO_DEBUGINFOD, FACTS());
	if (fetched->came || fetched->unknown)
		diag_verbose("debuginfod: symbols of %u %s came, no server has those of %u",
			fetched->came, fetched->came == 1 ? "file" : "files", fetched->unknown);
	if (fetched->failed)
		explain_print(EXPLAIN_FETCH_FAILED,
			FACTS(.n = fetched->failed, .why = strerror(fetched->error)));
	if (fetched->left)
		explain_print(fetched->seconds ? EXPLAIN_FETCH_LATE : EXPLAIN_FETCH_LEFT,
			FACTS(.n = fetched->left, .other = seconds));
}

void sources_release(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		free(sources->rows[i].name);
		free(sources->rows[i].origin);
	}
	free(sources->rows);
	*sources = (struct sources){0};
}
