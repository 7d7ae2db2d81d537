/* SPDX-License-Identifier: MIT */
/* Write a comparison as a table or JSON. Names may contain any bytes, so label_clean() them. */
#include "cli/compare/change_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/formats/quoted.h"
#include "render/label.h"

#define AMOUNT_BYTES 32
#define LIMIT_USUAL  20
#define KB	     1000.0
/* Above these values, put_bounds() prints no number, because the runs are too few. */
#define MOST_POINTS 100.0
#define MOST_CHANGE 10.0

/* ---- numbers --------------------------------------------------------------------------------- */

/* Returns the name of one unit of weight. */
static const char *unit_of(const struct changes *changes)
{
	return input_count_name(&changes->sides->input.facts);
}

/* Print @samples, a mean per run, as CPU time if the time of a sample is known. */
static const char *amount(const struct changes *changes, double samples, char text[AMOUNT_BYTES])
{
	double seconds = samples * changes->sides->sample_s;

	if (!changes->sides->sample_s && !strcmp(unit_of(changes), "bytes") && samples >= KB)
		snprintf(text, AMOUNT_BYTES, "%.*f %s", samples < 100 * KB * KB,
			samples / (samples < KB * KB ? KB : KB * KB),
			samples < KB * KB ? "kB" : "MB");
	else if (!changes->sides->sample_s)
		snprintf(text, AMOUNT_BYTES, "%.*f", samples < 100, samples);
	else if (seconds < 1)
		snprintf(text, AMOUNT_BYTES, "%.*f ms", seconds < 0.1, seconds * 1000);
	else
		snprintf(text, AMOUNT_BYTES, "%.*f s", seconds < 100 ? 2 : 0, seconds);
	return text;
}

/* Print 0.15 as "+15.0 %", and large values as "12 times". */
static const char *part(double more, char text[AMOUNT_BYTES])
{
	double percent = 100 * more;

	/* Avoid a sign on a rounded zero. */
	if (fabs(percent) < 0.05)
		percent = 0;
	if (percent >= 1000)
		snprintf(text, AMOUNT_BYTES, "%.3g times", more + 1);
	else
		snprintf(text, AMOUNT_BYTES, "%+.*f %%", fabs(percent) < 99.95, percent);
	return text;
}

void change_text_part(const struct change *change, char text[CHANGE_TEXT_BYTES])
{
	char more[AMOUNT_BYTES], low[AMOUNT_BYTES], high[AMOUNT_BYTES];

	if (change_is_new(change) || change_is_gone(change))
		strcpy(text, change_is_new(change) ? "new" : "gone");
	else if (!(change->low < change->high))
		part(expm1(change->shift.change), text);
	else
		snprintf(text, CHANGE_TEXT_BYTES, "%s (%s to %s)",
			part(expm1(change->shift.change), more), part(expm1(change->low), low),
			part(expm1(change->high), high));
}

void change_text_of(const struct changes *changes, uint32_t function, char text[CHANGE_TEXT_BYTES])
{
	uint32_t number = changes->of_function[function];
	const struct change *change = &changes->at[number ? number - 1 : 0];
	char old[AMOUNT_BYTES], new[AMOUNT_BYTES], how[CHANGE_TEXT_BYTES];

	*text = '\0';
	if (!number)
		return;
	change_text_part(change, how);
	snprintf(text, CHANGE_TEXT_BYTES, "%s%s to %s a run, %.70s%s",
		change->is_self ? "own code " : "", amount(changes, change->shift.old_mean, old),
		amount(changes, change->shift.new_mean, new), how,
		!change->is_significant ? changes->sides->is_sampled ? "; may be chance" : ""
		: change->is_named	? ""
					: "; by others");
}

const char *change_text_name(const struct changes *changes, const struct change *change)
{
	if (change->function == UINT32_MAX)
		return "the program";
	return ranking_frame(&changes->sides->ranking, change->function)->name;
}

