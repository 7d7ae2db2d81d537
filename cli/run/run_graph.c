/* SPDX-License-Identifier: MIT */
/* Make files and messages from the samples of a run. */
#include "cli/run/run_graph.h"

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

#define ALL_IDLE      "no samples: what waits or ends at once uses too little of the CPU to be seen"
#define ALL_PAUSED    "no samples: the program was paused all the time"
#define NONE_REPORTED "no samples: no virtual machine reported a stack"
#define UNCONNECTED   "no samples: flamerun's library did not start in this program"

/* Do not cut within a UTF-8 character. */
void run_graph_title(char out[RUN_GRAPH_TITLE_BYTES], char *const *argv)
{
	size_t at = 0, cut = RUN_GRAPH_TITLE_BYTES - sizeof("...");

	out[0] = '\0';
	for (; *argv && at < RUN_GRAPH_TITLE_BYTES; argv++)
		at += (size_t)snprintf(
			out + at, RUN_GRAPH_TITLE_BYTES - at, "%s%s", at ? " " : "", *argv);
	if (at >= RUN_GRAPH_TITLE_BYTES) {
		while (cut > 0 && (out[cut] & 0xc0) == 0x80)
			cut--;
		strcpy(out + cut, "...");
	}
	for (; *out; out++)
		if (strchr("\t\n\v\f\r", *out))
			*out = ' ';
}

/* Report that the library never started in the program, and what usually helps. */
static void report_unconnected(const char *program)
{
	diag_error("no samples: flamerun's library did not start in '%s'", program);
	diag_hint("--outside samples programs without it");
}

static void report_cost(uint64_t ended_ns)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return;
	diag_verbose("%.3f s from the program's end to the last picture, %.1f MiB at most",
		(double)(clock_now_ns() - ended_ns) / NS_PER_S, (double)usage.ru_maxrss / 1024);
}

/* pprof's name for CPU time */
#define CLOCK_NAME "cpu"

static bool is_machine(const char *type)
{
	return !strcmp(type, PPROF_MACHINE_TIME);
}

int run_graph_check(const struct options *options, struct diag_message *message)
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

/* Returns the text for a picture without stacks; NULL: the default text. */
static const char *empty_text(
	const struct run_graph *run_graph, const struct picture_trees *trees, bool is_machine)
{
	if (!gather_connected(run_graph->gather))
		return UNCONNECTED;
	if (!picture_trees_weight(trees) &&
		profile_totals(gather_profile(run_graph->gather))->counts.paused)
		return ALL_PAUSED;
	if (calltree_total(trees->whole))
		return picture_trees_empty(trees);
	return is_machine ? NONE_REPORTED : ALL_IDLE;
}

/* Draw the time that virtual machines reported? Yes if selected, or if only it has samples. */
static bool draws_machine(const struct options *options, const struct run_graph_tree *clock,
	const struct run_graph_tree *machine)
{
	if (options->sample_type)
		return is_machine(options->sample_type);
	return calltree_total(machine->tree) && !calltree_total(clock->tree);
}

static void report_run(const struct run_graph *run_graph, const struct summary *summary)
{
	if (gather_connected(run_graph->gather))
		summary_print(summary);
	else
		report_unconnected(run_graph->program);
}

/* Append to the picture's notes how exact times are. Release the returned bytes after drawing. */
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

/*
 * Write results and the summary for CPU time or for the time of virtual machines. pprof profiles
 * contain both. Returns how many outputs failed.
 */
