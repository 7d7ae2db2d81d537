/* SPDX-License-Identifier: MIT */
/*
 * The run in a few lines: every number either counted by us or taken from the kernel.
 *
 * The books (due = sampled + credited + exec + exit + dropped + torn + paused) prove the profiler
 * and say nothing about the program: they are printed with -v, or when they are off by more than a
 * run's chance. Where a tenth of the CPU time is in no sample summary_unsampled.c says why.
 */
#include "cli/run/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diag.h"
#include "cli/gather/pipe_reader.h"
#include "cli/kernel_config.h"
#include "cli/profile/accounting.h"
#include "cli/profile/picture_names.h"
#include "cli/run/summary_unsampled.h"
#include "cli/run/unnamed_code.h"
#include "libprof/pprof/protobuf.h"
#include "libprof/runtime/runtime.h"
#include "render/label.h"
#include "render/ranking.h"

/* ---- the last lines -------------------------------------------------------------------------- */

#define HOTTEST	 5
#define NS_PER_S 1e9

#define BALANCE_SHARE	0.02
#define BALANCE_SIGMA	4.0
#define BALANCE_SAMPLES 8.0

/* If more of the CPU time than this is nobody's, there are programs that were never seen. */
#define UNSEEN_SHARE 0.1

/* A run that used less of the time than this was waiting: there is nothing to see of that. */
#define IDLE_SHARE 0.1

/* Below so many samples shares are chance. */
#define FEW_SAMPLES 20

/* Limit @part to @whole: it may be extrapolated, or a false value from a program of the run. */
static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)(part < whole ? part : whole) / (double)whole : 0.0;
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* The thread that executes another program is one, before and after. */
static uint64_t count_threads(const struct summary *summary)
{
	uint64_t threads = profile_totals(summary->profile)->threads;
	uint64_t execs = summary->profile->image_count - summary->report->processes;

	return threads >= execs + summary->report->processes ? threads - execs : threads;
}

static void print_rate(const struct summary *summary, const struct accounting *books)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	double cpu_s = (double)totals->cpu_ns / NS_PER_S;
	uint64_t threads = count_threads(summary);
	uint32_t processes = summary->report->processes;
	struct special_weights special;
	uint64_t kernel;
	char rate[48] = "", system[48] = "";

	special_weights_of(summary->whole, &special);
	kernel = special.kernel;
	if (kernel)
		snprintf(system, sizeof(system), ", %.2f s of it in %s",
			(double)kernel / profile_rate_hz(summary->profile),
			special.kernel_functions ? "the kernel" : "system calls");
	snprintf(rate, sizeof(rate), " (%.0f per CPU-second)",
		cpu_s > 0 ? (double)books->sampled / cpu_s : 0.0);
	diag_info("%" PRIu64 " %s in %.2f s, %.2f s of CPU%s%s; %" PRIu64 " %s, %" PRIu32 " %s",
		books->sampled, plural(books->sampled, "sample", "samples"),
		(double)summary->duration_ns / NS_PER_S, cpu_s, rate, system, threads,
		plural(threads, "thread", "threads"), processes,
		plural(processes, "process", "processes"));
}

/* Time that passed is no part of the books, which hold samples against CPU time. */
static void print_machines(const struct summary *summary)
{
	uint64_t vm = summary->profile->vm_weight;

	if (vm)
		diag_info(
			"besides, %.2f s of elapsed time in stacks that virtual machines told: %s",
			(double)vm / profile_rate_hz(summary->profile),
			summary->shows_machines ? "that is what is drawn"
						: "--sample-type " PPROF_MACHINE_TIME " draws it");
}

/*
 * Do the books balance as well as counting at random moments lets them? Four standard deviations of
 * the count, never less than a few samples: threads that end take a part of one each with them.
 */
static bool is_balanced(const struct accounting *books)
{
	double off = (double)accounting_total(books) - (double)books->due;
	double due = (double)books->due;

	return fabs(off) <=
	       fmax(BALANCE_SAMPLES, fmax(BALANCE_SHARE * due, BALANCE_SIGMA * sqrt(due)));
}

