/* SPDX-License-Identifier: MIT */
/*
 * From a source of samples to files, whichever kind of run it was.
 */
#include "cli/run/drawing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/clock.h"
#include "cli/diag.h"
#include "cli/run/commit.h"
#include "cli/options.h"
#include "cli/outside/outside.h"
#include "cli/picture_settings.h"
#include "cli/profile/accounting.h"
#include "cli/profile/naming.h"
#include "cli/profile/picture_names.h"
#include "cli/run/gather.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "cli/run/summary.h"
#include "cli/run/unnamed_code.h"
#include "libprof/pprof/protobuf.h"
#include "render/bytes.h"
#include "render/label.h"

#define SUBTITLE_BYTES 256
#define NS_PER_S       1000000000u

#define ALL_IDLE    "no samples: what waits or ends at once uses too little of the CPU to be seen"
#define ALL_PAUSED  "no samples: the program was paused all the time"
#define ALL_UNTOLD  "no samples: no virtual machine told of its stacks"
#define UNCONNECTED "no samples: flamerun's library did not start in this program"

/* Not cut within a character of UTF-8. */
void drawing_title(char out[DRAWING_TITLE_BYTES], char *const *argv)
{
	size_t at = 0, cut = DRAWING_TITLE_BYTES - sizeof("...");

	out[0] = '\0';
	for (; *argv && at < DRAWING_TITLE_BYTES; argv++)
		at += (size_t)snprintf(
			out + at, DRAWING_TITLE_BYTES - at, "%s%s", at ? " " : "", *argv);
	if (at >= DRAWING_TITLE_BYTES) {
		while (cut > 0 && (out[cut] & 0xc0) == 0x80)
			cut--;
		strcpy(out + cut, "...");
	}
	for (; *out; out++)
		if (strchr("\t\n\v\f\r", *out))
			*out = ' ';
}

/* Nothing of ours ever ran in the program: say what that usually means. */
static void report_unconnected(const char *program)
{
	diag_error("no samples: flamerun's library did not start in '%s'", program);
	diag_hint("--outside samples programs without it");
}

/* What the run cost on our side. */
static void report_cost(uint64_t ended_ns)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return;
	diag_verbose("%.3f s from the program's end to the last picture, %.1f MiB at most",
		(double)(clock_now_ns() - ended_ns) / NS_PER_S, (double)usage.ru_maxrss / 1024);
}

/* What the run's clock counts, as pprof profiles call it. */
#define CLOCK_NAME "cpu"

static bool is_machine(const char *type)
{
	return !strcmp(type, PPROF_MACHINE_TIME);
}

int drawing_check(const struct options *options, struct diag_message *message)
{
	const char *type = options->sample_type;

	if (!type || !strcmp(type, CLOCK_NAME) || !strcmp(type, PPROF_WAITING_TIME) ||
		is_machine(type))
		return 0;
	diag_fail(message, -EINVAL, "a run has no sample type '%s'", type);
	diag_fail_hint(message,
		"it has " CLOCK_NAME ", " PPROF_WAITING_TIME ", and " PPROF_MACHINE_TIME
		" where virtual machines tell their stacks");
	return -EINVAL;
}

/* What is said where nothing is to be seen; NULL: nothing special. */
static const char *empty_text(
	const struct drawing *drawing, const struct picture_trees *trees, bool is_machine)
{
	if (!gather_connected(drawing->gather))
		return UNCONNECTED;
	if (!picture_trees_weight(trees) &&
		profile_totals(gather_profile(drawing->gather))->counts.paused)
		return ALL_PAUSED;
	if (calltree_total(trees->whole))
		return picture_trees_empty(trees);
	return is_machine ? ALL_UNTOLD : ALL_IDLE;
}

/* The one that was asked for; else what a clock counted, unless that is nothing. */
static bool draws_machine(const struct options *options, const struct drawing_tree *clock,
	const struct drawing_tree *machine)
{
	if (options->sample_type)
		return is_machine(options->sample_type);
	return calltree_total(machine->tree) && !calltree_total(clock->tree);
}

static void report_run(const struct drawing *drawing, const struct summary *summary)
{
	if (gather_connected(drawing->gather))
		summary_print(summary);
	else
		report_unconnected(drawing->program);
}

