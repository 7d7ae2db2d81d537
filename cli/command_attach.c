/* SPDX-License-Identifier: MIT */
/* flamerun -p: sample processes that already run. They continue to run afterwards. */
#include "cli/clock.h"
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/outside/outside.h"
#include "cli/run/run_graph.h"
#include "cli/run/gather.h"
#include "cli/run/launch.h"
#include "cli/run/live.h"
#include "cli/run/results.h"
#include "cli/run/signals.h"
#include "libprof/procfs.h"

#define PIDS_MAX    256
#define THREADS_MAX 4096
#define NS_PER_MS   1000000u

struct attach_run {
	const struct options *options;
	/* The processes that -p names, followed by their children. */
	pid_t pids[PIDS_MAX];
	/* numbers of processes that -p names, of @pids, and of children not in @pids (no room) */
	unsigned count, all, left_out;
	char comm[WIRE_COMM_BYTES];    /* of the first process */
	struct gather *gather;
	struct results *results;
	struct live *live; /* NULL: no --live */
	char title[64];
	char *words[2];
	struct run_graph so_far;
	int doorbell;
	uint64_t started_ns;
	time_t started_wall_s;
	/* True if all processes that -p names were stopped before sampling began. */
	bool are_stopped;
};

/* Is @pid already in run->pids? A process can be attached to only once. */
static bool is_named(const struct attach_run *run, pid_t pid)
{
	for (unsigned i = 0; i < run->all; i++)
		if (run->pids[i] == pid)
			return true;
	return false;
}

/* Parse options->pids, "PID[,PID...]", into run->pids. */
static int parse_pids(struct attach_run *run, struct diag_message *message)
{
	const char *at = run->options->pids;

	for (;;) {
		char *end;
		long pid;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (end == at || errno || pid <= 0 || pid > INT_MAX || at[0] == '+' ||
			(*end && *end != ',')) {
			diag_fail(message, -EINVAL, "-p: '%s' is no list of process numbers",
				run->options->pids);
			diag_fail_hint(message, "-p 1234, or -p 1234,5678; pgrep NAME finds them");
			return -EINVAL;
		}
		if (run->all == PIDS_MAX)
			return diag_fail(message, -EINVAL, "-p: at most %d processes", PIDS_MAX);
		if (!is_named(run, (pid_t)pid))
			run->pids[run->all++] = (pid_t)pid;
		if (!*end)
			break;
		at = end + 1;
	}
	run->count = run->all;
	return 0;
}

/* Add the children that thread @tid of @pid has started. The kernel reports later children. */
static void add_children_of(struct attach_run *run, pid_t pid, pid_t tid)
{
	char path[PROCFS_PATH_BYTES], *line = NULL, *end;
	const char *at;
	size_t room = 0;
	FILE *file;
	pid_t child;

	procfs_path(path, pid, tid, "children");
	file = fopen(path, "re");
	at = file && getline(&line, &room, file) > 0 ? line : "";
	for (; (child = (pid_t)strtol(at, &end, 10)) > 0; at = end) {
		if (child == getpid() || is_named(run, child))
			continue;
		if (run->all == PIDS_MAX)
			run->left_out++;
		else
			run->pids[run->all++] = child;
	}
	free(line);
	if (file)
		fclose(file);
}

static void add_children(struct attach_run *run, pid_t pid)
{
	pid_t tids[THREADS_MAX];
	long count = procfs_threads(pid, tids, THREADS_MAX);

	for (long i = 0; i < count && i < THREADS_MAX; i++)
		add_children_of(run, pid, tids[i]);
}

/*
 * For --follow, attach to the existing descendants of the processes. If a descendant cannot be
 * traced, print why and continue, because the user did not name that process.
 */
static void attach_children(struct attach_run *run)
{
	for (unsigned i = 0; i < run->all; i++) {
		struct diag_message message = {0};
		pid_t pid = run->pids[i];
		int error = 0;

		/* Skip children that the kernel attached to our tracer when they were forked. */
		if (i >= run->count &&
			procfs_number(pid, "TracerPid") != (long)gather_tracer(run->gather))
			error = gather_attach(run->gather, pid, false, &message);
		if (error && error != -ESRCH)
			diag_info("not sampled: %s", message.text);
		if (!error)
			add_children(run, pid);
	}
	if (run->left_out)
		diag_info("not sampled: %u more, of at most %d processes", run->left_out, PIDS_MAX);
}

/* Say how many children are not sampled: a server's first process may only wait for them. */
static void report_children(struct attach_run *run)
{
	for (unsigned i = 0; i < run->count; i++)
		add_children(run, run->pids[i]);
	if (run->all > run->count)
		diag_info("--follow would sample %u child%s of %s, too", run->all - run->count,
			run->all - run->count == 1 ? "" : "ren", run->count == 1 ? "it" : "them");
}