/* For who wants to check the profiler; for everybody when they do not balance. */
static void print_books(const struct summary *summary, const struct accounting *books)
{
	double due = (double)books->due;
	char line[320];

	if (summary->is_test_clock)
		return;
	snprintf(line, sizeof(line),
		"%" PRIu64 " due (CPU time x %" PRIu32 " Hz) = %" PRIu64 " sampled (%" PRIu64
		" by overrun) + %" PRIu64 " credited + %" PRIu64 " exec + %" PRIu64
		" exit + %" PRIu64 " dropped + %" PRIu64 " torn + %" PRIu64
		" paused, off by %+.1f %%",
		books->due, profile_rate_hz(summary->profile), books->sampled, books->overruns,
		books->credited, books->exec, books->exit, books->dropped, books->torn,
		books->paused,
		due > 0 ? 100.0 * ((double)accounting_total(books) - due) / due : 0.0);
	if (is_balanced(books))
		diag_verbose("%s", line);
	else
		diag_info("%s", line);
}

static void print_loss(uint64_t count, const char *one, const char *many, const char *what)
{
	if (count)
		diag_info("%" PRIu64 " %s %s", count, plural(count, one, many), what);
}

/* What the library saw when it was left behind. */
static void print_unprofiled(const struct profile_losses *losses)
{
	static const char *const causes[WIRE_UNPROFILED_CAUSES] = {
		[WIRE_UNPROFILED_CLEARED] = "environment cleared",
		[WIRE_UNPROFILED_REPLACED] = "LD_PRELOAD replaced, and it could not be put back",
		[WIRE_UNPROFILED_STATIC] = "statically linked",
		[WIRE_UNPROFILED_OTHER_LIBC] = "of another C library than glibc",
		[WIRE_UNPROFILED_NO_LIBC] = "without a C library",
		[WIRE_UNPROFILED_OTHER_CPU] = "made for another CPU or word size",
		[WIRE_UNPROFILED_SANITIZED] = "built with AddressSanitizer",
		[WIRE_UNPROFILED_PRIVILEGED] = "set-user-id or set-group-id",
		[WIRE_UNPROFILED_UNREACHABLE] = "another root or user, who cannot read it",
		[WIRE_UNPROFILED_CONFINED] =
			"by one that had forbidden itself system calls (seccomp)",
	};

	for (int cause = 1; cause < WIRE_UNPROFILED_CAUSES; cause++)
		if (losses->unprofiled[cause])
			diag_info("%" PRIu64 " %s started without flamerun's library: %s",
				losses->unprofiled[cause],
				plural(losses->unprofiled[cause], "program", "programs"),
				causes[cause]);
}

/* Why the kernel gave no timer, and what to type for one. */
static void timer_reason(const struct profile_totals *totals, char *out, size_t size)
{
	if (totals->timer_error == EAGAIN)
		snprintf(out, size,
			"a timer takes one of the user's pending signals, limited to %" PRIu64
			" (ulimit -i)",
			totals->signals_max);
	else
		snprintf(out, size, "timer_create(2) failed: %s",
			strerror((int)totals->timer_error));
}

/* Threads without a ring or a timer. */
static void print_late_threads(const struct profile_totals *totals)
{
	const struct profile_losses *losses = &totals->losses;
	uint64_t quit = losses->quit[WIRE_QUIT_TIMERS], timerless = losses->timerless_threads;
	uint64_t late = losses->late_threads, ringless = late > timerless ? late - timerless : 0;
	char reason[DIAG_TEXT_BYTES];

	timer_reason(totals, reason, sizeof(reason));
	if (quit)
		diag_info("%" PRIu64 " %s could not be sampled from inside: %s", quit,
			plural(quit, "process", "processes"), reason);
	/* Each of those processes is also counted as one such thread. */
	if (timerless > quit)
		diag_info("%" PRIu64 " %s could not be sampled: %s", timerless - quit,
			plural(timerless - quit, "thread", "threads"), reason);
	if (timerless && totals->timer_error == EAGAIN)
		diag_info("hint: 'ulimit -i unlimited' before the run, where that is allowed, or "
			  "--outside, which can do without timers");
	if (ringless)
		diag_info("%" PRIu64 " %s could not be sampled: more than %u ran at once", ringless,
			plural(ringless, "thread", "threads"), WIRE_RINGS);
}