/* What the picture says of its times, below what was asked for. To be released. */
static struct bytes add_notes(
	struct picture_options *picture, const struct flameprof_profile *profile)
{
	struct bytes notes = {0};
	char times[SUMMARY_TIMES_BYTES];

	summary_times(profile, times, sizeof(times));
	if (!times[0])
		return notes;
	if (picture->notes) {
		bytes_text(&notes, picture->notes);
		bytes_text(&notes, "\n");
	}
	bytes_text(&notes, times);
	bytes_put(&notes, "", 1);
	if (!notes.error)
		picture->notes = (const char *)notes.data;
	return notes;
}

/* What is drawn, and said of it, is of one kind; the other one is beside it in profiles. */
static unsigned draw_trees(const struct drawing *drawing, bool is_so_far,
	const struct drawing_tree *clock, const struct drawing_tree *machine)
{
	const struct options *options = drawing->options;
	bool is_vm = draws_machine(options, clock, machine);
	const struct drawing_tree *drawn = is_vm ? machine : clock,
				  *other = is_vm ? clock : machine;
	struct summary summary = {
		.profile = gather_profile(drawing->gather),
		.tree = clock->trees.functions,
		.whole = drawn->tree,
		.whole_weight = picture_trees_weight(&drawn->trees),
		.drawn = drawn->trees.functions,
		.shows_machines = is_vm,
		.report = &clock->report,
		.duration_ns = drawing->ended_ns - drawing->started_ns,
		.is_test_clock = options->test_clock_hz != 0,
		.is_attached = options->pids != NULL,
		.is_stopped = drawing->is_stopped,
	};
	char title[DRAWING_TITLE_BYTES], facts[SUBTITLE_BYTES], subtitle[PICTURE_SUBTITLE_BYTES];
	char filters[PICTURE_FILTERS_BYTES];
	struct accounting books;
	struct picture_options picture = {
		.title = title,
		.subtitle = subtitle,
		.filters = filters,
		.empty = empty_text(drawing, &drawn->trees, is_vm),
		.period_ns = NS_PER_S / profile_rate_hz(summary.profile),
		.time_name = is_vm ? PPROF_MACHINE_TIME : CLOCK_NAME,
		.other = calltree_total(other->tree) ? other->trees.filtered : NULL,
		.other_name = is_vm ? CLOCK_NAME : PPROF_MACHINE_TIME,
		.duration_ns = summary.duration_ns,
		.created_s = drawing->started_wall_s,
	};
	struct results_written written;
	struct picture_mark *marks = NULL;
	struct bytes notes;

	accounting_of(summary.profile, &books);
	picture.lost = books.dropped + books.torn + books.paused;
	picture.knows_lost = 1;
	summary.is_outside = gather_is_outside(drawing->gather);
	summary.has_events = gather_has_events(drawing->gather);
	summary.waits = (struct summary_waits){
		.profile = summary.profile,
		.state = gather_state(drawing->gather),
		.tree = clock->trees.merged,
		.shows_waits = picture_times(options) != CALLTREE_TIMES_CPU,
	};
	summary.refusals = gather_refusals(drawing->gather);
	drawing_title(title, drawing->words);
	/* Without memory for marks the picture has none. */
	marks_make(summary.profile, &marks, &picture.mark_count);
	picture.marks = marks;
	summary_subtitle(&summary, facts, sizeof(facts));
	picture_trees_subtitle(&drawn->trees, options, facts, subtitle);
	picture_trees_filters(&drawn->trees, options, "", filters);
	picture_trees_settings(&drawn->trees, &picture);
	picture_settings(options, &picture);
	notes = add_notes(&picture, summary.profile);
	results_are_so_far(drawing->results, is_so_far);
	results_write(
		drawing->results, drawn->trees.shown, &picture, !drawing->still_runs, &written);
	if (!is_so_far) {
		report_cost(drawing->ended_ns);
		if (!drawing->is_part)
			results_finish(options, drawn->tree, &picture, &written);
	}
	free(marks);
	bytes_release(&notes);
	if (is_so_far)
		return written.failed;
	summary.waits.has_viewer = written.show != NULL && !is_vm;
	report_run(drawing, &summary);
	return written.failed;
}

/* In the place of what is in progress already. */
static void show_fetching(unsigned files)
{
	progress_end();
	progress_begin("fetching symbols of %u file%s by debuginfod, Ctrl-C goes on without", files,
		files == 1 ? "" : "s");
}