static unsigned draw_trees(const struct run_graph *run_graph, bool is_so_far,
	const struct run_graph_tree *clock, const struct run_graph_tree *machine)
{
	const struct options *options = run_graph->options;
	bool is_vm = draws_machine(options, clock, machine);
	const struct run_graph_tree *drawn = is_vm ? machine : clock,
				    *other = is_vm ? clock : machine;
	struct summary summary = {
		.profile = gather_profile(run_graph->gather),
		.tree = clock->trees.functions,
		.whole = drawn->tree,
		.whole_weight = picture_trees_weight(&drawn->trees),
		.drawn = drawn->trees.functions,
		.shows_machines = is_vm,
		.report = &clock->report,
		.duration_ns = run_graph->ended_ns - run_graph->started_ns,
		.is_test_clock = options->test_clock_hz != 0,
		.is_attached = options->pids != NULL,
		.is_stopped = run_graph->is_stopped,
	};
	char title[RUN_GRAPH_TITLE_BYTES], facts[SUBTITLE_BYTES], subtitle[PICTURE_SUBTITLE_BYTES];
	char filters[PICTURE_FILTERS_BYTES];
	struct accounting books;
	struct picture_options picture = {
		.title = title,
		.subtitle = subtitle,
		.filters = filters,
		.empty = empty_text(run_graph, &drawn->trees, is_vm),
		.period_ns = NS_PER_S / profile_rate_hz(summary.profile),
		.type_name = is_vm ? PPROF_MACHINE_TIME : CLOCK_NAME,
		.other = calltree_total(other->tree) ? other->trees.filtered : NULL,
		.other_name = is_vm ? CLOCK_NAME : PPROF_MACHINE_TIME,
		.duration_ns = summary.duration_ns,
		.created_s = run_graph->started_wall_s,
	};
	struct results_written written;
	struct picture_mark *marks = NULL;
	struct bytes notes;

	accounting_of(summary.profile, &books);
	picture.lost = books.dropped + books.torn + books.paused;
	picture.knows_lost = 1;
	summary.is_outside = gather_is_outside(run_graph->gather);
	summary.has_events = gather_has_events(run_graph->gather);
	summary.shows_native = options->native;
	summary.waits = (struct summary_waits){
		.profile = summary.profile,
		.state = gather_state(run_graph->gather),
		.tree = clock->trees.merged,
		.shows_waits = picture_times(options) != CALLTREE_TIMES_CPU,
	};
	summary.refusals = gather_refusals(run_graph->gather);
	run_graph_title(title, run_graph->words);
	/* If memory is short, the picture has no marks. */
	marks_make(summary.profile, &marks, &picture.mark_count);
	picture.marks = marks;
	summary_subtitle(&summary, facts, sizeof(facts));
	picture_trees_subtitle(&drawn->trees, options, facts, subtitle);
	picture_trees_filters(&drawn->trees, options, "", filters);
	picture_trees_settings(&drawn->trees, &picture);
	picture_settings(options, &picture);
	notes = add_notes(&picture, summary.profile);
	results_are_so_far(run_graph->results, is_so_far);
	results_write(
		run_graph->results, drawn->trees.shown, &picture, !run_graph->still_runs, &written);
	if (!is_so_far) {
		report_cost(run_graph->ended_ns);
		if (!run_graph->is_part)
			results_finish(options, drawn->tree, &picture, &written);
	}
	free(marks);
	bytes_release(&notes);
	if (is_so_far)
		return written.failed;
	summary.waits.has_viewer = written.show != NULL && !is_vm;
	report_run(run_graph, &summary);
	return written.failed;
}

/* Replace the progress line by a line about fetching. */
static void show_fetching(unsigned files)
{
	progress_end();
	progress_begin("fetching symbols of %u file%s by debuginfod, Ctrl-C goes on without", files,
		files == 1 ? "" : "s");
}

int run_graph_tree_make(const struct run_graph *run_graph, bool is_vm, bool is_so_far,
	struct run_graph_tree *out, struct diag_message *message)
{
	const struct naming_request request = {
		.profile = gather_profile(run_graph->gather),
		/* 0 accepts old perf maps: attached processes may have written them long ago. */
		.start_wall_s = run_graph->options->pids ? 0 : run_graph->started_wall_s,
		.program = run_graph->held_program,
		.held = gather_held(run_graph->gather),
		.is_machine = is_vm,
		.shows_native = run_graph->options->native,
		.demangle = demangle_style_of(run_graph->options->demangle),
		/* Fetch symbols only once: for the tree of CPU time, at the end. */
		.fetches = !is_vm && !is_so_far && distribution_is_asked(run_graph->options),
		.on_fetch = run_graph->still_runs ? NULL : show_fetching,
		.is_hurried = signals_hurry,
	};
	char count[32];
	int error;