/* Who forbade itself what sampling needs. */
static void print_confined(const struct profile_losses *losses)
{
	static const char *const causes[WIRE_QUIT_CAUSES] = {
		[WIRE_QUIT_STRICT] = "seccomp's strict mode forbids a signal handler's return",
		[WIRE_QUIT_RETURN] =
			"a seccomp filter forbids rt_sigreturn, a signal handler's end",
		[WIRE_QUIT_CALLS] =
			"a seccomp filter forbids getpid, gettid, rt_sigprocmask or clock_gettime",
		[WIRE_QUIT_UNSEEN] = "a seccomp filter came unseen, not by way of libc",
		[WIRE_QUIT_DISPATCH] = "its system calls are its own (syscall user dispatch)",
		[WIRE_QUIT_LOCKED] =
			"mlockall: flamerun's memory is beyond the limit of locked memory",
	};
	uint64_t all = losses->confined_threads + losses->confined_processes;

	for (int cause = 1; cause < WIRE_QUIT_CAUSES; cause++) {
		if (!causes[cause])
			continue;
		all += losses->quit[cause];
		if (losses->quit[cause])
			diag_info("%" PRIu64 " %s on without flamerun's library: %s",
				losses->quit[cause],
				plural(losses->quit[cause], "process went", "processes went"),
				causes[cause]);
	}
	print_loss(losses->confined_threads, "thread", "threads",
		"could not be sampled: a seccomp filter forbids timers");
	print_loss(losses->confined_processes, "fork", "forks",
		"began without flamerun's library: a seccomp filter forbids timers");
	print_loss(losses->small_stacks, "thread", "threads",
		"could not be sampled any more: the alternate signal stack is too small for a "
		"signal");
	if (all + losses->small_stacks)
		diag_info("hint: --outside samples such programs from their start");
}

void summary_times(const struct flameprof_profile *profile, char *out, size_t size)
{
	uint64_t untimed = profile->totals.losses.untimed, ms = profile->stretch_ns / 1000000;

	out[0] = '\0';
	if (untimed)
		snprintf(out, size, "%" PRIu64 " %s: there were too many to keep each", untimed,
			plural(untimed, "sample has no time", "samples have no times"));
	else if (ms)
		snprintf(out, size,
			"times are known to %" PRIu64
			" ms: there were too many samples to keep each",
			ms);
}