static const struct change *find_program(const struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		if (changes->at[i].function == UINT32_MAX)
			return &changes->at[i];
	return NULL;
}

static bool is_one_each(const struct changes *changes)
{
	return changes->sides->runs == 2;
}

/* ---- for a terminal -------------------------------------------------------------------------- */

static void put_runs(const struct changes *changes, FILE *out)
{
	const struct sides *sides = changes->sides;
	unsigned old_runs = sides->old_runs, new_runs = sides->runs - sides->old_runs;
	double mean[2] = {0, 0};
	const struct change *program = find_program(changes);
	char old[AMOUNT_BYTES], new[AMOUNT_BYTES], more[AMOUNT_BYTES], low[AMOUNT_BYTES],
		high[AMOUNT_BYTES];

	for (unsigned run = 0; run < sides->runs; run++)
		mean[run >= old_runs] +=
			sides->run_samples[run] / (run < old_runs ? old_runs : new_runs);
	count_text(old, sizeof(old), (uint64_t)(sides->samples + 0.5));
	fprintf(out, "%u old run%s and %u new, %s %s\n", old_runs, old_runs == 1 ? "" : "s",
		new_runs, old, unit_of(changes));
	fprintf(out, "a run: %s -> %s, %s", amount(changes, mean[0], old),
		amount(changes, mean[1], new), part(mean[1] / mean[0] - 1, more));
	if (program && program->low < program->high)
		fprintf(out, " (%s to %s)%s", part(expm1(program->low), low),
			part(expm1(program->high), high),
			program->is_significant ? "" : ", may be chance");
	fputc('\n', out);
	if (!sides->is_sampled)
		return;
	if (sides->has_factors)
		fprintf(out, "every function: %s", part(changes->common, more));
	else
		fputs("it is not known whether all became slower: too few functions changed "
		      "alike\n",
			out);
	if (sides->has_factors && changes->common_low < changes->common_high)
		fprintf(out, " (%s to %s)", part(changes->common_low, low),
			part(changes->common_high, high));
	if (sides->has_factors)
		fputs(", probably by the machine; subtracted below\n", out);
	if (is_one_each(changes))
		fputs("one run each: only large changes can be seen\n", out);
}

static void put_row(const struct changes *changes, const struct change *change, FILE *out)
{
	char old[AMOUNT_BYTES], new[AMOUNT_BYTES], how[CHANGE_TEXT_BYTES], clean[LABEL_BYTES];

	label_clean(clean, sizeof(clean), change_text_name(changes, change));
	change_text_part(change, how);
	fprintf(out, "%+7.1f  %8s  %8s  %-31s  %s%s\n", change->points,
		amount(changes, change->shift.old_mean, old),
		amount(changes, change->shift.new_mean, new), how, clean,
		change->is_self ? "" : ", with what it calls");
}

/* Write an upper bound for the changes that the table does not show. */
static void put_bounds(const struct changes *changes, FILE *out)
{
	const char *else_ = changes->named || changes->others ? " else" : "";

	if (!changes->sides->is_sampled) {
		fprintf(out,
			"Nothing%s moved by %.0f point or more. How much %s differ by chance is "
			"not known.\n",
			else_, CHANGES_LEAST_POINTS, unit_of(changes));
		return;
	}
	if (changes->most_points < MOST_POINTS)
		fprintf(out,
			"Nothing%s moved by more than %.1f points of the program's CPU (95 %%).\n",
			else_, changes->most_points);
	else
		fprintf(out, "These runs are too few to say anything%s.\n", else_);
	if (changes->detectable < MOST_CHANGE)
		fprintf(out,
			"With these runs a %.0f %% function would have had to change by %.1f %% to "
			"be seen.\n",
			100 * CHANGES_USUAL_SHARE, 100 * changes->detectable);
}

static int end_writing(FILE *out)
{
	return ferror(out) ? (errno ? -errno : -EIO) : 0;
}