	*out = (struct run_graph_tree){.tree = NULL};
	count_text(count, sizeof(count), request.profile->node_count);
	if (!run_graph->still_runs)
		progress_begin("naming %s addresses", count);
	error = naming_build(&request, &out->tree, &out->report);
	progress_end();
	if (error)
		return diag_fail(message, error, "cannot draw: %s", strerror(-error));
	return picture_trees_make(&out->trees, out->tree, run_graph->options,
		is_vm ? CALLTREE_TIMES_CPU : picture_times(run_graph->options), "samples",
		is_vm ? PPROF_MACHINE_TIME : "", message);
}

void run_graph_tree_release(struct run_graph_tree *tree)
{
	sources_release(&tree->report.sources);
	picture_trees_release(&tree->trees);
	calltree_free(tree->tree);
}

/* Commit @tree (commit.h). If the rank's last commit fails, save the stacks in another file. */
static void commit(const struct run_graph *run_graph, const struct calltree *tree, bool is_so_far)
{
	struct diag_message message = {0};
	uint64_t period_ns = NS_PER_S / profile_rate_hz(gather_profile(run_graph->gather));
	struct picture_options picture = {.period_ns = period_ns, .type_name = CLOCK_NAME};
	char path[PATH_MAX];
	int error;

	error = commit_put(run_graph->commit, tree, period_ns,
		run_graph->ended_ns - run_graph->started_ns, !is_so_far, &message);
	if (error)
		diag_report(&message);
	if (error && !is_so_far && calltree_total(tree) &&
		!results_rescue(tree, &picture, path, &message))
		diag_error("the rank's stacks are in '%s'", path);
}

static unsigned draw(
	const struct run_graph *run_graph, bool is_so_far, struct diag_message *message)
{
	struct run_graph_tree clock = {.tree = NULL}, machine = {.tree = NULL};
	unsigned failed = run_graph->options->outputs.count;
	int error = run_graph_tree_make(run_graph, false, is_so_far, &clock, message);

	if (!error)
		error = run_graph_tree_make(run_graph, true, is_so_far, &machine, message);
	if (error)
		diag_report(message);
	else if (run_graph->commit)
		commit(run_graph, clock.tree, is_so_far);
	if (!error && (!run_graph->commit || run_graph->options->level == DIAG_VERBOSE))
		failed = draw_trees(run_graph, is_so_far, &clock, &machine);
	run_graph_tree_release(&machine);
	run_graph_tree_release(&clock);
	return failed;
}

unsigned run_graph_make(const struct run_graph *run_graph, const struct accounting_child *child)
{
	struct diag_message message = {0};
	int error = gather_finish(run_graph->gather, child);

	if (!error)
		return draw(run_graph, false, &message);
	diag_fail(&message, error, "cannot draw: %s", strerror(-error));
	diag_report(&message);
	return run_graph->options->outputs.count;
}

void run_graph_commit_so_far(const struct run_graph *run_graph)
{
	struct diag_message message = {0};

	draw(run_graph, true, &message);
}

unsigned run_graph_make_so_far(const struct run_graph *run_graph)
{
	struct diag_message message = {0};
	struct profile_totals *totals = profile_totals(gather_profile(run_graph->gather));
	unsigned failed;

	/* The CPU time is read only at the end, so estimate it from the samples. */
	totals->cpu_ns = gather_profile(run_graph->gather)->weight *
			 gather_profile(run_graph->gather)->period_ns;
	failed = draw(run_graph, true, &message);
	totals->cpu_ns = 0;
	return failed;
}