void summary_print_losses(
	const struct profile_totals *totals, const struct pipe_reader_refusal *refusals)
{
	static const char by_stops[] = "had no timers and was stopped for samples, which may cut "
				       "system calls short";
	const struct profile_losses *losses = &totals->losses;
	uint64_t sampled = 0, due;

	for (int end = 0; end < WIRE_END_COUNT; end++)
		sampled += totals->ends[end];
	due = sampled + totals->credited + losses->dropped + losses->torn + totals->paused;
	if (totals->paused)
		diag_info("%.1f %% left out while paused", percent(totals->paused, due));
	/* Deferred weight that no later sample took on is part of the credit. */
	if (percent(totals->throttled, due) >= 1)
		diag_info("%.0f %% deferred to later samples, so that the program had half of its "
			  "time to itself",
			percent(totals->throttled, due));
	print_loss(losses->dropped, "sample", "samples", "lost: the program's rings were full");
	print_loss(losses->vm_dropped, "sample", "samples",
		"of virtual machines lost: the program's rings were full");
	print_loss(losses->torn, "sample", "samples", "cut short by a kill");
	print_loss(losses->malformed, "record", "records", "not to be believed and left out");
	print_loss(losses->control_dropped, "record", "records",
		"of modules, code or marks lost: names may be missing");
	print_late_threads(totals);
	print_loss(losses->kernel_unseen, "thread", "threads",
		"without the kernel's functions: it locks no more memory, "
		"kernel.perf_event_mlock_kb");
	print_loss(losses->lost_processes, "process", "processes",
		"had no room for flamerun's library: too many at once, or their memory is limited "
		"(ulimit -v)");
	print_unprofiled(losses);
	print_confined(losses);
	for (int i = 0; i < PIPE_READER_REFUSALS && refusals[i].programs; i++)
		diag_info("%" PRIu64 " %s %s: %s", refusals[i].programs,
			plural(refusals[i].programs, "program", "programs"),
			refusals[i].by_stops ? by_stops
					     : "could not be sampled from outside, either",
			refusals[i].text);
	if (sampled && totals->ends[WIRE_END_ROOT] < sampled)
		diag_info("%.1f %% of stacks are incomplete (%" PRIu64
			  " deeper than %u frames, %" PRIu64 " lost, %" PRIu64 " unreadable)",
			100.0 - percent(totals->ends[WIRE_END_ROOT], sampled),
			totals->ends[WIRE_END_DEPTH], WIRE_MAX_DEPTH, totals->ends[WIRE_END_LOST],
			totals->ends[WIRE_END_MEMORY]);
}

static void print_times(const struct summary *summary)
{
	char times[SUMMARY_TIMES_BYTES];

	summary_times(summary->profile, times, sizeof(times));
	if (times[0])
		diag_info("%s", times);
}

/* What the functions below are of, where that is not the whole. */
static void print_drawn(const struct summary *summary)
{
	uint64_t drawn = calltree_total(summary->drawn), whole = summary->whole_weight;
	char drawn_text[32], whole_text[32];

	count_text(drawn_text, sizeof(drawn_text), drawn);
	count_text(whole_text, sizeof(whole_text), whole);
	if (drawn < whole)
		diag_info("drawn: %s of %s %s (%.1f %%)", drawn_text, whole_text,
			plural(whole, "sample", "samples"), percent(drawn, whole));
}

void summary_print_hottest(const struct calltree *tree, const struct spread *spread)
{
	struct spread_shares shares;
	struct ranking ranking;
	struct ranking_rows hot = {.count = 0};

	if (ranking_init(&ranking, tree))
		return;
	ranking_of(&ranking, CALLTREE_ROOT, &hot);
	if (hot.count && hot.at[0].self)
		diag_info("hottest functions by self time%s:",
			spread && spread_runs(spread) > 1 ? ", and how runs differ" : "");
	for (uint32_t i = 0; i < HOTTEST && i < hot.count && hot.at[i].self; i++) {
		const struct calltree_frame *frame = ranking_frame(&ranking, hot.at[i].function);
		char module[PICTURE_NAMES_MODULE_BYTES], differ[32] = "";

		if (spread && spread_find(spread, frame, &shares))
			snprintf(differ, sizeof(differ), " \u00b1 %.1f", 100 * shares.self);
		diag_info("  %5.1f %%%s  %.160s%s", percent(hot.at[i].self, calltree_total(tree)),
			differ, frame->name, module_text(module, frame));
	}
	free(hot.at);
	ranking_release(&ranking);
}

/* Where the samples are that have code of replaced files on their stacks. */
struct replaced {
	uint64_t weight;
	const char *file; /* of most of them; not terminated */
	size_t file_bytes;
	unsigned others; /* files more */
};