int change_text_put(const struct changes *changes, uint32_t limit, FILE *out)
{
	size_t left = limit ? limit : LIMIT_USUAL;
	size_t rows = changes->named ? changes->named : changes->others;

	errno = 0;
	put_runs(changes, out);
	if (!changes->named && changes->others)
		fputs("\nThese functions were renamed or inlined, or others call them: what they "
		      "call weighs as before.",
			out);
	if (rows)
		fprintf(out, "\n%7s  %8s  %8s  %-31s  %s\n", "points", "old", "new", "change",
			"function");
	for (size_t i = 0; left && i < changes->significant && rows; i++) {
		if (changes->at[i].function == UINT32_MAX)
			continue;
		put_row(changes, &changes->at[i], out);
		left--;
		rows--;
	}
	if (rows)
		fprintf(out, "and %zu more: --limit\n", rows);
	if (changes->named && changes->others)
		fprintf(out,
			"%zu more changed because of these, or for some of their callers only.\n",
			changes->others);
	fputc('\n', out);
	put_bounds(changes, out);
	return end_writing(out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* JSON has no infinity; write null. */
static void put_number(const char *name, double number, FILE *out)
{
	fprintf(out, ", \"%s\": ", name);
	if (isfinite(number))
		fprintf(out, "%.6g", number);
	else
		fputs("null", out);
}

static void put_change(const struct change *change, FILE *out)
{
	bool has_part = !change_is_new(change) && !change_is_gone(change);

	put_number("old", change->shift.old_mean, out);
	put_number("new", change->shift.new_mean, out);
	put_number("change", has_part ? expm1(change->shift.change) : INFINITY, out);
	has_part &= change->low < change->high;
	put_number("low", has_part ? expm1(change->low) : INFINITY, out);
	put_number("high", has_part ? expm1(change->high) : INFINITY, out);
	put_number("points", change->points, out);
	put_number("p", change->shift.p, out);
	fprintf(out, ", \"significant\": %s}", change->is_significant ? "true" : "false");
}

int change_text_put_json(const struct changes *changes, uint32_t limit, FILE *out)
{
	const struct sides *sides = changes->sides;
	const struct change *program = find_program(changes);
	size_t rows = 0;
	int error = 0;

	errno = 0;
	fprintf(out, "{\"version\": %d, \"old_runs\": %u, \"new_runs\": %u",
		CHANGE_TEXT_JSON_VERSION, sides->old_runs, sides->runs - sides->old_runs);
	put_number("samples", sides->samples, out);
	fputs(", \"counted\": ", out);
	error = quoted_put(out, unit_of(changes), SIZE_MAX, QUOTED_JSON);
	put_number("sample_s", sides->sample_s ? sides->sample_s : INFINITY, out);
	put_number("common", changes->common, out);
	put_number("common_low", changes->common_low, out);
	put_number("common_high", changes->common_high, out);
	put_number("most_points", changes->most_points, out);
	put_number("detectable", changes->detectable, out);
	if (program) {
		fputs(",\n\"program\": {\"name\": null", out);
		put_change(program, out);
	}
	fputs(",\n\"changes\": [", out);
	for (size_t i = 0; !error && i < changes->count; i++) {
		const struct change *change = &changes->at[i];
		const char *name = change_text_name(changes, change);

		if (change == program || (limit && rows == limit))
			continue;
		fputs(rows++ ? ",\n{\"name\": " : "\n{\"name\": ", out);
		error = quoted_put(out, name, SIZE_MAX, QUOTED_JSON);
		fputs(", \"module\": ", out);
		if (!error)
			error = quoted_put(out,
				ranking_frame(&sides->ranking, change->function)->module, SIZE_MAX,
				QUOTED_JSON);
		fprintf(out, ", \"of\": \"%s\", \"named\": %s", change->is_self ? "self" : "total",
			change->is_named ? "true" : "false");
		put_change(change, out);
	}
	fputs("\n]}\n", out);
	return error ? error : end_writing(out);
}
