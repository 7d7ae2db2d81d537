/* SPDX-License-Identifier: MIT */
/* Count weights for --live and show their growth since the last count and the last reset. */
#include "cli/run/live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/options.h"
#include "cli/profile/picture_names.h"
#include "cli/run/gather.h"
#include "cli/run/live_screen.h"
#include "libprof/profile/profile.h"
#include "render/ranking.h"

#define NS_PER_S    1000000000u
/* The pause between two counts is at least this multiple of the time that a count takes. */
#define COST_FACTOR 20
#define NOTICE_NS   (4ull * NS_PER_S)
#define TITLE_BYTES 160
#define COPY_BYTES  65536

/* A function's name, and its weights. */
struct counted {
	char *name; /* owned */
	uint64_t self, total;
};

/* The weights that all functions and threads had at @time_ns. All zero at the beginning. */
struct count {
	struct counted *functions; /* sorted by name */
	uint32_t function_count;
	/* [number of the thread in the profile]: weight of the thread */
	uint64_t *threads;
	uint32_t thread_count;
	uint64_t weight, thread_weight;
	uint64_t time_ns;
};

struct live {
	const struct run_graph *run_graph; /* NULL: not begun, or ended */
	char title[TITLE_BYTES];
	bool has_screen, is_paused, has_program;
	int input, output; /* replacements of the terminal; -1: none */
	/* bytes of the file `output` that are already on the terminal */
	off_t put;
	/* copy of stderr, which is restored together with the terminal; -1: none */
	int messages;
	uint64_t due_ns, notice_ns;
	char notice[DIAG_TEXT_BYTES];
	struct count reset, last;
	struct live_function *functions; /* rows shown; names are owned by `last` */
	struct live_thread *threads;
	struct live_view view;
};

/* ---- counting -------------------------------------------------------------------------------- */

static void count_release(struct count *count)
{
	for (uint32_t i = 0; i < count->function_count; i++)
		free(count->functions[i].name);
	free(count->functions);
	free(count->threads);
	*count = (struct count){.time_ns = 0};
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct counted *)left)->name, ((const struct counted *)right)->name);
}

static int count_functions(struct count *count, const struct calltree *tree)
{
	struct ranking ranking;
	struct ranking_rows rows = {.count = 0};
	int error = ranking_init(&ranking, tree);

	if (error)
		return error;
	error = ranking_of(&ranking, CALLTREE_ROOT, &rows);
	if (!error && rows.count)
		count->functions = calloc(rows.count, sizeof(*count->functions));
	if (rows.count && !count->functions)
		error = -ENOMEM;
	for (uint32_t i = 0; !error && i < rows.count; i++) {
		const struct calltree_frame *frame = ranking_frame(&ranking, rows.at[i].function);
		char module[PICTURE_NAMES_MODULE_BYTES];
		char *name;

		if (asprintf(&name, "%s%s", frame->name, module_text(module, frame)) < 0) {
			error = -ENOMEM;
			break;
		}
		count->functions[count->function_count++] =
			(struct counted){name, rows.at[i].self, rows.at[i].total};
	}
	free(rows.at);
	ranking_release(&ranking);
	if (count->function_count)
		qsort(count->functions, count->function_count, sizeof(*count->functions), by_name);
	count->weight = calltree_total(tree);
	return error;
}

static bool is_on_cpu(const struct profile_stack *stack)
{
	return stack->kind == WIRE_KIND_CPU || stack->kind == WIRE_KIND_CREDIT;
}

static int count_threads(struct count *count, struct flameprof_profile *profile)
{
	count->thread_count = profile->thread_count;
	count->threads = calloc((size_t)count->thread_count + 1, sizeof(*count->threads));
	if (!count->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct profile_stack *stack = profile_stack_at(profile, i);

		if (is_on_cpu(stack) && stack->thread < count->thread_count) {
			count->threads[stack->thread] += stack->weight;
			count->thread_weight += stack->weight;
		}
	}
	return 0;
}

static int count_now(const struct live *live, struct count *out)
{
	struct diag_message message = {0};
	struct run_graph_tree tree;
	int error = run_graph_tree_make(live->run_graph, false, true, &tree, &message);

	*out = (struct count){.time_ns = clock_now_ns()};
	if (!error)
		error = count_functions(out, tree.trees.functions);
	if (!error)
		error = count_threads(out, gather_profile(live->run_graph->gather));
	run_graph_tree_release(&tree);
	if (error)
		count_release(out);
	return error;
}

/* ---- differences ----------------------------------------------------------------------------- */

static struct counted counted_before(const struct count *count, const char *name)
{
	const struct counted wanted = {.name = (char *)name};
	const struct counted *found =
		count->function_count ? bsearch(&wanted, count->functions, count->function_count,
						sizeof(*count->functions), by_name)
				      : NULL;

	return found ? *found : (struct counted){.name = NULL};
}