/* @weights is zeroed, with a place for each frame. */
static void find_replaced(
	const struct calltree *tree, uint64_t *weights, bool *is_inside, struct replaced *out)
{
	uint64_t most = 0;
	size_t bytes;

	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const char *name = calltree_frame_at(tree, node->frame)->name;
		bool is_replaced = replaced_name_file(name, &bytes) != NULL;

		is_inside[i] = is_inside[node->parent] || is_replaced;
		out->weight += is_inside[i] ? node->self : 0;
		/* Of files that call each other the outer one counts. */
		if (is_replaced && !is_inside[node->parent])
			weights[node->frame] += node->total;
	}
	for (uint32_t i = 0; i < calltree_frames(tree); i++) {
		out->others += weights[i] != 0;
		if (weights[i] <= most)
			continue;
		most = weights[i];
		out->file = replaced_name_file(calltree_frame_at(tree, i)->name, &out->file_bytes);
	}
}

static void print_replaced(const struct calltree *tree)
{
	uint64_t *weights = calloc((size_t)calltree_frames(tree) + 1, sizeof(*weights));
	bool *is_inside = calloc((size_t)calltree_nodes(tree) + 1, sizeof(*is_inside));
	struct replaced replaced = {0};
	char others[32] = "";

	if (weights && is_inside)
		find_replaced(tree, weights, is_inside, &replaced);
	if (replaced.others > 1)
		snprintf(others, sizeof(others), " and %u other%s", replaced.others - 1,
			replaced.others > 2 ? "s" : "");
	if (replaced.file)
		diag_info("%" PRIu64 " %s in '%.*s'%s, replaced meanwhile: the names went with "
			  "the old file",
			replaced.weight, plural(replaced.weight, "sample is", "samples are"),
			(int)replaced.file_bytes, replaced.file, others);
	free(weights);
	free(is_inside);
}

static void print_unnamed(const struct summary *summary, const struct accounting *books)
{
	struct unnamed_code unnamed_code = {0};
	struct special_weights special;
	double unnamed;

	if (!books->sampled)
		return;
	special_weights_of(summary->tree, &special);
	unnamed = percent(special.unnamed, calltree_total(summary->tree));
	if (unnamed < SUMMARY_UNNAMED) {
		diag_verbose("%.1f %% of samples have no function name", unnamed);
		return;
	}
	unnamed_code_find(&unnamed_code, summary->tree, &summary->profile->names);
	diag_info("%.1f %% of samples have no function name%s%s", unnamed,
		unnamed_code.where[0] ? ", most of them in " : "", unnamed_code.where);
	if (unnamed_code.remedy[0])
		diag_info("hint: %s", unnamed_code.remedy);
}

/* Is there CPU time in no process that was seen, other than for the reasons that are given? */
static bool has_unseen_programs(const struct summary *summary, const struct accounting *books)
{
	const struct profile_losses *losses = &profile_totals(summary->profile)->losses;

	return !summary->is_outside && !is_balanced(books) &&
	       (double)accounting_total(books) < (1.0 - UNSEEN_SHARE) * (double)books->due &&
	       !losses->late_threads && !losses->lost_processes && !losses->malformed;
}

/* Print how much CPU time no sample shows. Returns whether a reason for that was printed. */
static bool print_unsampled(const struct summary *summary, const struct accounting *books)
{
	struct summary_unsampled unsampled = {
		.totals = profile_totals(summary->profile),
		.rate_hz = profile_rate_hz(summary->profile),
		.drawn = calltree_total(summary->tree),
		.credited = books->credited,
		.threads = count_threads(summary),
		.processes = summary->report->processes,
		.is_outside = summary->is_outside,
	};
	struct special_weights special;

	special_weights_of(summary->tree, &special);
	unsampled.unsampled = special.unsampled;
	if (has_unseen_programs(summary, books) && !summary->is_test_clock && !books->paused)
		unsampled.unseen_s =
			(double)(books->due - accounting_total(books)) / unsampled.rate_hz;
	return summary_unsampled_print(&unsampled);
}

/* Did it mostly wait? */
static bool is_idle(const struct summary *summary)
{
	return (double)profile_totals(summary->profile)->cpu_ns <
	       IDLE_SHARE * (double)summary->duration_ns;
}

