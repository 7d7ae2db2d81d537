/* SPDX-License-Identifier: MIT */
/*
 * flamerun --repeat N: run a program several times, draw one picture of all runs, and print how far
 * the runs differ, so that a reader knows which differences matter.
 *
 * The files of the runs are removed before drawing. If a run fails or a signal ends flamerun, only
 * the runs that succeeded are drawn.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/compare/turns.h"
#include "cli/profile/picture_names.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "cli/run/summary.h"
#include "cli/stored.h"
#include "render/spread.h"

struct repeated {
	struct stored stored;
	struct spread *spread;
	/* Sum over all runs. Only the members that summary_print_losses() needs are set. */
	struct run_figures sum;
};

static int check_repeat(const struct options *options, struct diag_message *message)
{
	const struct options_row *live = options_find("live", strlen("live"));

	if (!options->runs) {
		diag_fail(message, -EINVAL, "--%s is for --repeat",
			options->warmups ? "warmup" : "ignore-failure");
		diag_fail_hint(message, "--repeat 1 runs the program once");
		return -EINVAL;
	}
	if (options->pids)
		return diag_fail(message, -EINVAL,
			"--repeat runs a program, and -p samples what runs already");
	if (options->live && options_origin(options, live)->rank == OPTIONS_COMMAND_LINE)
		return diag_fail(message, -EINVAL, "--live shows one run, not those of --repeat");
	for (unsigned i = 0; i < options->outputs.count; i++)
		if (pattern_has_child(options->outputs.item[i]))
			return diag_fail(message, -EINVAL,
				"'%s': each run of --repeat has another process id",
				options->outputs.item[i]);
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Add the run in file @path to @spread. The filters of @options are applied first, so each share is
 * a share of the drawn stacks.
 */
static int add_spread(struct spread *spread, const struct options *options, const char *path,
	const struct run_figures *figures, struct diag_message *message)
{
	const struct stored_files file = {.paths = &path, .count = 1, .are_runs = true};
	struct stored stored;
	int error = stored_read(&stored, options, &file, false, message);

	if (!error) {
		error = spread_add(spread,
			&(struct spread_run){figures->wall_ns, figures->totals.cpu_ns},
			stored.trees.functions);
		if (error)
			diag_fail(message, error, "cannot compare: %s", strerror(-error));
	}
	stored_release(&stored);
	return error;
}

static void add_totals(struct profile_totals *sum, const struct profile_totals *run)
{
	wire_counters_add(&sum->counts, &run->counts);
	if (run->timer_error) {
		sum->timer_error = run->timer_error;
		sum->signals_max = run->signals_max;
	}
}

static void add_figures(struct run_figures *sum, const struct run_figures *run)
{
	add_totals(&sum->totals, &run->totals);
	for (int i = 0; i < PIPE_READER_REFUSALS && run->refusals[i].programs; i++) {
		const struct pipe_reader_refusal *refusal = &run->refusals[i];
		int at = 0;

		while (at < PIPE_READER_REFUSALS - 1 && sum->refusals[at].programs &&
			strcmp(sum->refusals[at].text, refusal->text))
			at++;
		if (!sum->refusals[at].programs)
			sum->refusals[at] = *refusal;
		else
			sum->refusals[at].programs += refusal->programs;
	}
}

static int read_runs(struct repeated *repeated, const struct options *options,
	const struct turns *turns, struct diag_message *message)
{
	const struct stored_files files = {
		.paths = turns->files, .count = (int)turns->runs[0], .are_runs = true};
	const struct wire_counters *counts = &repeated->sum.totals.counts;
	int error = 0;

	repeated->spread = spread_new();
	if (!repeated->spread)
		return diag_fail(message, -ENOMEM, "out of memory");
	for (unsigned run = 0; !error && run < turns->runs[0]; run++) {
		error = add_spread(repeated->spread, options, turns->files[run],
			&turns->figures[run], message);
		add_figures(&repeated->sum, &turns->figures[run]);
	}
	if (!error)
		error = stored_read(&repeated->stored, options, &files, true, message);
	if (error && options->sample_type)
		diag_fail(message, error, "a run of the program has nothing of the type '%s'",
			options->sample_type);
	repeated->stored.picture.spread = repeated->spread;
	repeated->stored.picture.lost = counts->dropped + counts->torn + counts->paused;
	repeated->stored.picture.knows_lost = 1;
	return error;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_repeated(const struct repeated *repeated, bool shows_native)
{
	const struct calltree *drawn = repeated->stored.trees.functions;
	char wall[SPREAD_TEXT_BYTES], cpu[SPREAD_TEXT_BYTES];
	struct special_weights special;
	unsigned lines = diag_lines();
	double unnamed;

	spread_text(repeated->spread, false, wall);
	spread_text(repeated->spread, true, cpu);
	diag_info("%s%s", spread_runs(repeated->spread) == 1 ? "1 run: " : "",
		repeated->stored.subtitle);
	diag_info("  wall time %s", wall);
	diag_info("  CPU time  %s", cpu);
	summary_print_losses(&repeated->sum.totals, repeated->sum.refusals);
	special_weights_of(drawn, &special);
	unnamed = calltree_total(drawn)
			  ? 100.0 * (double)special.unnamed / (double)calltree_total(drawn)
			  : 0;
	if (unnamed >= SUMMARY_UNNAMED)
		diag_info("%.1f %% of samples have no function name; a run without --repeat says "
			  "what would name them",
			unnamed);
	summary_print_hottest(drawn, repeated->spread, shows_native, diag_lines() - lines);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Report how many runs are missing. Returns 0 if at least one can be drawn, otherwise -errno. */
static int check_runs(
	const struct options *options, const struct turns *turns, struct diag_message *message)
{
	if (turns->runs[0] == options->runs)
		return 0;
	if (turns->runs[0]) {
		diag_info("ended after %u of %u runs, which are drawn", turns->runs[0],
			options->runs);
		return 0;
	}
	return turns->signal
		       ? diag_fail(message, -EINTR, "ended before a run of the program was over")
		       : -ECANCELED;
}

static struct ending ending_of(const struct turns *turns)
{
	if (turns->signal)
		return (struct ending){.signal = turns->signal};
	if (turns->status)
		return (struct ending){.status = turns->status};
	return turns->failure;
}

/*
 * Run the program options->runs times and read all results. Returns 0, or -errno. @message is
 * filled unless the error was already reported.
 */
static int gather_runs(struct repeated *repeated, const struct options *options, char **argv,
	struct ending *ending, struct diag_message *message)
{
	struct turns turns;
	int error = turns_run(&turns, options, (char **const[2]){argv, NULL}, message);

	*ending = ending_of(&turns);
	if (message->text[0])
		diag_report(message);
	*message = (struct diag_message){.text = ""};
	if (error && !ending->status && !ending->signal)
		ending->status = COMMAND_FAILED;
	error = check_runs(options, &turns, message);
	if (!error) {
		/*
		 * Print nothing about the runs' files: they are temporary and unknown to the user.
		 */
		diag_set_level(DIAG_QUIET);
		error = read_runs(repeated, options, &turns, message);
		diag_set_level(options->level);
	}
	turns_release(&turns);
	return error;
}

struct ending command_repeat(const struct options *options, char **argv)
{
	struct repeated repeated = {.spread = NULL};
	struct picture_options *picture = &repeated.stored.picture;
	struct diag_message message = {.text = ""};
	struct results *results = NULL;
	struct results_written written;
	struct ending ending = {.status = 0};
	int error = check_repeat(options, &message);

	if (!error)
		error = results_open(&results, options, false, &message);
	if (!error)
		error = gather_runs(&repeated, options, argv, &ending, &message);
	if (!error) {
		signals_guard();
		results_write(results, repeated.stored.trees.shown, picture, true, &written);
		results_finish(options, repeated.stored.input.tree, picture, &written);
		print_repeated(&repeated, options->native);
	}
	if (message.text[0])
		diag_report(&message);
	if (error && !ending.status && !ending.signal)
		ending.status = COMMAND_FAILED;
	stored_release(&repeated.stored);
	spread_free(repeated.spread);
	results_free(results);
	return ending;
}