int drawing_tree_make(const struct drawing *drawing, bool is_vm, bool is_so_far,
	struct drawing_tree *out, struct diag_message *message)
{
	const struct naming_request request = {
		.profile = gather_profile(drawing->gather),
		/* What runs already may have written its perf map long ago. */
		.start_wall_s = drawing->options->pids ? 0 : drawing->started_wall_s,
		.program = drawing->held_program,
		.held = gather_held(drawing->gather),
		.is_machine = is_vm,
		.shows_native = drawing->options->native,
		.demangle = demangle_style_of(drawing->options->demangle),
		/* Once: what did not come then will not now. */
		.fetches = !is_vm && !is_so_far && distribution_is_asked(drawing->options),
		.on_fetch = drawing->still_runs ? NULL : show_fetching,
		.is_hurried = signals_hurry,
	};
	char count[32];
	int error;

	*out = (struct drawing_tree){.tree = NULL};
	count_text(count, sizeof(count), request.profile->node_count);
	if (!drawing->still_runs)
		progress_begin("naming %s addresses", count);
	error = naming_build(&request, &out->tree, &out->report);
	progress_end();
	if (error)
		return diag_fail(message, error, "cannot draw: %s", strerror(-error));
	return picture_trees_make(&out->trees, out->tree, drawing->options,
		is_vm ? CALLTREE_TIMES_CPU : picture_times(drawing->options),
		is_vm ? PPROF_MACHINE_TIME : "", message);
}

void drawing_tree_release(struct drawing_tree *tree)
{
	sources_release(&tree->report.sources);
	picture_trees_release(&tree->trees);
	calltree_free(tree->tree);
}

/* Stacks that could not be committed are saved elsewhere, but for those that come again. */
static void commit(const struct drawing *drawing, const struct calltree *tree, bool is_so_far)
{
	struct diag_message message = {0};
	uint64_t period_ns = NS_PER_S / profile_rate_hz(gather_profile(drawing->gather));
	struct picture_options picture = {.period_ns = period_ns, .time_name = CLOCK_NAME};
	char path[PATH_MAX];
	int error;

	error = commit_put(drawing->commit, tree, period_ns,
		drawing->ended_ns - drawing->started_ns, !is_so_far, &message);
	if (error)
		diag_report(&message);
	if (error && !is_so_far && calltree_total(tree) &&
		!results_rescue(tree, &picture, path, &message))
		diag_error("the rank's stacks are in '%s'", path);
}

static unsigned draw(const struct drawing *drawing, bool is_so_far, struct diag_message *message)
{
	struct drawing_tree clock = {.tree = NULL}, machine = {.tree = NULL};
	unsigned failed = drawing->options->outputs.count;
	int error = drawing_tree_make(drawing, false, is_so_far, &clock, message);

	if (!error)
		error = drawing_tree_make(drawing, true, is_so_far, &machine, message);
	if (error)
		diag_report(message);
	else if (drawing->commit)
		commit(drawing, clock.tree, is_so_far);
	if (!error && (!drawing->commit || drawing->options->level == DIAG_VERBOSE))
		failed = draw_trees(drawing, is_so_far, &clock, &machine);
	drawing_tree_release(&machine);
	drawing_tree_release(&clock);
	return failed;
}

unsigned drawing_make(const struct drawing *drawing, const struct accounting_child *child)
{
	struct diag_message message = {0};
	int error = gather_finish(drawing->gather, child);

	if (!error)
		return draw(drawing, false, &message);
	diag_fail(&message, error, "cannot draw: %s", strerror(-error));
	diag_report(&message);
	return drawing->options->outputs.count;
}

void drawing_commit_so_far(const struct drawing *drawing)
{
	struct diag_message message = {0};

	draw(drawing, true, &message);
}

unsigned drawing_make_so_far(const struct drawing *drawing)
{
	struct diag_message message = {0};
	struct profile_totals *totals = profile_totals(gather_profile(drawing->gather));
	unsigned failed;

	/* The kernel's own count is asked for at the end. */
	totals->cpu_ns = gather_profile(drawing->gather)->weight *
			 gather_profile(drawing->gather)->period_ns;
	failed = draw(drawing, true, &message);
	totals->cpu_ns = 0;
	return failed;
}
