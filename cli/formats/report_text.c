/* SPDX-License-Identifier: MIT */
/*
 * Reports for people: tables as wide as the terminal, and run.md. Long names are shortened.
 *
 * In Markdown, profile data is in fenced blocks. Only a line that begins with a fence ends such a
 * block, and no table row begins with a name. A file that is too long is made again with fewer
 * rows.
 */
#include "cli/formats/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/ranks.h"
#include "render/label.h"
#include "render/spread.h"

#define NS_PER_S 1e9

#define TEXT_ROWS 10
/* minimum width, however narrow the terminal is */
#define TEXT_COLUMNS	 50
#define MARKDOWN_ROWS	 10
#define MARKDOWN_COLUMNS 100
#define CALLER_ROWS	 5
/* Width used if the file is too long even with one row per table. */
#define MARKDOWN_NARROW 60

struct text_writer {
	const struct report *report;
	FILE *out;
	unsigned columns;
	uint32_t rows;
};

/* ---- fitting --------------------------------------------------------------------------------- */

/* Returns a character's terminal columns; at least 1, which also limits a line's bytes. */
static double columns_of(const struct label_measure *measure, uint32_t c)
{
	bool is_wide = (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
		       (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
		       (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
		       (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);

	(void)measure;
	return is_wide ? 2 : 1;
}

static const struct label_measure terminal = {.advance_px = columns_of};

/* Shorten @name to @columns. */
static const char *fit(
	char out[LABEL_BYTES], const char *name, unsigned columns, enum label_names names)
{
	if (!label_fit(out, name, NULL, columns, &terminal, names))
		strcpy(out, *name ? "\u2026" : "");
	return out;
}

/* Returns the columns that remain after @used, at least 8. */
static unsigned columns_left(const struct text_writer *w, unsigned used)
{
	unsigned columns = w->columns > TEXT_COLUMNS ? w->columns : TEXT_COLUMNS;

	return columns > used + 8 ? columns - used : 8;
}

/* Write "main [program]" into the columns after @used. Both names may be shortened. */
static void put_name(const struct text_writer *w, const struct calltree_frame *frame, unsigned used)
{
	unsigned room = columns_left(w, used), taken;
	char name[LABEL_BYTES], module[LABEL_BYTES], raw[PICTURE_NAMES_MODULE_BYTES];

	fit(name, frame->name, room, LABEL_SHORT);
	taken = (unsigned)label_width_px(name, &terminal);
	/* The module gets a third of the room, or the columns that the name leaves, if more. */
	fit(module, module_text(raw, frame), room - taken > room / 3 ? room - taken : room / 3,
		LABEL_TEXT);
	taken = (unsigned)label_width_px(module, &terminal);
	fit(name, frame->name, room - taken, LABEL_WHOLE);
	fprintf(w->out, "%s%s\n", name, module);
}

static double share(const struct text_writer *w, uint64_t weight)
{
	uint64_t all = calltree_total(w->report->drawn);

	return all ? 100.0 * (double)weight / (double)all : 0;
}

/* Write a time ("  1.25 s") or a count, in ten columns. */
static void put_amount(const struct text_writer *w, uint64_t weight)
{
	char count[32];

	if (w->report->picture->period_ns) {
		fprintf(w->out, "%8.2f s",
			(double)weight * (double)w->report->picture->period_ns / NS_PER_S);
		return;
	}
	count_text(count, sizeof(count), weight);
	fprintf(w->out, "%10s", count);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Columns of self, total and self time. */
#define ROW_COLUMNS 30

/* Width of the spread's column, which follows the self weight and the total weight. */
#define SPREAD_COLUMNS 7

/* Do the rows of @ranking have a spread over several runs? */
static bool has_spread(const struct text_writer *w, const struct ranking *ranking)
{
	const struct spread *spread = w->report->picture->spread;

	return ranking == &w->report->ranking && spread && spread_runs(spread) > 1;
}

static void put_row_head(
	const struct text_writer *w, const struct ranking *ranking, const char *what)
{
	const char *runs = has_spread(w, ranking) ? "  runs" : "";
	const struct picture_options *picture = w->report->picture;
	bool is_bytes = picture->count_name && !strcmp(picture->count_name, "bytes");

	fprintf(w->out, "%7s%-*s  %7s%-*s  %10s  %s\n", "self", *runs ? SPREAD_COLUMNS : 0, runs,
		"total", *runs ? SPREAD_COLUMNS : 0, runs,
		picture->period_ns ? "self time"
		: is_bytes	   ? "self bytes"
				   : "self count",
		what);
}

static void put_spread(const struct text_writer *w, double deviation, bool is_known)
{
	if (is_known)
		fprintf(w->out, " \u00b1%5.1f", 100 * deviation);
	else
		fprintf(w->out, "%*s", SPREAD_COLUMNS, "");
}

static void put_row(
	const struct text_writer *w, const struct ranking *ranking, const struct ranking_row *row)
{
	const struct calltree_frame *frame = ranking_frame(ranking, row->function);
	struct calltree_frame module = {.name = frame->name, .module = ""};
	bool is_spread = has_spread(w, ranking), is_known = false;
	struct spread_shares spread = {.self = 0};

	if (is_spread)
		is_known = spread_find(w->report->picture->spread, frame, &spread);
	fprintf(w->out, "%5.1f %%", share(w, row->self));
	if (is_spread)
		put_spread(w, spread.self, is_known);
	fprintf(w->out, "  %5.1f %%", share(w, row->total));
	if (is_spread)
		put_spread(w, spread.total, is_known);
	fputs("  ", w->out);
	put_amount(w, row->self);
	fputs("  ", w->out);
	put_name(w, strcmp(frame->name, frame->module) ? frame : &module,
		ROW_COLUMNS + (is_spread ? 2 * SPREAD_COLUMNS : 0));
}

static void put_rows(const struct text_writer *w, const struct ranking *ranking,
	const struct ranking_rows *rows, const char *what)
{
	put_row_head(w, ranking, what);
	for (uint32_t i = 0; i < rows->count && i < w->rows; i++)
		put_row(w, ranking, &rows->at[i]);
}

/* Write a share, an amount and a name. */
static void put_share_row(const struct text_writer *w, uint64_t weight, const char *name)
{
	char fitted[LABEL_BYTES];

	fprintf(w->out, "%5.1f %%  ", share(w, weight));
	put_amount(w, weight);
	fprintf(w->out, "  %s\n", fit(fitted, name, columns_left(w, 21), LABEL_TEXT));
}

/* Write threads without their process, because thread names contain its number. */
static void put_threads(const struct text_writer *w)
{
	const struct report *report = w->report;

	for (uint32_t i = 0; i < report->thread_count && i < w->rows; i++)
		put_share_row(w, report->threads[i].weight, report->threads[i].name);
	if (report->thread_count > w->rows)
		fprintf(w->out, "%" PRIu32 " more threads\n", report->thread_count - w->rows);
}

/* Write the hottest path. Of consecutive frames with equal shares only the last is shown. */
static void put_path(const struct text_writer *w)
{
	const struct ranking_rows *path = &w->report->path;
	char here[16], next[16];
	uint32_t rows = 0;

	for (uint32_t i = 0; i < path->count && rows < w->rows; i++) {
		snprintf(here, sizeof(here), "%5.1f", share(w, path->at[i].total));
		snprintf(next, sizeof(next), "%5.1f",
			i + 1 < path->count ? share(w, path->at[i + 1].total) : -1);
		if (!strcmp(here, next))
			continue;
		fprintf(w->out, "%s %%  ", here);
		put_name(w, ranking_frame(&w->report->ranking, path->at[i].function), 9);
		rows++;
	}
}

/* Write where threads wait; idle threads are one row. */
static void put_wait_sites(const struct text_writer *w)
{
	const struct report *report = w->report;
	char text[LABEL_BYTES + 128], fitted[LABEL_BYTES];

	if (report->wait_count)
		putc('\n', w->out);
	for (size_t i = 0; i < report->wait_count && i < w->rows; i++) {
		const struct wait_site *place = &report->waits[i];

		fprintf(w->out, "%5.1f %%  ",
			100.0 * (double)place->weight / (double)report_waits(report));
		put_amount(w, place->weight);
		snprintf(text, sizeof(text), "%.*s%s%.900s",
			place->leaf_bytes < 100 ? place->leaf_bytes : 100, place->leaf,
			*place->function ? " below " : "", place->function);
		fprintf(w->out, "  %s\n", fit(fitted, text, columns_left(w, 21), LABEL_TEXT));
	}
}

static void put_waits(const struct text_writer *w)
{
	const struct report *report = w->report;
	uint64_t all = report_waits(report);

	for (unsigned i = 0; i < PALETTE_WAITS; i++) {
		if (!report->wait_kinds[i])
			continue;
		fprintf(w->out, "%5.1f %%  ", 100.0 * (double)report->wait_kinds[i] / (double)all);
		put_amount(w, report->wait_kinds[i]);
		fprintf(w->out, "  %s\n", report_wait_kind(i));
	}
	if (report->idle) {
		fprintf(w->out, "%5.1f %%  ", 100.0 * (double)report->idle / (double)all);
		put_amount(w, report->idle);
		fputs("  of it by idle threads\n", w->out);
	}
	put_wait_sites(w);
}

static void put_uncertain(const struct text_writer *w)
{
	const struct report *report = w->report;
	const struct picture_options *picture = report->picture;
	double all = (double)calltree_total(report->drawn);

	fprintf(w->out, "unnamed: %.1f %%, ends in code without a function's name\n",
		share(w, report->special.unnamed));
	fprintf(w->out, "incomplete: %.1f %%, lacks the way from the start\n",
		share(w, report->special.incomplete));
	fprintf(w->out, "unsampled: %.1f %%\n", share(w, report->special.unsampled));
	if (picture->knows_lost)
		fprintf(w->out,
			"lost: %" PRIu64 " samples that were due, in none of these tables\n",
			picture->lost);
	else
		fputs("lost: not known\n", w->out);
	/* The standard deviation of a share p of n samples is sqrt(p (1 - p) / n); p = 1/2 here. */
	if (picture->period_ns > 1 && all > 0)
		fprintf(w->out,
			"chance: a share of a half is off by up to %.1f points, in 19 of 20 "
			"runs\n",
			fmin(50, 196 * sqrt(0.25 / all)));
}

/* ---- ranks of a job -------------------------------------------------------------------------- */

static double rank_seconds(const struct text_writer *w, double weight)
{
	return weight * (double)w->report->picture->period_ns / NS_PER_S;
}

/* Write a function's weights over the ranks. If the maximum may be chance, name no rank. */
static void put_rank_row(const struct text_writer *w, const struct ranking_row *row)
{
	const struct ranks *ranks = w->report->picture->ranks;
	const struct calltree_frame *frame = ranking_frame(&w->report->ranking, row->function);
	struct ranks_function function;
	char most[32] = "chance";
	double mean;

	if (!ranks_find(ranks, frame, &function))
		return;
	mean = ranks_mean(ranks, &function);
	if (!ranks_is_chance(mean, function.most))
		snprintf(most, sizeof(most), "%" PRIu32, function.most_rank);
	fprintf(w->out, "%8.2f  %8.2f  %8.2f  %8.0f %%  %8s  ",
		rank_seconds(w, (double)function.least), rank_seconds(w, mean),
		rank_seconds(w, (double)function.most), 100 * ranks_imbalance(ranks, &function),
		most);
	put_name(w, frame, 54);
}

/*
 * Returns how far the function's maximum over the ranks is above its mean; 0 if that may be chance.
 * Also 0 for a function with little self weight, as its excess is that of its callees, and for
 * functions of MPI, in which ranks wait for others.
 */
static double rank_excess(const struct text_writer *w, uint32_t at)
{
	const struct ranking_row *row = &w->report->functions.at[at];
	const struct calltree_frame *frame = ranking_frame(&w->report->ranking, row->function);
	const struct ranks *ranks = w->report->picture->ranks;
	struct ranks_function function;
	double mean;

	if (row->self < row->total / 10 || ranks_is_mpi_library(frame->module) ||
		!ranks_find(ranks, frame, &function))
		return 0;
	mean = ranks_mean(ranks, &function);
	return ranks_is_chance(mean, function.most) ? 0 : (double)function.most - mean;
}

/*
 * Write the functions with the largest rank_excess() that are not in the first rows. The work of a
 * single rank is little of the total, but all other ranks may wait for this rank.
 */
static void put_excess_rows(const struct text_writer *w)
{
	double above = INFINITY;

	for (uint32_t put = 0; put < CALLER_ROWS; put++) {
		double most = 0;
		uint32_t at = 0;

		for (uint32_t i = w->rows; i < w->report->functions.count; i++) {
			double excess = rank_excess(w, i);

			if (excess > most && excess < above) {
				most = excess;
				at = i;
			}
		}
		if (most <= 0)
			return;
		put_rank_row(w, &w->report->functions.at[at]);
		above = most;
	}
}

/*
 * Write the functions with most self weight, then those with the largest rank_excess(), then MPI
 * functions, which have little self weight.
 */
static void put_rank_rows(const struct text_writer *w)
{
	const struct ranking_rows *functions = &w->report->functions;
	uint32_t of_mpi = 0;

	fprintf(w->out, "%8s  %8s  %8s  %10s  %8s  %s\n", "min s", "mean s", "max s", "imbalance",
		"rank", "functions with what they call, over ranks");
	for (uint32_t i = 0; i < functions->count && i < w->rows; i++)
		put_rank_row(w, &functions->at[i]);
	put_excess_rows(w);
	for (uint32_t i = 0; i < functions->count && of_mpi < CALLER_ROWS; i++) {
		const struct calltree_frame *frame =
			ranking_frame(&w->report->ranking, functions->at[i].function);

		if (i < w->rows || !ranks_is_mpi(frame->name))
			continue;
		put_rank_row(w, &functions->at[i]);
		of_mpi++;
	}
}

static void put_rank_lines(const struct text_writer *w)
{
	char line[RANKS_TEXT_BYTES], fitted[LABEL_BYTES];

	for (unsigned i = 0; ranks_line(w->report->picture->ranks, i, line); i++)
		fprintf(w->out, "%s\n", fit(fitted, line, columns_left(w, 0), LABEL_TEXT));
}

/* ---- a terminal ------------------------------------------------------------------------------ */

static void put_head(const struct text_writer *w)
{
	const struct picture_options *picture = w->report->picture;
	const char *const lines[] = {picture->title, picture->subtitle};
	char fitted[LABEL_BYTES];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (lines[i] && *lines[i])
			fprintf(w->out, "%s\n",
				fit(fitted, lines[i], columns_left(w, 0), LABEL_TEXT));
}

static void put_neighbours(const struct text_writer *w, const struct ranking_rows *rows)
{
	for (uint32_t i = 0; i < rows->count && i < w->rows; i++) {
		fprintf(w->out, "  %5.1f %%  ", share(w, rows->at[i].total));
		put_amount(w, rows->at[i].total);
		fputs("  ", w->out);
		if (rows->at[i].function == RANKING_NO_FUNCTION)
			fputs("nobody: stacks begin here\n", w->out);
		else
			put_name(w, ranking_frame(&w->report->ranking, rows->at[i].function), 23);
	}
}

/* Write the functions that --of selects, with their callers and callees. */
static int put_found(const struct text_writer *w)
{
	const struct ranking *ranking = &w->report->ranking;
	struct ranking_rows found, rows;
	int error = report_found(w->report, &found);

	if (!error && !found.count)
		fputs("no function matches --of\n", w->out);
	for (uint32_t i = 0; !error && i < found.count && i < w->rows; i++) {
		uint32_t function = found.at[i].function;

		putc('\n', w->out);
		put_row_head(w, ranking, "function");
		put_row(w, ranking, &found.at[i]);
		for (int below = 0; !error && below < 2; below++) {
			error = ranking_neighbours(ranking, function, below, &rows);
			if (error)
				break;
			fprintf(w->out, "%s%s\n", below ? "calls" : "is called by",
				rows.count ? "" : ": nothing");
			put_neighbours(w, &rows);
			free(rows.at);
		}
	}
	free(found.at);
	return error;
}

static int put_groups(const struct text_writer *w)
{
	const struct ranking *ranking = &w->report->ranking;
	uint32_t *nodes = NULL, count;
	int error = report_groups(w->report, &nodes, &count);

	for (uint32_t i = 0; !error && i < count && i < w->rows; i++) {
		const struct calltree_node *node = calltree_node_at(ranking->tree, nodes[i]);
		struct ranking_rows rows;

		error = ranking_of(ranking, nodes[i], &rows);
		if (error)
			break;
		putc('\n', w->out);
		put_share_row(w, node->total, calltree_frame_at(ranking->tree, node->frame)->name);
		put_rows(w, ranking, &rows, "function");
		free(rows.at);
	}
	free(nodes);
	return error;
}

static int put_totals(const struct text_writer *w)
{
	const struct ranking_rows *functions = &w->report->functions;
	struct ranking_rows totals = {.count = functions->count};

	totals.at = calloc(totals.count + (size_t)1, sizeof(*totals.at));
	if (!totals.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < totals.count; i++)
		totals.at[i] = functions->at[i];
	ranking_sort_by_total(&totals);
	put_rows(w, &w->report->ranking, &totals, "functions by total");
	free(totals.at);
	return 0;
}

static int put_tables(const struct text_writer *w)
{
	const struct report *report = w->report;
	int error;

	if (report->picture->ranks) {
		putc('\n', w->out);
		put_rank_lines(w);
		putc('\n', w->out);
		put_rank_rows(w);
	}
	putc('\n', w->out);
	put_rows(w, &report->ranking, &report->functions, "functions by self");
	putc('\n', w->out);
	error = put_totals(w);
	putc('\n', w->out);
	put_rows(w, &report->module_ranking, &report->modules, "modules");
	if (report->thread_count > 1) {
		fprintf(w->out, "\n%7s  %10s  %s\n", "total", "",
			report->picture->ranks ? "ranks" : "threads");
		put_threads(w);
	}
	if (report_waits(report)) {
		fprintf(w->out, "\n%7s  %10s  %s\n", "waited", "", "for");
		put_waits(w);
	}
	return error;
}

int report_put_text(const struct report *report, unsigned columns, FILE *out)
{
	const struct text_writer w = {.report = report,
		.out = out,
		.columns = columns,
		.rows = report->request->limit ? report->request->limit : TEXT_ROWS};
	bool is_grouped = report->picture->by_process || report->picture->by_thread;
	int error;

	put_head(&w);
	if (report->request->of.match)
		error = put_found(&w);
	else
		error = is_grouped ? put_groups(&w) : put_tables(&w);
	return error ? error : ferror(out) ? -EIO : 0;
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void put_section(const struct text_writer *w, const char *title)
{
	fprintf(w->out, "```\n\n## %s\n\n```text\n", title);
}

static void put_line(const struct text_writer *w, const char *name, const char *text)
{
	char fitted[LABEL_BYTES];

	if (text && *text)
		fprintf(w->out, "%s: %s\n", name, fit(fitted, text, w->columns + 60, LABEL_TEXT));
}

static void put_facts(const struct text_writer *w)
{
	const struct picture_options *picture = w->report->picture;
	uint64_t all = calltree_total(w->report->drawn);
	char wall[SPREAD_TEXT_BYTES], cpu[SPREAD_TEXT_BYTES];

	fputs("# Where the time went\n\n```text\n", w->out);
	put_line(w, "ran", picture->title);
	put_line(w, "counted", picture->subtitle);
	put_line(w, "left out", picture->filters);
	if (picture->period_ns > 1)
		fprintf(w->out, "rate: %.0f Hz\n", NS_PER_S / (double)picture->period_ns);
	if (picture->duration_ns)
		fprintf(w->out, "duration: %.2f s\n", (double)picture->duration_ns / NS_PER_S);
	if (picture->spread) {
		spread_text(picture->spread, false, wall);
		spread_text(picture->spread, true, cpu);
		fprintf(w->out, "runs: %u\nwall time of a run: %s\nCPU time of a run: %s\n",
			spread_runs(picture->spread), wall, cpu);
	}
	fprintf(w->out, "shares are of: %" PRIu64, all);
	if (picture->period_ns)
		fprintf(w->out, ", %.2f s", (double)all * (double)picture->period_ns / NS_PER_S);
	fprintf(w->out, "%s\n",
		picture->times == CALLTREE_TIMES_CPU	 ? ""
		: picture->times == CALLTREE_TIMES_WAITS ? ", waits alone"
							 : ", waits among them");
}

/* Write the functions that are not on the hottest path, sorted by total weight. */
static int put_other_totals(const struct text_writer *w)
{
	const struct report *report = w->report;
	const struct ranking_rows *functions = &report->functions;
	bool *is_on_path = calloc((size_t)report->ranking.functions + 1, sizeof(*is_on_path));
	struct ranking_rows rows = {.at = calloc((size_t)functions->count + 1, sizeof(*rows.at))};
	int error = is_on_path && rows.at ? 0 : -ENOMEM;

	for (uint32_t i = 0; !error && i < report->path.count; i++)
		is_on_path[report->path.at[i].function] = true;
	for (uint32_t i = 0; !error && i < functions->count; i++)
		if (!is_on_path[functions->at[i].function])
			rows.at[rows.count++] = functions->at[i];
	if (!error) {
		ranking_sort_by_total(&rows);
		put_rows(w, &report->ranking, &rows, "function");
	}
	free(is_on_path);
	free(rows.at);
	return error;
}

/* Write the callers of the first function, because a name such as memcpy says little. */
static int put_callers(const struct text_writer *w)
{
	const struct report *report = w->report;
	struct text_writer few = *w;
	struct ranking_rows rows;
	int error;

	if (!report->functions.count)
		return 0;
	error = ranking_neighbours(
		&report->ranking, report->functions.at[0].function, false, &rows);
	if (error)
		return error;
	if (few.rows > CALLER_ROWS)
		few.rows = CALLER_ROWS;
	put_section(w, "Callers of the first of these");
	put_neighbours(&few, &rows);
	free(rows.at);
	return 0;
}

static int put_markdown(const struct text_writer *w)
{
	const struct report *report = w->report;
	int error;

	put_facts(w);
	put_section(w, "Functions by self");
	put_rows(w, &report->ranking, &report->functions, "function");
	error = put_callers(w);
	if (error)
		return error;
	put_section(w, "Hot path, from the outermost function on");
	put_path(w);
	put_section(w, "Functions by total, but for the hot path's");
	error = put_other_totals(w);
	put_section(w, "Modules");
	put_rows(w, &report->module_ranking, &report->modules, "module");
	if (report->thread_count) {
		put_section(w, "Threads");
		put_threads(w);
	}
	if (report_waits(report)) {
		put_section(w, "Waits, and their shares of all waiting");
		put_waits(w);
	}
	put_section(w, "What is uncertain");
	put_uncertain(w);
	fputs("```\n", w->out);
	return error;
}

/* Make the report with @rows per table. Returns 0 and *@text (*@bytes long), to be freed. */
static int make_markdown(
	const struct report *report, uint32_t rows, unsigned columns, char **text, size_t *bytes)
{
	struct text_writer w = {.report = report, .columns = columns, .rows = rows};
	int error;

	w.out = open_memstream(text, bytes);
	if (!w.out)
		return -ENOMEM;
	error = put_markdown(&w);
	if (fclose(w.out) && !error)
		error = -ENOMEM;
	return error;
}

int report_write_markdown(
	const struct calltree *tree, const struct picture_options *options, FILE *out)
{
	struct report report;
	char *text = NULL;
	size_t bytes = REPORT_MARKDOWN_BYTES + 1;
	int error = report_init(&report, tree, options, NULL);

	if (error)
		return error;
	for (uint32_t rows = MARKDOWN_ROWS; !error && bytes > REPORT_MARKDOWN_BYTES; rows--) {
		free(text);
		text = NULL;
		error = make_markdown(&report, rows ? rows : 1,
			rows ? MARKDOWN_COLUMNS : MARKDOWN_NARROW, &text, &bytes);
		if (!rows)
			break;
	}
	report_release(&report);
	if (!error && fwrite(text, 1, bytes, out) != bytes)
		error = -EIO;
	free(text);
	return error;
}