static double part(uint64_t now, uint64_t before, uint64_t all, uint64_t all_before)
{
	if (now <= before || all <= all_before)
		return 0;
	return (double)(now - before) / (double)(all - all_before);
}

static int by_heat(const void *left, const void *right)
{
	const struct live_function *a = left, *b = right;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int by_work(const void *left, const void *right)
{
	const struct live_thread *a = left, *b = right;

	if (a->cpus_now != b->cpus_now)
		return a->cpus_now < b->cpus_now ? 1 : -1;
	if (a->share != b->share)
		return a->share < b->share ? 1 : -1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Fill the list of functions: shares since the reset, and shares since the previous count. */
static int show_functions(struct live *live, const struct count *now)
{
	struct live_function *functions =
		calloc((size_t)now->function_count + 1, sizeof(*functions));
	size_t count = 0;

	if (!functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < now->function_count; i++) {
		const struct counted *at = &now->functions[i];
		struct counted reset = counted_before(&live->reset, at->name);
		struct counted last = counted_before(&live->last, at->name);
		struct live_function function = {
			.name = at->name,
			.now = part(at->self, last.self, now->weight, live->last.weight),
			.self = part(at->self, reset.self, now->weight, live->reset.weight),
			.total = part(at->total, reset.total, now->weight, live->reset.weight),
		};

		if (function.total > 0)
			functions[count++] = function;
	}
	qsort(functions, count, sizeof(*functions), by_heat);
	free(live->functions);
	live->functions = functions;
	live->view.functions = functions;
	live->view.function_count = count;
	return 0;
}

static int show_threads(struct live *live, const struct count *now, double seconds)
{
	struct flameprof_profile *profile = gather_profile(live->run_graph->gather);
	double period_s = (double)profile->period_ns / NS_PER_S;
	struct live_thread *threads = calloc((size_t)now->thread_count + 1, sizeof(*threads));
	size_t count = 0;

	if (!threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < now->thread_count; i++) {
		const struct profile_thread *thread = profile_thread_at(profile, i);
		const struct profile_image *image = profile_image_at(profile, thread->image);
		uint64_t last = i < live->last.thread_count ? live->last.threads[i] : 0;
		uint64_t reset = i < live->reset.thread_count ? live->reset.threads[i] : 0;
		struct live_thread shown = {
			.name = thread->name[0] ? thread->name : image->comm,
			.pid = image->pid,
			.tid = thread->tid,
			.cpus_now = (double)(now->threads[i] - last) * period_s / seconds,
			.share = part(now->threads[i], reset, now->thread_weight,
				live->reset.thread_weight),
		};

		if (shown.share > 0)
			threads[count++] = shown;
	}
	qsort(threads, count, sizeof(*threads), by_work);
	free(live->threads);
	live->threads = threads;
	live->view.threads = threads;
	live->view.thread_count = count;
	live->view.cpus_now =
		(double)(now->thread_weight - live->last.thread_weight) * period_s / seconds;
	return 0;
}

static uint64_t count_lost(struct flameprof_profile *profile)
{
	const struct wire_counters *counts = &profile_totals(profile)->counts;

	return counts->dropped + counts->torn + counts->malformed;
}

static void show_now(struct live *live)
{
	const struct run_graph *run_graph = live->run_graph;
	struct flameprof_profile *profile = gather_profile(run_graph->gather);
	uint64_t since_ns = live->last.time_ns ? live->last.time_ns : run_graph->started_ns;
	struct count now;
	double seconds;

	if (count_now(live, &now))
		/* If memory is short, do not change the display. */
		return;
	seconds = now.time_ns > since_ns ? (double)(now.time_ns - since_ns) / NS_PER_S : 1;
	live->view.elapsed_s = (double)(now.time_ns - run_graph->started_ns) / NS_PER_S;
	live->view.samples = now.weight;
	live->view.lost = count_lost(profile);
	if (show_functions(live, &now) || show_threads(live, &now, seconds)) {
		live->view.function_count = live->view.thread_count = 0;
		count_release(&now);
		return;
	}
	count_release(&live->last);
	live->last = now;
}

/* ---- screen and keys ------------------------------------------------------------------------- */

static void set_notice(struct live *live, const char *text)
{
	snprintf(live->notice, sizeof(live->notice), "%s", text);
	live->notice_ns = clock_now_ns() + NOTICE_NS;
}

static void draw(struct live *live)
{
	char line[DIAG_TEXT_BYTES];

	if (clock_now_ns() >= live->notice_ns)
		live->notice[0] = '\0';
	live->view.title = live->title;
	live->view.notice = live->notice;
	live->view.is_paused = live->is_paused;
	if (live->has_screen) {
		live_screen_show(&live->view);
	} else {
		live_screen_line(&live->view, line, sizeof(line));
		diag_info("%s", line);
	}
}

/* Show only what is counted from now on. Pictures still contain all samples. */
static void reset(struct live *live)
{
	struct count now;

	if (count_now(live, &now))
		return;
	count_release(&live->reset);
	live->reset = now;
	live->view.function_count = live->view.thread_count = 0;
	set_notice(live, "shown from now on; pictures have all");
}

static void write_picture(struct live *live)
{
	struct run_graph so_far = *live->run_graph;

	so_far.ended_ns = clock_now_ns();
	set_notice(live, run_graph_make_so_far(&so_far)
				 ? "not all could be written: the end will say why"
				 : "written; it goes on");
}

/* Write to the terminal what the program has written since the previous call. */
static void put_output(struct live *live)
{
	char bytes[COPY_BYTES];
	ssize_t count;

	while (live->output >= 0 &&
		(count = pread(live->output, bytes, sizeof(bytes), live->put)) > 0) {
		ssize_t done = write(STDOUT_FILENO, bytes, (size_t)count);

		if (done < 0 && errno != EINTR)
			break;
		live->put += done > 0 ? done : 0;
	}
}

/* Execute the command of @key. Returns true if sampling is to end. */
static bool act_on(struct live *live, enum live_key key)
{
	switch (key) {
	case LIVE_PAUSE:
		live->is_paused = !live->is_paused;
		break;
	case LIVE_RESET:
		reset(live);
		break;
	case LIVE_WRITE:
		write_picture(live);
		break;
	case LIVE_QUIT:
		if (!live->has_program)
			return true;
		live_end(live);
		return false;
	default:
		break;
	}
	draw(live);
	return false;
}

bool live_update(struct live *live)
{
	uint64_t began_ns = clock_now_ns(), took_ns;
	enum live_key key = LIVE_NONE;

	while (live->run_graph && live->has_screen && (key = live_screen_key()) != LIVE_NONE)
		if (act_on(live, key))
			return true;
	if (!live->run_graph)
		put_output(live);
	if (!live->run_graph || began_ns < live->due_ns)
		return false;
	if (!live->is_paused)
		show_now(live);
	draw(live);
	took_ns = clock_now_ns() - began_ns;
	live->due_ns =
		began_ns + (took_ns * COST_FACTOR > NS_PER_S ? took_ns * COST_FACTOR : NS_PER_S);
	return false;
}

int live_descriptor(const struct live *live)
{
	return live->has_screen ? STDIN_FILENO : -1;
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* Open an unnamed file for the program's output, and /dev/null for its input. */
static int open_streams(struct live *live)
{
	const char *folder = getenv("TMPDIR");

	live->output = open(folder && *folder ? folder : "/tmp",
		O_TMPFILE | O_RDWR | O_CLOEXEC | O_APPEND, 0600);
	live->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return live->output < 0 || live->input < 0 ? -errno : 0;
}

int live_open(struct live **out, bool has_program, struct diag_message *message)
{
	struct live *live = calloc(1, sizeof(*live));
	int error = 0;

	if (!live)
		return diag_fail(message, -ENOMEM, "out of memory");
	live->input = live->output = live->messages = -1;
	live->has_program = has_program;
	live->has_screen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
			   tcgetpgrp(STDIN_FILENO) == getpgrp();
	if (live->has_screen)
		error = open_streams(live);
	if (error) {
		diag_fail(message, error, "cannot keep what is written meanwhile: %s",
			strerror(-error));
		live_free(live);
		return error;
	}
	*out = live;
	return 0;
}

int live_input(const struct live *live)
{
	return live->input;
}

int live_output(const struct live *live)
{
	return live->output;
}

void live_begin(struct live *live, const struct run_graph *run_graph)
{
	size_t used = 0;

	live->run_graph = run_graph;
	/* Omit the program's folder, because a long one would fill a narrow screen. */
	for (char *const *word = run_graph->words; *word && used < sizeof(live->title); word++)
		used += (size_t)snprintf(live->title + used, sizeof(live->title) - used, "%s%s",
			used ? " " : "", used ? *word : base_name(*word));
	live->due_ns = clock_now_ns() + NS_PER_S;
	if (live->has_screen && live_screen_begin()) {
		live->has_screen = false;
		diag_info("this terminal can show no screen: lines instead");
	}
	if (!live->has_screen)
		return;
	if (isatty(STDERR_FILENO)) {
		live->messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (live->messages >= 0)
			dup2(live->output, STDERR_FILENO);
	}
	draw(live);
}

void live_end(struct live *live)
{
	if (!live)
		return;
	if (live->has_screen)
		live_screen_end();
	live->has_screen = false;
	live->run_graph = NULL;
	put_output(live);
	if (live->messages >= 0) {
		dup2(live->messages, STDERR_FILENO);
		close(live->messages);
	}
	live->messages = -1;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	live_end(live);
	if (live->input >= 0)
		close(live->input);
	if (live->output >= 0)
		close(live->output);
	count_release(&live->reset);
	count_release(&live->last);
	free(live->functions);
	free(live->threads);
	free(live);
}
