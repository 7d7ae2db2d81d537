/* SPDX-License-Identifier: MIT */
/*
 * Profile one run of a program: check, start, watch, draw, and end as the program ended. All errors
 * of flamerun's own are found before the program starts. Afterwards flamerun's exit status is the
 * program's, even if the picture cannot be written.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/explain.h"
#include "cli/formats/format.h"
#include "cli/gather/channel.h"
#include "cli/run/commit.h"
#include "cli/outside/outside.h"
#include "cli/run/run_graph.h"
#include "cli/run/gather.h"
#include "cli/run/launch.h"
#include "cli/run/library.h"
#include "cli/run/live.h"
#include "cli/run/preflight.h"
#include "cli/run/results.h"
#include "cli/run/sampling_clock.h"
#include "cli/run/signals.h"
#include "cli/run/unnamed_code.h"
#include "libprof/wire.h"

#define DESCENDANTS_MS	100
#define HOLD_FROM_FILES 64

/*
 * ns. A rank commits its stacks first after COMMIT_FIRST_NS. It commits again when its run time has
 * doubled or COMMIT_MOST_NS have passed. So if the node dies, only the time since the last commit
 * is lost, and a long run does not look up symbols too often.
 */
#define COMMIT_FIRST_NS 10000000000u
#define COMMIT_MOST_NS	300000000000u

struct run {
	const struct options *options;
	struct options own; /* changed options of a rank */
	struct job_rank job_rank;
	char title[RUN_GRAPH_TITLE_BYTES];
	struct commit *commit; /* NULL: not a rank of a job */
	char **argv;
	struct preflight program;
	struct library library;
	struct results *results;
	bool is_outside; /* sampled by a tracer */
	struct gather *gather;
	struct watch watch;
	struct live *live; /* NULL: no --live */
	struct run_graph so_far;
	uint64_t started_ns;
	uint64_t ended_ns; /* the program's end, or the deadline */
	/* CLOCK_MONOTONIC ns at which watching stops, or stops for a commit; 0: none */
	uint64_t deadline_ns, commit_ns;
	time_t started_wall_s;
	bool drawn;
	unsigned unwritten; /* outputs that could not be written */
	struct run_figures *figures; /* NULL: not requested */
	/* descriptor of the program's file, from which names are read; -1: none */
	int held_program;
	char held_path[32]; /* path of held_program; or "" */
};

static int find_library(struct library *library, struct diag_message *message)
{
	char folder[PATH_MAX];
	int error = library_program_folder(folder, message);

	return error ? error : library_find(library, folder, message);
}

static int open_gather(struct run *run, struct diag_message *message)
{
	const struct options *options = run->options;
	struct gather_config config = {
		.rate_hz = options->rate_hz,
		.test_clock_hz = options->test_clock_hz,
		.signal = sampling_signal_number(options->signal),
		.start_paused = options->start_paused != 0,
		.waits = !options->no_waits,
		.wait_details = options->wait_details != 0,
	};
	struct sampling_clock clock = {false, false};
	int error = 0;

	if (run->is_outside)
		config = (struct gather_config){
			.rate_hz = options->rate_hz,
			.outside = true,
			.waits = !options->no_waits,
			.wait_details = options->wait_details != 0,
			.follow = true,
		};
	else
		error = find_library(&run->library, message);
	if (!error && !run->is_outside)
		error = sampling_clock_choose(options, &clock, message);
	if (run->is_outside && options->kernel)
		sampling_clock_refuse_kernel();
	config.has_events = clock.has_events;
	config.has_kernel = clock.has_kernel;
	if (run->program.by_tracer)
		diag_info("%s: it is sampled from outside", run->program.why);
	return error ? error : gather_open(&run->gather, &config, message);
}

/* Sample from outside if RLIMIT_AS leaves no room for the shared arena in the program. */
static void check_memory(struct preflight *program, const char *name, uint32_t rate_hz)
{
	struct rlimit limit;

	if (program->by_tracer || channel_blocks(rate_hz) || getrlimit(RLIMIT_AS, &limit))
		return;
	program->by_tracer = true;
	snprintf(program->why, sizeof(program->why),
		"'%s' has no memory to share, %llu KiB by ulimit -v", name,
		(unsigned long long)limit.rlim_cur / 1024);
}