/* Why nothing is known of most of its time, whatever there is to see of the rest. */
static void print_unlooked(
	const struct summary *summary, const struct accounting *books, bool has_waits)
{
	double cpu_ns = (double)profile_totals(summary->profile)->cpu_ns;

	if (is_idle(summary) && !has_waits && !summary->is_test_clock && !books->paused)
		diag_info("hint: it used the CPU for %.0f ms of %.2f s; nobody looked at what it "
			  "waited for",
			cpu_ns / 1e6, (double)summary->duration_ns / NS_PER_S);
}

/* The program was killed by the sampling signal, which it would not get without us. */
static void print_killed(uint32_t signal)
{
	diag_info("signal %" PRIu32 " (%s), by which it is sampled, killed it: the program had "
		  "reset the signal's action by a system call of its own",
		signal, strsignal((int)signal));
	diag_info("hint: --outside samples without signals");
}

/* Why there is nothing to see, or next to nothing. */
static void print_scarcity(const struct summary *summary, const struct accounting *books)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	double cpu_s = (double)totals->cpu_ns / NS_PER_S;
	struct special_weights special;
	bool is_few;

	special_weights_of(summary->tree, &special);
	is_few = books->sampled < FEW_SAMPLES &&
		 2 * special.unsampled <= calltree_total(summary->tree);
	if (!books->sampled && books->paused)
		diag_info("hint: it was paused all the time; flameprof_resume() begins");
	if (summary->is_test_clock || books->paused)
		return;
	if (is_few && summary->is_stopped)
		diag_info("hint: it is stopped, as by Ctrl-Z: kill -CONT lets it go on");
	else if (is_idle(summary))
		return;
	else if (is_few && books->due < (uint64_t)FEW_SAMPLES * summary->report->processes)
		diag_info("hint: it used the CPU for %.0f ms, too little for %" PRIu32
			  " samples per second: %s",
			cpu_s * 1e3, profile_rate_hz(summary->profile),
			!summary->is_attached ? "let it do more, or the same many times over"
			: summary_unsampled_would_show(
				  profile_rate_hz(summary->profile), cpu_s * NS_PER_S, FEW_SAMPLES)
				? "sample it for longer, or more often: -r 997"
				: "sample it for longer");
}

/* From here on, two digits round up to the next power of ten: 0.995 is printed as 1.0. */
#define ROUNDED_UP 0.995

/* The decimals that show two digits of @value: 18, 1.8, 0.018. What is counted by chance has no
 * more. */
static int decimals_for(double value)
{
	double place = value > 0 ? floor(log10(value / ROUNDED_UP)) : 0;

	return place >= 1 ? 0 : 1 - (int)place;
}

/* What is more than anybody expects of a profiler. */
#define COSTLY_PERCENT 5

/* Write a line about each runtime of the set @kinds (runtime_bit()). */
static void print_unknown(uint64_t kinds, const struct names *names)
{
	char line[512];

	for (unsigned i = 0; runtime_kind_at(i); i++) {
		if (!(kinds >> i & 1))
			continue;
		unnamed_code_runtime(line, sizeof(line), runtime_kind_at(i), names);
		diag_info("%s", line);
	}
}

