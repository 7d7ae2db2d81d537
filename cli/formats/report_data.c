/* SPDX-License-Identifier: MIT */
/*
 * Reports for programs: JSON with one row per line, so that grep(1) works as well as jq(1), and
 * CSV, a single table whose first column names the report's table.
 */
#include "cli/formats/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/quoted.h"
#include "cli/formats/ranks.h"
#include "render/spread.h"

struct data_writer {
	const struct report *report;
	FILE *out;
	bool is_csv;
	int error;
};

static void put_text(struct data_writer *w, const char *text, size_t bytes)
{
	int error = quoted_put(w->out, text, bytes, w->is_csv ? QUOTED_CSV : QUOTED_JSON);

	if (error)
		w->error = error;
}

static const char *kind_name(enum calltree_frame_kind kind)
{
	static const char *const names[CALLTREE_KINDS] = {
		[CALLTREE_NATIVE] = "native",
		[CALLTREE_JIT] = "jit",
		[CALLTREE_UNNAMED] = "unnamed",
		[CALLTREE_SYNTHETIC] = "synthetic",
		[CALLTREE_PROCESS] = "process",
		[CALLTREE_THREAD] = "thread",
		[CALLTREE_INLINE] = "inline",
		[CALLTREE_WAIT] = "wait",
		[CALLTREE_KERNEL] = "kernel",
		[CALLTREE_IDLE] = "idle",
	};

	return names[kind];
}