/* Begin to write a rank's profile. Without a launcher, print that this is the only rank. */
static int open_commit(struct run *run, struct diag_message *message)
{
	job_rank_find(&run->job_rank);
	if (!run->job_rank.launcher) {
		diag_info("--job: neither srun nor mpirun started this: it is the only rank");
		run->job_rank.size = 1;
	}
	run_graph_title(run->title, run->argv);
	return commit_open(&run->commit, run->options->job, &run->job_rank, run->title, message);
}

/* Do all that may fail before the start. Returns 0, or the exit status with @message filled. */
static int prepare_run(struct run *run, struct diag_message *message)
{
	const struct options *options = run->options;
	const struct preflight_request request = {
		.program = run->argv[0], .path = getenv("PATH"), .directory = AT_FDCWD};
	int error = preflight(&run->program, &request, message);

	if (error)
		return preflight_status(error);
	check_memory(&run->program, run->argv[0],
		options->test_clock_hz ? options->test_clock_hz : options->rate_hz);
	run->is_outside = run->program.by_tracer || options->outside;
	error = results_open(&run->results, options, true, message);
	if (error)
		return COMMAND_FAILED;
	signals_guard();
	if (getenv(WIRE_ENV))
		diag_info("another flamerun is running this one: '%s' will be in this one's "
			  "picture only",
			run->argv[0]);
	if (options->job && open_commit(run, message))
		return COMMAND_FAILED;
	error = unnamed_code_ask(options);
	if (error) {
		diag_fail(message, error, "--jit: %s", strerror(-error));
		return COMMAND_FAILED;
	}
	if (open_gather(run, message) || (options->live && live_open(&run->live, true, message)))
		return COMMAND_FAILED;
	return 0;
}

/*
 * Keep the program's file open to read names from it, because the file may be replaced before the
 * picture is drawn, for example by the next build. Do not keep it open if the limit of open files
 * is low, because the run needs descriptors.
 */
static void hold_program(struct run *run)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < HOLD_FROM_FILES)
		return;
	run->held_program = open(run->program.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (run->held_program >= 0)
		snprintf(run->held_path, sizeof(run->held_path), "/proc/self/fd/%d",
			run->held_program);
}

static int attach_child(void *context, pid_t child, struct diag_message *message)
{
	return gather_attach(context, child, true, message);
}

static void set_deadline(struct run *run)
{
	uint64_t first = run->deadline_ns;

	if (run->commit_ns && (!first || run->commit_ns < first))
		first = run->commit_ns;
	run->watch.deadline_ns = first;
}

/* Start the program. Returns 0, or flamerun's exit status with @message filled. */
static int start_program(struct run *run, struct diag_message *message)
{
	struct launch_request request = {
		.program = &run->program,
		.argv = run->argv,
		.tracer = gather_tracer(run->gather),
		.terminal_input = run->live ? live_input(run->live) : -1,
		.terminal_output = run->live ? live_output(run->live) : -1,
	};
	int status;

	if (run->is_outside) {
		request.admit = attach_child;
		request.context = run->gather;
	} else {
		request.library = run->library.path;
		request.channel = gather_environment(run->gather);
	}
	hold_program(run);
	run->started_ns = clock_now_ns();
	run->started_wall_s = time(NULL);
	if (run->options->duration_ns)
		run->deadline_ns = run->started_ns + run->options->duration_ns;
	if (run->commit)
		run->commit_ns = run->started_ns + COMMIT_FIRST_NS;
	set_deadline(run);
	run->watch.doorbell = signals_catch();
	if (run->watch.doorbell < 0) {
		diag_fail(message, run->watch.doorbell, "cannot catch signals: %s",
			strerror(-run->watch.doorbell));
		return COMMAND_FAILED;
	}
	signals_block();
	status = launch(&run->watch.child, &request, message);
	if (!status)
		signals_forward_to(run->watch.child);
	signals_unblock();
	run->watch.gather = run->gather;
	if (!status)
		results_name_child(run->results, run->watch.child);
	return status;
}

static struct run_graph run_graph_of(const struct run *run)
{
	return (struct run_graph){
		.options = run->options,
		.gather = run->gather,
		.results = run->results,
		.words = run->argv,
		.program = run->argv[0],
		.held_program = run->held_path[0] ? run->held_path : NULL,
		.started_ns = run->started_ns,
		.ended_ns = run->ended_ns,
		.started_wall_s = run->started_wall_s,
		.is_part = run->figures != NULL,
		.commit = run->commit,
	};
}

/* Draw the run. @child is NULL if the program still runs. */
static void draw_run(struct run *run, const struct accounting_child *child)
{
	struct run_graph run_graph = run_graph_of(run);

	live_end(run->live);
	run_graph.still_runs = !child;
	run->drawn = true;
	run->unwritten = run_graph_make(&run_graph, child);
}

