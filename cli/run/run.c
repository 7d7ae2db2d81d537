/* SPDX-License-Identifier: MIT */
/*
 * One profiled run, in order: look before anything starts, start, watch, draw, end as the program
 * ended. What can fail on our side fails before the program starts; after that its status is ours,
 * whatever happens to the picture.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/command.h"
#include "cli/picture_settings.h"
#include "cli/profile/marks.h"
#include "cli/profile/naming.h"
#include "cli/run/gather.h"
#include "cli/run/launch.h"
#include "cli/run/library.h"
#include "cli/run/opener.h"
#include "cli/run/preflight.h"
#include "cli/run/progress.h"
#include "cli/run/rescue.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "cli/run/summary.h"
#include "cli/run/watch.h"
#include "libprof/wire.h"

#define DESCENDANTS_MS 100
#define FLUSH_MS       200
#define TITLE_BYTES    160
#define SUBTITLE_BYTES 256
#define NS_PER_S       1000000000u

#define ALL_IDLE    "no samples: what waits or ends at once uses too little of the CPU to be seen"
#define ALL_PAUSED  "no samples: the program was paused all the time"
#define UNCONNECTED "no samples: flamerun's library did not start in this program"

struct run {
	const struct options *options;
	char **argv;
	struct preflight program;
	struct library library;
	struct results *results;
	struct gather *gather;
	struct watch watch;
	uint64_t started_ns;
	uint64_t ended_ns; /* the program's end, or the deadline */
	time_t started_wall_s;
	bool drawn;
	bool still_runs; /* the program, while the picture is drawn */
};

static int find_library(struct library *library, struct diag_message *message)
{
	char folder[PATH_MAX];
	int error = library_program_folder(folder, message);

	return error ? error : library_find(library, folder, message);
}

/* Everything that can be refused. Returns 0, or the exit status with @message filled. */
static int prepare(struct run *run, struct diag_message *message)
{
	const struct options *options = run->options;
	const struct preflight_request request = {
		.program = run->argv[0], .path = getenv("PATH"), .directory = AT_FDCWD};
	const struct gather_config config = {
		.rate_hz = options->rate_hz,
		.test_clock_hz = options->test_clock_hz,
		.start_paused = options->start_paused != 0,
	};
	int error = preflight(&run->program, &request, message);

	if (error)
		return preflight_status(error);
	error = results_open(&run->results, options, true, message);
	if (error)
		return COMMAND_FAILED;
	signals_guard();
	if (getenv(WIRE_ENV))
		diag_info("another flamerun is running this one: '%s' will be in this one's "
			  "picture only",
			run->argv[0]);
	if (find_library(&run->library, message) || gather_open(&run->gather, &config, message))
		return COMMAND_FAILED;
	return 0;
}

/* Returns 0, or the exit status with @message filled. */
static int start(struct run *run, struct diag_message *message)
{
	const struct launch_request request = {
		.program = &run->program,
		.argv = run->argv,
		.library = run->library.path,
		.channel = gather_environment(run->gather),
	};
	int status;

	run->started_ns = watch_now_ns();
	run->started_wall_s = time(NULL);
	if (run->options->duration_ns)
		run->watch.deadline_ns = run->started_ns + run->options->duration_ns;
	run->watch.doorbell = signals_catch();
	if (run->watch.doorbell < 0) {
		diag_fail(message, run->watch.doorbell, "cannot catch signals: %s",
			strerror(-run->watch.doorbell));
		return COMMAND_FAILED;
	}
	signals_hold();
	status = launch(&run->watch.child, &request, message);
	if (!status)
		signals_pass_to(run->watch.child);
	signals_release();
	run->watch.gather = run->gather;
	if (!status)
		results_name_child(run->results, run->watch.child);
	return status;
}

/* The command line, cut to what a title can hold. */
static void join(char out[TITLE_BYTES], char *const *argv)
{
	size_t at = 0;

	out[0] = '\0';
	for (; *argv && at < TITLE_BYTES; argv++)
		at += (size_t)snprintf(out + at, TITLE_BYTES - at, "%s%s", at ? " " : "", *argv);
	if (at >= TITLE_BYTES)
		strcpy(out + TITLE_BYTES - sizeof("..."), "...");
}

/* Nothing of ours ever ran in the program: say what that usually means. */
static void tell_unconnected(const char *program)
{
	diag_error("no samples: flamerun's library did not start in '%s'", program);
	diag_hint(
		"it cannot follow a program that clears its environment, changes its root, or runs "
		"other programs only with privileges");
}

/* What the run cost on our side. */
static void tell_effort(uint64_t ended_ns)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return;
	diag_verbose("%.3f s from the program's end to the last picture, %.1f MiB at most",
		(double)(watch_now_ns() - ended_ns) / NS_PER_S,
		(double)usage.ru_maxrss / 1024);
}