/* Find how @row's shares vary between runs. Returns false if this is unknown. */
static bool find_spread(const struct data_writer *w, const struct ranking *ranking,
	const struct ranking_row *row, struct spread_shares *out)
{
	const struct spread *spread = w->report->picture->spread;

	return spread && row->function != RANKING_NO_FUNCTION &&
	       spread_find(spread, ranking_frame(ranking, row->function), out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Write a string member, null if it is missing or empty. */
static void put_member(struct data_writer *w, const char *name, const char *text)
{
	fprintf(w->out, "  \"%s\": ", name);
	if (text && *text)
		put_text(w, text, SIZE_MAX);
	else
		fputs("null", w->out);
	fputs(",\n", w->out);
}

/* Write a number, null unless @is_known. */
static void put_number(struct data_writer *w, const char *name, int64_t number, bool is_known)
{
	fprintf(w->out, "  \"%s\": ", name);
	if (is_known)
		fprintf(w->out, "%" PRId64 ",\n", number);
	else
		fputs("null,\n", w->out);
}

/* Write the first @limit rows. In a list of callers, "no caller" is a row with the name null. */
static void put_rows(struct data_writer *w, const struct ranking *ranking,
	const struct ranking_rows *rows, uint32_t limit, const char *indent)
{
	struct spread_shares spread;

	for (uint32_t i = 0; i < rows->count && (!limit || i < limit); i++) {
		const struct ranking_row *row = &rows->at[i];

		fprintf(w->out, "%s\n%s{\"name\": ", i ? "," : "", indent);
		if (row->function == RANKING_NO_FUNCTION) {
			fputs("null, \"module\": \"\", \"kind\": null", w->out);
		} else {
			const struct calltree_frame *frame = ranking_frame(ranking, row->function);

			put_text(w, frame->name, SIZE_MAX);
			fputs(", \"module\": ", w->out);
			put_text(w, frame->module, SIZE_MAX);
			fprintf(w->out, ", \"kind\": \"%s\"", kind_name(frame->kind));
		}
		fprintf(w->out, ", \"self\": %" PRIu64 ", \"total\": %" PRIu64, row->self,
			row->total);
		if (rows == &w->report->functions && find_spread(w, ranking, row, &spread))
			fprintf(w->out, ", \"self_spread\": %.4f, \"total_spread\": %.4f",
				100 * spread.self, 100 * spread.total);
		putc('}', w->out);
	}
}

static void put_table(struct data_writer *w, const char *name, const struct ranking *ranking,
	const struct ranking_rows *rows, uint32_t limit)
{
	fprintf(w->out, "  \"%s\": [", name);
	put_rows(w, ranking, rows, limit, "    ");
	fputs("],\n", w->out);
}

static void put_facts(struct data_writer *w)
{
	static const char *const times[] = {"cpu", "wait", "cpu and wait"};
	const struct picture_options *picture = w->report->picture;
	const char *counted = picture->count_name;

	fprintf(w->out, "{\n  \"flamerun\": %d,\n", REPORT_JSON_VERSION);
	put_member(w, "title", picture->title);
	put_member(w, "subtitle", picture->subtitle);
	put_member(w, "left_out", picture->filters);
	put_number(w, "created_s", picture->created_s, picture->created_s != 0);
	put_number(w, "duration_ns", (int64_t)picture->duration_ns, picture->duration_ns != 0);
	put_number(w, "period_ns", (int64_t)picture->period_ns, picture->period_ns != 0);
	put_member(w, "counted", counted && *counted ? counted : "samples");
	put_member(w, "type", picture->type_name);
	put_member(w, "shown", times[picture->times]);
	put_number(w, "weight", (int64_t)calltree_total(w->report->drawn), true);
}

static void put_runs(struct data_writer *w)
{
	const struct spread *spread = w->report->picture->spread;

	if (!spread)
		return;
	fputs("  \"runs\": [", w->out);
	for (unsigned i = 0; i < spread_runs(spread); i++)
		fprintf(w->out, "%s\n    {\"wall_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 "}",
			i ? "," : "", spread_run_at(spread, i)->wall_ns,
			spread_run_at(spread, i)->cpu_ns);
	fputs("],\n", w->out);
}

static void put_threads(struct data_writer *w, uint32_t limit)
{
	const struct report *report = w->report;

	fputs("  \"threads\": [", w->out);
	for (uint32_t i = 0; i < report->thread_count && (!limit || i < limit); i++) {
		fprintf(w->out, "%s\n    {\"name\": ", i ? "," : "");
		put_text(w, report->threads[i].name, SIZE_MAX);
		fputs(", \"process\": ", w->out);
		put_text(w, report->threads[i].process, SIZE_MAX);
		fprintf(w->out, ", \"weight\": %" PRIu64 "}", report->threads[i].weight);
	}
	fputs("],\n", w->out);
}

static void put_rank(struct data_writer *w, const struct ranks *ranks, uint32_t at)
{
	const struct ranks_one *one = &ranks->one[at];

	fprintf(w->out, "%s\n    {\"rank\": %" PRIu32 ", \"node\": ", at ? "," : "", one->number);
	put_text(w, ranks->nodes[one->node], SIZE_MAX);
	fprintf(w->out,
		", \"has_ended\": %s, \"status\": %" PRIu32 ", \"signal\": %" PRIu32
		", \"is_unusual\": %s, \"duration_ns\": %" PRIu64 ", \"cpu\": %" PRIu64
		", \"cpu_in_mpi\": %" PRIu64 ", \"waits\": %" PRIu64 ", \"waits_in_mpi\": %" PRIu64
		"}",
		one->has_ended ? "true" : "false", one->status, one->signal,
		one->is_unusual ? "true" : "false", one->duration_ns, one->cpu, one->cpu_in_mpi,
		one->waits, one->waits_in_mpi);
}

/* Write a job's ranks, and each function's total weight over the ranks. */
static void put_job(struct data_writer *w, uint32_t limit)
{
	const struct ranks *ranks = w->report->picture->ranks;
	const struct ranking_rows *rows = &w->report->functions;
	struct ranks_function function;
	const char *comma = "";

	if (!ranks)
		return;
	fprintf(w->out, "  \"job\": {\"size\": %" PRIu32 ", \"ranks\": [", ranks->size);
	for (uint32_t i = 0; i < ranks->count; i++)
		put_rank(w, ranks, i);
	fputs("], \"functions\": [", w->out);
	for (uint32_t i = 0; i < rows->count && (!limit || i < limit); i++) {
		const struct calltree_frame *frame =
			ranking_frame(&w->report->ranking, rows->at[i].function);

		if (!ranks_find(ranks, frame, &function))
			continue;
		fprintf(w->out, "%s\n    {\"name\": ", comma);
		comma = ",";
		put_text(w, frame->name, SIZE_MAX);
		fputs(", \"module\": ", w->out);
		put_text(w, frame->module, SIZE_MAX);
		fprintf(w->out,
			", \"least\": %" PRIu64 ", \"least_rank\": %" PRIu32 ", \"mean\": %.3f"
			", \"most\": %" PRIu64 ", \"most_rank\": %" PRIu32
			", \"imbalance\": %.4f, \"is_chance\": %s}",
			function.least, function.least_rank, ranks_mean(ranks, &function),
			function.most, function.most_rank, ranks_imbalance(ranks, &function),
			ranks_is_chance(ranks_mean(ranks, &function), function.most) ? "true"
										     : "false");
	}
	fputs("]},\n", w->out);
}

static void put_waits(struct data_writer *w, uint32_t limit)
{
	const struct report *report = w->report;

	fprintf(w->out, "  \"waits\": {\"weight\": %" PRIu64 ", \"idle\": %" PRIu64,
		report_waits(report), report->idle);
	for (unsigned i = 0; i < PALETTE_WAITS; i++)
		fprintf(w->out, ", \"%s\": %" PRIu64, report_wait_kind(i), report->wait_kinds[i]);
	fputs(", \"places\": [", w->out);
	for (size_t i = 0; i < report->wait_count && (!limit || i < limit); i++) {
		const struct wait_site *place = &report->waits[i];

		fprintf(w->out, "%s\n    {\"function\": ", i ? "," : "");
		put_text(w, place->function, SIZE_MAX);
		fputs(", \"waits_for\": ", w->out);
		put_text(w, place->leaf, (size_t)place->leaf_bytes);
		fputs(", \"kind\": ", w->out);
		put_text(w, place->kind, SIZE_MAX);
		fprintf(w->out, ", \"weight\": %" PRIu64 "}", place->weight);
	}
	fputs("]},\n", w->out);
}

/* Write the functions of each thread or process, if the tree was grouped. */
static void put_groups(struct data_writer *w, uint32_t limit)
{
	const struct ranking *ranking = &w->report->ranking;
	uint32_t *nodes = NULL, count;

	w->error = w->error ? w->error : report_groups(w->report, &nodes, &count);
	for (uint32_t i = 0; !w->error && i < count && (!limit || i < limit); i++) {
		const struct calltree_node *node = calltree_node_at(ranking->tree, nodes[i]);
		struct ranking_rows rows = {.count = 0};

		w->error = ranking_of(ranking, nodes[i], &rows);
		fprintf(w->out, "%s\n    {\"name\": ", i ? "," : "  \"groups\": [");
		put_text(w, calltree_frame_at(ranking->tree, node->frame)->name, SIZE_MAX);
		fprintf(w->out, ", \"weight\": %" PRIu64 ", \"functions\": [", node->total);
		put_rows(w, ranking, &rows, limit, "      ");
		fputs("]}", w->out);
		free(rows.at);
	}
	if (!w->error && count)
		fputs("],\n", w->out);
	free(nodes);
}

static void put_neighbours(
	struct data_writer *w, const struct ranking_row *row, bool is_below, uint32_t limit)
{
	struct ranking_rows rows = {.count = 0};

	if (!w->error)
		w->error = ranking_neighbours(&w->report->ranking, row->function, is_below, &rows);
	fprintf(w->out, ",\n     \"%s\": [", is_below ? "callees" : "callers");
	put_rows(w, &w->report->ranking, &rows, limit, "       ");
	fputs("]", w->out);
	free(rows.at);
}

static void put_found(struct data_writer *w, uint32_t limit)
{
	struct ranking_rows found;

	if (w->error || !w->report->request || !w->report->request->of.match)
		return;
	w->error = report_found(w->report, &found);
	fputs("  \"of\": [", w->out);
	for (uint32_t i = 0; !w->error && i < found.count; i++) {
		const struct ranking_rows one = {.at = &found.at[i], .count = 1};

		fprintf(w->out, "%s\n    {\"function\": ", i ? "," : "");
		put_rows(w, &w->report->ranking, &one, 1, "     ");
		put_neighbours(w, &found.at[i], false, limit);
		put_neighbours(w, &found.at[i], true, limit);
		putc('}', w->out);
	}
	fputs("],\n", w->out);
	free(found.at);
}

static void put_uncertain(struct data_writer *w)
{
	const struct special_weights *special = &w->report->special;

	fprintf(w->out,
		"  \"uncertain\": {\"unnamed\": %" PRIu64 ", \"incomplete\": %" PRIu64
		", \"unsampled\": %" PRIu64 ", \"lost\": ",
		special->unnamed, special->incomplete, special->unsampled);
	if (w->report->picture->knows_lost)
		fprintf(w->out, "%" PRIu64, w->report->picture->lost);
	else
		fputs("null", w->out);
	fputs("}\n}\n", w->out);
}

static int end_writing(const struct data_writer *w)
{
	if (w->error)
		return w->error;
	return ferror(w->out) ? -EIO : 0;
}

int report_put_json(const struct report *report, FILE *out)
{
	struct data_writer w = {.report = report, .out = out};
	uint32_t limit = report->request ? report->request->limit : 0;

	put_facts(&w);
	put_runs(&w);
	put_table(&w, "functions", &report->ranking, &report->functions, limit);
	put_table(&w, "path", &report->ranking, &report->path, 0);
	put_table(&w, "modules", &report->module_ranking, &report->modules, limit);
	put_threads(&w, limit);
	put_job(&w, limit);
	if (report->request)
		put_groups(&w, limit);
	put_found(&w, limit);
	put_waits(&w, limit);
	put_uncertain(&w);
	return end_writing(&w);
}

int report_write_json(const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct report report;
	int error = report_init(&report, tree, options, NULL);

	if (error)
		return error;
	error = report_put_json(&report, out);
	report_release(&report);
	return error;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Leave the spread columns empty for rows without spread. */
static void end_line(struct data_writer *w)
{
	fputs(w->report->picture->spread ? ",,\n" : "\n", w->out);
}

/* Write rows of @table; @of is the function, thread or process that they belong to. */
static void put_lines(struct data_writer *w, const char *table, const char *of,
	const struct ranking *ranking, const struct ranking_rows *rows, uint32_t limit)
{
	struct spread_shares spread;

	for (uint32_t i = 0; i < rows->count && (!limit || i < limit); i++) {
		const struct ranking_row *row = &rows->at[i];
		const struct calltree_frame *frame = NULL;

		if (row->function != RANKING_NO_FUNCTION)
			frame = ranking_frame(ranking, row->function);
		fprintf(w->out, "%s,", table);
		put_text(w, of, SIZE_MAX);
		putc(',', w->out);
		put_text(w, frame ? frame->name : "", SIZE_MAX);
		putc(',', w->out);
		put_text(w, frame ? frame->module : "", SIZE_MAX);
		fprintf(w->out, ",%s,%" PRIu64 ",%" PRIu64, frame ? kind_name(frame->kind) : "",
			row->self, row->total);
		if (rows == &w->report->functions && find_spread(w, ranking, row, &spread))
			fprintf(w->out, ",%.4f,%.4f\n", 100 * spread.self, 100 * spread.total);
		else
			end_line(w);
	}
}

static void put_group_lines(struct data_writer *w, uint32_t limit)
{
	const struct ranking *ranking = &w->report->ranking;
	uint32_t *nodes = NULL, count = 0;

	w->error = report_groups(w->report, &nodes, &count);
	for (uint32_t i = 0; !w->error && i < count && (!limit || i < limit); i++) {
		uint32_t frame = calltree_node_at(ranking->tree, nodes[i])->frame;
		struct ranking_rows rows = {.count = 0};

		w->error = ranking_of(ranking, nodes[i], &rows);
		put_lines(w, "group", calltree_frame_at(ranking->tree, frame)->name, ranking, &rows,
			limit);
		free(rows.at);
	}
	free(nodes);
}

static void put_found_lines(struct data_writer *w, uint32_t limit)
{
	const struct ranking *ranking = &w->report->ranking;
	struct ranking_rows found = {.count = 0};

	if (!w->error)
		w->error = report_found(w->report, &found);
	for (uint32_t i = 0; !w->error && i < found.count; i++)
		for (int below = 0; !w->error && below < 2; below++) {
			struct ranking_rows rows = {.count = 0};

			w->error = ranking_neighbours(ranking, found.at[i].function, below, &rows);
			put_lines(w, below ? "callee" : "caller",
				ranking_frame(ranking, found.at[i].function)->name, ranking, &rows,
				limit);
			free(rows.at);
		}
	free(found.at);
}

int report_put_csv(const struct report *report, FILE *out)
{
	struct data_writer w = {.report = report, .out = out, .is_csv = true};
	uint32_t limit = report->request->limit;

	fprintf(out, "table,of,name,module,kind,self,total%s\n",
		report->picture->spread ? ",self_spread,total_spread" : "");
	put_lines(&w, "function", "", &report->ranking, &report->functions, limit);
	put_lines(&w, "module", "", &report->module_ranking, &report->modules, limit);
	for (uint32_t i = 0; i < report->thread_count && (!limit || i < limit); i++) {
		fputs("thread,", out);
		put_text(&w, report->threads[i].process, SIZE_MAX);
		putc(',', out);
		put_text(&w, report->threads[i].name, SIZE_MAX);
		fprintf(out, ",\"\",thread,0,%" PRIu64, report->threads[i].weight);
		end_line(&w);
	}
	put_group_lines(&w, limit);
	put_found_lines(&w, limit);
	return end_writing(&w);
}