static void begin_live(struct run *run)
{
	if (!run->live)
		return;
	run->so_far = run_graph_of(run);
	run->so_far.still_runs = true;
	live_begin(run->live, &run->so_far);
	run->watch.live = run->live;
}

static void commit_so_far(struct run *run)
{
	struct run_graph run_graph = run_graph_of(run);
	uint64_t ran_ns = run->ended_ns - run->started_ns;

	run_graph.still_runs = true;
	run_graph_commit_so_far(&run_graph);
	run->commit_ns =
		clock_now_ns() + (ran_ns < COMMIT_MOST_NS ? ran_ns : COMMIT_MOST_NS);
	set_deadline(run);
}

/*
 * Returns the file that @argument sets as output by -o (perhaps in the next word, @next), or NULL.
 */
static const char *output_of(const char *argument, const char *next)
{
	if (!strcmp(argument, "-o") || !strcmp(argument, "--output"))
		return next;
	if (!strncmp(argument, "--output=", strlen("--output=")))
		return argument + strlen("--output=");
	return !strncmp(argument, "-o", 2) ? argument + 2 : NULL;
}

/*
 * Print a hint if the program's arguments contain an option that was meant for flamerun: "-o" with
 * a picture's name, if no such file exists.
 */
static void print_misplaced_output(char *const *argv)
{
	for (char *const *at = argv + 1; *at; at++) {
		const char *path = output_of(*at, at[1]);

		if (!path || !format_by_ending(path) || !access(path, F_OK))
			continue;
		explain_print(EXPLAIN_MISPLACED_OUTPUT, FACTS(.name = path, .other = argv[0]));
		return;
	}
}

static void watch_run(struct run *run)
{
	unsigned still;

	begin_live(run);
	while (watch_child(&run->watch) == WATCH_DEADLINE) {
		run->ended_ns = clock_now_ns();
		if (!run->deadline_ns || run->ended_ns < run->deadline_ns) {
			commit_so_far(run);
			continue;
		}
		draw_run(run, NULL);
		run->deadline_ns = run->commit_ns = 0;
		diag_info("sampling has ended; '%s' continues", run->argv[0]);
		run->watch.gather = NULL;
		run->watch.deadline_ns = 0;
	}
	if (run->drawn)
		return;
	run->ended_ns = clock_now_ns();
	if (run->commit)
		commit_set_end(run->commit, run->watch.wait_status);
	live_end(run->live);
	still = watch_descendants(&run->watch, DESCENDANTS_MS);
	if (still)
		diag_info("%u process%s it started still run%s and will not be profiled further",
			still, still == 1 ? "" : "es", still == 1 ? "s" : "");
	draw_run(run, &run->watch.used);
	if (!run->commit)
		print_misplaced_output(run->argv);
}

static struct ending ending_of(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return (struct ending){.signal = WTERMSIG(wait_status)};
	return (struct ending){.status = WEXITSTATUS(wait_status)};
}

static void fill_figures(struct run_figures *figures, const struct run *run)
{
	*figures = (struct run_figures){
		.is_whole = !run->unwritten,
		.wall_ns = run->ended_ns - run->started_ns,
		.totals = *profile_totals(gather_profile(run->gather)),
	};
	memcpy(figures->refusals, gather_refusals(run->gather), sizeof(figures->refusals));
}

struct ending command_run(const struct options *options, char **argv, struct run_figures *figures)
{
	struct run run = {
		.options = options, .argv = argv, .held_program = -1, .figures = figures};
	struct diag_message message = {0};
	struct ending ending = {0};

	if (options->job) {
		run.own = *options;
		run.own.outputs.count = 0;
		run.own.open = 0;
		run.options = &run.own;
	}
	ending.status = prepare_run(&run, &message);
	if (!ending.status)
		ending.status = start_program(&run, &message);
	if (ending.status) {
		diag_report(&message);
	} else {
		watch_run(&run);
		ending = ending_of(run.watch.wait_status);
		if (figures)
			fill_figures(figures, &run);
	}
	if (run.commit && commit_is_last(run.commit))
		command_draw_job(options, options->job);
	commit_free(run.commit);
	if (run.held_program >= 0)
		close(run.held_program);
	live_free(run.live);
	gather_free(run.gather);
	results_free(run.results);
	library_abandon();
	return ending;
}