/* Are all processes that -p names stopped: by a signal ('T') or in a ptrace stop ('t')? */
static bool are_stopped(const struct attach_run *run)
{
	for (unsigned i = 0; i < run->count; i++) {
		char state = procfs_state(run->pids[i], run->pids[i]);

		if (state != 'T' && state != 't')
			return false;
	}
	return true;
}

static int start_sampling(struct attach_run *run, struct diag_message *message)
{
	const struct options *options = run->options;
	const struct gather_config config = {
		.outside = true,
		.rate_hz = options->rate_hz,
		.waits = !options->no_waits,
		.wait_details = options->wait_details != 0,
		.follow = options->follow != 0,
	};
	int error = parse_pids(run, message);

	if (!error)
		error = results_open(&run->results, options, false, message);
	if (error)
		return error;
	signals_guard();
	error = gather_open(&run->gather, &config, message);
	if (!error && options->live)
		error = live_open(&run->live, false, message);
	run->doorbell = error ? -1 : signals_catch();
	if (!error && run->doorbell < 0)
		error = diag_fail(message, run->doorbell, "cannot catch signals: %s",
			strerror(-run->doorbell));
	run->started_ns = clock_now_ns();
	run->started_wall_s = time(NULL);
	procfs_comm(run->pids[0], run->pids[0], run->comm);
	run->are_stopped = are_stopped(run);
	for (unsigned i = 0; i < run->count && !error; i++)
		error = gather_attach(run->gather, run->pids[i], false, message);
	if (!error && options->follow)
		attach_children(run);
	else if (!error)
		report_children(run);
	return error;
}

/* Returns the milliseconds until @deadline_ns, rounded up; or -1 if @deadline_ns is 0. */
static int remaining_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_now_ns(), left_ms;

	if (!deadline_ns)
		return -1;
	if (now_ns >= deadline_ns)
		return 0;
	left_ms = (deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static void sample_until_end(struct attach_run *run)
{
	const struct options *options = run->options;
	uint64_t deadline_ns = options->duration_ns ? run->started_ns + options->duration_ns : 0;

	signals_watch_end();
	while (!signals_end_requested() && remaining_ms(deadline_ns)) {
		int patience = remaining_ms(deadline_ns);
		struct pollfd files[] = {
			{.fd = run->doorbell, .events = POLLIN},
			{.fd = gather_descriptor(run->gather), .events = POLLIN},
			{.fd = run->live ? live_descriptor(run->live) : -1, .events = POLLIN},
		};

		if (gather_has_ended(run->gather))
			break;
		if (run->live && (patience < 0 || patience > LIVE_TICK_MS))
			patience = LIVE_TICK_MS;
		poll(files, 3, patience); /* EINTR: as if data had come */
		signals_drain();
		if (gather_read(run->gather))
			/* Out of memory: end, and draw the samples that were gathered so far. */
			break;
		if (run->live && live_update(run->live))
			break;
	}
	signals_stop_forwarding();
}

/* Describe the run for the picture and for --live. The result borrows strings from @run. */
static struct run_graph run_graph_of(struct attach_run *run)
{
	char *title = run->title;

	if (run->count == 1)
		snprintf(title, sizeof(run->title), "%s, process %d", run->comm, (int)run->pids[0]);
	else
		snprintf(title, sizeof(run->title), "processes %.40s", run->options->pids);
	run->words[0] = title;
	return (struct run_graph){
		.options = run->options,
		.gather = run->gather,
		.results = run->results,
		.words = run->words,
		.program = title,
		.started_ns = run->started_ns,
		.started_wall_s = run->started_wall_s,
	};
}

static unsigned draw_results(struct attach_run *run)
{
	struct run_graph run_graph = run_graph_of(run);

	run_graph.ended_ns = clock_now_ns();
	run_graph.is_stopped = run->are_stopped && are_stopped(run);
	return run_graph_make(&run_graph, NULL);
}

struct ending command_attach(const struct options *options)
{
	struct attach_run run = {.options = options};
	struct diag_message message = {0};
	struct ending ending = {0};

	if (start_sampling(&run, &message)) {
		diag_report(&message);
		ending.status = COMMAND_FAILED;
	} else {
		if (!options->duration_ns)
			diag_info("sampling; Ctrl-C ends it and draws");
		run.so_far = run_graph_of(&run);
		run.so_far.still_runs = true;
		if (run.live)
			live_begin(run.live, &run.so_far);
		sample_until_end(&run);
		live_end(run.live);
		if (draw_results(&run))
			ending.status = COMMAND_FAILED;
	}
	live_free(run.live);
	gather_free(run.gather);
	results_free(run.results);
	return ending;
}