/* What could not be written is not lost; what was written is shown if that was asked for. */
static void settle(const struct run *run, const struct calltree *tree,
	const struct results_written *written)
{
	struct diag_message message = {0};
	char path[PATH_MAX];

	if (written->failed && !written->has_stacks) {
		if (rescue_stacks(tree, path, &message)) {
			diag_report(&message);
		} else {
			diag_error("the stacks are in '%s'", path);
			diag_hint("to draw them: flamerun render '%s' -o FILE", path);
		}
	}
	if (run->options->open && !written->show)
		diag_error("nothing to open: no SVG was written to a file");
	else if (run->options->open && opener_start(written->show, &message))
		diag_report(&message);
}

/* What is said where nothing is to be seen; NULL: nothing special. */
static const char *empty_text(const struct run *run, const struct calltree *shown)
{
	if (!gather_connected(run->gather))
		return UNCONNECTED;
	if (!calltree_total(shown) && profile_totals(gather_profile(run->gather))->paused)
		return ALL_PAUSED;
	if (picture_settings_empty(run->options, shown) || calltree_total(shown))
		return picture_settings_empty(run->options, shown);
	return ALL_IDLE;
}

/* @shown is @tree, or what the options made of it. */
static void draw_tree(struct run *run, const struct calltree *tree, const struct calltree *shown,
	const struct naming_report *report)
{
	const struct options *options = run->options;
	struct summary summary = {
		.profile = gather_profile(run->gather),
		.tree = shown,
		.report = report,
		.duration_ns = run->ended_ns - run->started_ns,
		.is_test_clock = options->test_clock_hz != 0,
	};
	char title[TITLE_BYTES], subtitle[SUBTITLE_BYTES];
	struct picture_options picture = {
		.title = title,
		.subtitle = subtitle,
		.empty = empty_text(run, shown),
		.period_ns = NS_PER_S / profile_rate_hz(summary.profile),
		.duration_ns = summary.duration_ns,
		.created_s = run->started_wall_s,
	};
	struct results_written written;
	struct picture_mark *marks = NULL;

	join(title, run->argv);
	/* Without memory for marks the picture has none. */
	marks_make(summary.profile, &marks, &picture.mark_count);
	picture.marks = marks;
	summary_subtitle(&summary, subtitle, sizeof(subtitle));
	picture_settings(options, &picture);
	results_write(run->results, shown, &picture, !run->still_runs, &written);
	free(marks);
	tell_effort(run->ended_ns);
	settle(run, tree, &written);
	summary.tree = tree;
	if (gather_connected(run->gather))
		summary_print(&summary);
	else
		tell_unconnected(run->argv[0]);
}

static int name_tree(struct run *run, struct calltree **tree, struct naming_report *report)
{
	struct profile *profile = gather_profile(run->gather);
	const struct naming_request request = {
		.profile = profile,
		.start_wall_s = run->started_wall_s,
		.is_hurried = signals_hurry,
	};
	char count[32];
	int error;

	progress_count(count, sizeof(count), profile_nodes(profile));
	if (!run->still_runs)
		progress_begin("naming %s addresses", count);
	error = naming_build(&request, tree, report);
	progress_end();
	return error;
}

/* End the gathering, name, draw. @usage: NULL while the program still runs. */
static void draw(struct run *run, const struct rusage *usage)
{
	struct diag_message message = {0};
	struct naming_report report;
	struct calltree *tree = NULL, *shown = NULL;
	int error;

	run->drawn = true;
	run->still_runs = !usage;
	error = gather_finish(run->gather, signals_hurry() ? 0 : FLUSH_MS, usage);
	if (!error)
		error = name_tree(run, &tree, &report);
	if (error)
		diag_error("cannot draw: %s", strerror(-error));
	else if (picture_settings_tree(tree, run->options, &shown, &message))
		diag_report(&message);
	else
		draw_tree(run, tree, shown ? shown : tree, &report);
	calltree_free(shown);
	calltree_free(tree);
}

static void follow(struct run *run)
{
	unsigned still;

	while (watch(&run->watch) == WATCH_DEADLINE) {
		run->ended_ns = watch_now_ns();
		draw(run, NULL);
		diag_info("'%s' goes on, unsampled", run->argv[0]);
		run->watch.gather = NULL;
		run->watch.deadline_ns = 0;
	}
	if (run->drawn)
		return;
	run->ended_ns = watch_now_ns();
	still = watch_descendants(&run->watch, DESCENDANTS_MS);
	if (still)
		diag_info("%u process%s it started still run%s and will not be profiled further",
			still, still == 1 ? "" : "es", still == 1 ? "s" : "");
	draw(run, &run->watch.usage);
}

static struct ending ending_of(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return (struct ending){.signal = WTERMSIG(wait_status)};
	return (struct ending){.status = WEXITSTATUS(wait_status)};
}

struct ending command_run(const struct options *options, char **argv)
{
	struct run run = {.options = options, .argv = argv};
	struct diag_message message = {0};
	struct ending ending = {0};

	ending.status = prepare(&run, &message);
	if (!ending.status)
		ending.status = start(&run, &message);
	if (ending.status) {
		diag_report(&message);
	} else {
		follow(&run);
		ending = ending_of(run.watch.wait_status);
	}
	gather_free(run.gather);
	results_free(run.results);
	library_abandon();
	return ending;
}