/* What the sampling cost the program. */
static void print_cost(const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	const struct outside_cost *cost = &summary->cost;

	if (!summary->is_outside && percent(totals->handler_ns, totals->cpu_ns) > COSTLY_PERCENT)
		diag_info("hint: %.0f %% of the CPU time was spent taking samples: %sa lower -r "
			  "takes less",
			percent(totals->handler_ns, totals->cpu_ns),
			summary->has_events ? "--clock=tick or " : "");
	/* Where no thread had samples enough nothing was measured. */
	if (!summary->is_outside && totals->handler_ns)
		diag_verbose("%.*f %% of the CPU time was spent taking samples",
			decimals_for(percent(totals->handler_ns, totals->cpu_ns)),
			percent(totals->handler_ns, totals->cpu_ns));
	if (cost->stops)
		diag_info("held for %.1f ms in all: %" PRIu64 " %s, %.0f us each",
			(double)cost->held_ns / 1e6, cost->stops,
			plural(cost->stops, "stop", "stops"),
			(double)cost->held_ns / 1e3 / (double)cost->stops);
	if (totals->kept_native)
		diag_verbose("%" PRIu64 " %s kept native: what the language runs there did not add "
			     "up",
			totals->kept_native, plural(totals->kept_native, "sample", "samples"));
	print_unknown(totals->unknown_runtimes, &summary->profile->names);
	if (cost->fallbacks)
		diag_verbose("%" PRIu64 " %s walked by libunwind", cost->fallbacks,
			plural(cost->fallbacks, "stack", "stacks"));
}

/* What it may have changed for the program, where that is certain. */
static void print_harm(const struct summary *summary)
{
	if (!summary->is_outside && !summary->is_test_clock && kernel_config_breaks_off_calls())
		diag_info("calls that sleep may have said EINTR: this kernel was built without "
			  "CONFIG_POSIX_CPU_TIMERS_TASK_WORK");
}

void summary_print(const struct summary *summary)
{
	struct accounting books;
	bool has_waits, is_explained;

	accounting_of(summary->profile, &books);
	print_rate(summary, &books);
	has_waits = summary_waits_print(&summary->waits);
	print_machines(summary);
	print_books(summary, &books);
	summary_print_losses(profile_totals(summary->profile), summary->refusals);
	print_times(summary);
	print_replaced(summary->tree);
	sources_print_fetched(&summary->report->fetched);
	print_unnamed(summary, &books);
	sources_print(&summary->report->sources);
	is_explained = print_unsampled(summary, &books);
	print_cost(summary);
	print_drawn(summary);
	summary_print_hottest(summary->drawn, NULL);
	print_unlooked(summary, &books, has_waits);
	if (profile_totals(summary->profile)->killed_by)
		print_killed(profile_totals(summary->profile)->killed_by);
	else if (!is_explained)
		print_scarcity(summary, &books);
	print_harm(summary);
}

void summary_subtitle(const struct summary *summary, char *out, size_t size)
{
	uint64_t weight = summary->whole_weight, vm = summary->profile->vm_weight;
	uint32_t rate_hz = profile_rate_hz(summary->profile);
	double cpu_s = (double)profile_totals(summary->profile)->cpu_ns / NS_PER_S;
	double duration_s = (double)summary->duration_ns / NS_PER_S;
	uint64_t threads = count_threads(summary);
	uint32_t processes = summary->report->processes;
	uint64_t samples = summary->profile->weight, waits = summary->profile->wait_weight;
	char shown[128], other[96] = "", waited[48] = "";

	if (summary->shows_machines) {
		snprintf(shown, sizeof(shown), "%.2f s told by virtual machines",
			(double)weight / rate_hz);
		snprintf(other, sizeof(other), "; besides, %.2f s of CPU", cpu_s);
	} else {
		/* Nobody took a sample of time that was waited. */
		if (waits && weight != samples)
			snprintf(waited, sizeof(waited), ", and %.2f s of waiting",
				(double)waits / rate_hz);
		snprintf(shown, sizeof(shown), "%" PRIu64 " %s at %" PRIu32 " Hz, %.2f s of CPU%s",
			samples, plural(samples, "sample", "samples"), rate_hz, cpu_s, waited);
		if (vm)
			snprintf(other, sizeof(other),
				"; besides, %.2f s told by virtual machines "
				"(--sample-type " PPROF_MACHINE_TIME ")",
				(double)vm / rate_hz);
	}
	snprintf(out, size, "%s in %.2f s, %" PRIu64 " %s, %" PRIu32 " %s%s", shown, duration_s,
		threads, plural(threads, "thread", "threads"), processes,
		plural(processes, "process", "processes"), other);
}
