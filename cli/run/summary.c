/* SPDX-License-Identifier: MIT */
/*
 * Print the summary of a run. All numbers are counted by flamerun or read from the kernel. Messages
 * about losses are in libprof/wire_counters.def, messages about other causes in cli/explain.def.
 *
 * The balance (due = sampled + credited + exec + exit + dropped + torn + paused) checks the
 * profiler, not the program. It is printed with -v, or if both sides differ by more than chance. A
 * reason for time without samples is printed only if it was observed: by the collector in /proc, by
 * the library in its process, or by the accounting at the end.
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

#include "cli/clock.h"
#include "cli/diag.h"
#include "cli/explain.h"
#include "cli/gather/pipe_reader.h"
#include "cli/kernel_config.h"
#include "cli/profile/accounting.h"
#include "cli/profile/picture_names.h"
#include "cli/run/unnamed_code.h"
#include "libprof/pprof/protobuf.h"
#include "libprof/runtime/runtime.h"
#include "render/label.h"
#include "render/ranking.h"

/* ---- the last lines -------------------------------------------------------------------------- */

/* By default a run without an error prints at most this many lines, unless losses need more. */
#define LINES	    8
#define HOTTEST_MIN 3
#define HOTTEST_MAX 5
#define NS_PER_S    1e9

#define BALANCE_SHARE	0.02
#define BALANCE_SIGMA	4.0
#define BALANCE_SAMPLES 8.0

/* If unknown processes used more than this share of the CPU time, report unseen programs. */
#define UNSEEN_SHARE 0.1

/* A run mostly waited if its CPU time is a smaller share of its elapsed time than this. */
#define IDLE_SHARE 0.1

/* Incomplete stacks are reported from this percentage on. */
#define INCOMPLETE_PERCENT 1.0

/* Samples. With fewer samples, shares are a matter of chance. */
#define FEW_SAMPLES 20

/* Limit @part to @whole, because it may be an estimate, or a wrong value that a program wrote. */
static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)(part < whole ? part : whole) / (double)whole : 0.0;
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* Returns the number of threads. A thread that execs is counted twice, so subtract execs. */
static uint64_t count_threads(const struct summary *summary)
{
	uint64_t threads = profile_totals(summary->profile)->counts.threads;
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
	char system[48] = "";

	special_weights_of(summary->whole, &special);
	kernel = special.kernel;
	if (kernel)
		snprintf(system, sizeof(system), " (%.2f s in %s)",
			(double)kernel / profile_rate_hz(summary->profile),
			special.kernel_functions ? "the kernel" : "system calls");
	diag_info("%" PRIu64 " %s in %.2f s, %.2f s of CPU time%s; %" PRIu64 " %s, %" PRIu32 " %s",
		books->sampled, plural(books->sampled, "sample", "samples"),
		(double)summary->duration_ns / NS_PER_S, cpu_s, system, threads,
		plural(threads, "thread", "threads"), processes,
		plural(processes, "process", "processes"));
	diag_verbose("%.0f samples per second of CPU time",
		cpu_s > 0 ? (double)books->sampled / cpu_s : 0.0);
}

/* Print the time that virtual machines reported. It is elapsed time, so the balance omits it. */
static void print_machines(const struct summary *summary)
{
	uint64_t vm = summary->profile->vm_weight;

	if (vm)
		diag_info("%.2f s of elapsed time in stacks that virtual machines reported: %s",
			(double)vm / profile_rate_hz(summary->profile),
			summary->shows_machines ? "the picture shows these"
						: "--sample-type " PPROF_MACHINE_TIME
						  " draws them");
}

/*
 * Does the balance hold, as far as random sampling allows? The limit is the largest of four
 * standard deviations, a share of the due samples, and a few samples, because each thread that ends
 * loses a part of a sample.
 */
static bool is_balanced(const struct accounting *books)
{
	double off = (double)accounting_total(books) - (double)books->due;
	double due = (double)books->due;

	return fabs(off) <=
	       fmax(BALANCE_SAMPLES, fmax(BALANCE_SHARE * due, BALANCE_SIGMA * sqrt(due)));
}

/* Print the balance with -v, or if it does not hold. */
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

/* ---- losses ---------------------------------------------------------------------------------- */

/* Bytes. One line with several losses is not longer than this. */
#define LOSSES_BYTES 1024

/*
 * By default all losses share one line, and one hint: that of the first loss that has a hint. With
 * -v each loss has its own line, followed by its hint.
 */
struct losses {
	char text[LOSSES_BYTES];    /* "A; B; C", not printed yet */
	char hint[DIAG_TEXT_BYTES]; /* "": none */
};

/* Print the hint of the previous lines, unless the next line has the same hint, @next. */
static void change_hint(struct losses *losses, const char *next)
{
	if (losses->hint[0] && strcmp(losses->hint, next))
		diag_info("hint: %s", losses->hint);
	snprintf(losses->hint, sizeof(losses->hint), "%s", next);
}

/* Add a loss. @hint may be NULL or "". */
static void losses_add(struct losses *losses, const char *message, const char *hint)
{
	size_t used = strlen(losses->text);

	hint = hint ? hint : "";
	if (diag_wants(DIAG_VERBOSE)) {
		change_hint(losses, hint);
		diag_info("%s", message);
		return;
	}
	if (used && used + strlen(message) + 3 > LOSSES_BYTES) {
		diag_info("%s", losses->text);
		used = 0;
	}
	snprintf(losses->text + used, LOSSES_BYTES - used, "%s%s", used ? "; " : "", message);
	if (!losses->hint[0])
		snprintf(losses->hint, sizeof(losses->hint), "%s", hint);
}

static void losses_explain(
	struct losses *losses, enum explanation cause, const struct explain_facts *facts)
{
	struct diag_message message = {.text = ""};

	explain(&message, 0, cause, facts);
	losses_add(losses, message.text, message.hint);
}

static void losses_print(struct losses *losses)
{
	if (losses->text[0])
		diag_info("%s", losses->text);
	change_hint(losses, "");
}

static const struct loss {
	size_t counter; /* offset in struct wire_counters */
	const char *message, *hint;
} counted[] = {
#define LOSS(field, message, hint)	{offsetof(struct wire_counters, field), message, hint},
#define COUNTER(name, message, hint)	LOSS(name, message, hint)
#define QUIT(name, message, hint)	LOSS(quit[WIRE_QUIT_##name], message, hint)
#define UNPROFILED(name, message, hint) LOSS(unprofiled[WIRE_UNPROFILED_##name], message, hint)
#include "libprof/wire_counters.def"
};

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

static void add_counted(struct losses *losses, const struct profile_totals *totals)
{
	char line[DIAG_TEXT_BYTES], reason[DIAG_TEXT_BYTES];
	struct explain_facts facts = {.why = reason};

	timer_reason(totals, reason, sizeof(reason));
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		const struct loss *loss = &counted[i];

		memcpy(&facts.n, (const char *)&totals->counts + loss->counter, sizeof(facts.n));
		if (!loss->message || !facts.n)
			continue;
		explain_expand(line, sizeof(line), loss->message, &facts);
		losses_add(losses, line, loss->hint);
	}
}

/* @greenlets: weight of stacks that are no loss, see naming_report */
static void add_losses(
	struct losses *losses, const struct profile_totals *totals, uint64_t greenlets)
{
	const struct wire_counters *counts = &totals->counts;
	uint64_t sampled = 0, due, whole = counts->ends[WIRE_END_ROOT] + greenlets;
	char line[DIAG_TEXT_BYTES];
	double incomplete;

	for (int end = 0; end < WIRE_END_COUNT; end++)
		sampled += counts->ends[end];
	due = sampled + counts->credited + counts->dropped + counts->torn + counts->paused;
	if (counts->paused) {
		snprintf(line, sizeof(line), "%.1f %% left out while paused",
			percent(counts->paused, due));
		losses_add(losses, line, NULL);
	}
	/* Do not add deferred weight: a later sample or counts->credited includes it. */
	if (percent(counts->throttled, due) >= 1)
		losses_explain(losses, EXPLAIN_DEFERRED,
			FACTS(.percent = percent(counts->throttled, due)));
	add_counted(losses, totals);
	incomplete = sampled ? 100.0 - percent(whole, sampled) : 0;
	if (incomplete >= INCOMPLETE_PERCENT) {
		snprintf(line, sizeof(line), "%.1f %% of stacks are incomplete", incomplete);
		losses_add(losses, line, NULL);
	}
	if (whole < sampled)
		diag_verbose("incomplete stacks: %" PRIu64 " deeper than %u frames, %" PRIu64
			     " whose caller was not found, %" PRIu64 " of unreadable memory",
			counts->ends[WIRE_END_DEPTH], WIRE_MAX_DEPTH, counts->ends[WIRE_END_LOST],
			counts->ends[WIRE_END_MEMORY]);
}

static void print_refusals(const struct pipe_reader_refusal *refusals)
{
	for (int i = 0; i < PIPE_READER_REFUSALS && refusals[i].programs; i++)
		explain_print(refusals[i].by_stops ? EXPLAIN_BY_STOPS : EXPLAIN_NOT_OUTSIDE,
			FACTS(.n = refusals[i].programs, .why = refusals[i].text));
}

void summary_print_losses(
	const struct profile_totals *totals, const struct pipe_reader_refusal *refusals)
{
	struct losses losses = {.text = ""};

	add_losses(&losses, totals, 0);
	losses_print(&losses);
	print_refusals(refusals);
}

void summary_times(const struct flameprof_profile *profile, char *out, size_t size)
{
	uint64_t untimed = profile->totals.counts.untimed, ms = profile->stretch_ns / 1000000;

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

static void print_times(const struct summary *summary)
{
	char times[SUMMARY_TIMES_BYTES];

	summary_times(summary->profile, times, sizeof(times));
	if (times[0])
		diag_verbose("%s", times);
}

/*
 * If only a part of the samples is drawn, print how large that part is. Waits and the time of
 * virtual machines are not samples, so print seconds if the picture has them.
 */
static void print_drawn(const struct summary *summary)
{
	uint64_t drawn = calltree_total(summary->drawn), whole = summary->whole_weight;
	double rate_hz = profile_rate_hz(summary->profile);
	char drawn_text[32], whole_text[32];

	if (drawn >= whole)
		return;
	if (whole != summary->profile->weight) {
		diag_info("drawn: %.2f s of %.2f s (%.1f %%)", (double)drawn / rate_hz,
			(double)whole / rate_hz, percent(drawn, whole));
		return;
	}
	count_text(drawn_text, sizeof(drawn_text), drawn);
	count_text(whole_text, sizeof(whole_text), whole);
	diag_info("drawn: %s of %s %s (%.1f %%)", drawn_text, whole_text,
		plural(whole, "sample", "samples"), percent(drawn, whole));
}

/*
 * Is @frame a function of an interpreted or JIT-compiled language, not native code? By default the
 * self time of such a function includes native code that it calls. --native shows that code
 * separately.
 */
static bool is_of_language(const struct calltree_frame *frame)
{
	return frame->kind == CALLTREE_JIT || machine_name_is_of(frame);
}

void summary_print_hottest(const struct calltree *tree, const struct spread *spread,
	bool shows_native, unsigned lines_before)
{
	struct spread_shares shares;
	struct ranking ranking;
	struct ranking_rows hot = {.count = 0};
	unsigned rows = HOTTEST_MAX;
	bool in_languages = !shows_native && !spread, has_language = false;

	/* Two more lines are printed: the first one here, and one that names the written file. */
	if (lines_before + 2 + rows > LINES)
		rows = lines_before + 2 + HOTTEST_MIN < LINES ? LINES - lines_before - 2
							      : HOTTEST_MIN;
	if (ranking_init(&ranking, tree))
		return;
	if (in_languages)
		ranking_of_languages(&ranking, is_of_language, &hot);
	else
		ranking_of(&ranking, CALLTREE_ROOT, &hot);
	for (uint32_t i = 0; in_languages && i < rows && i < hot.count; i++)
		has_language |= is_of_language(ranking_frame(&ranking, hot.at[i].function));
	if (hot.count && hot.at[0].self)
		diag_info("hottest functions by self time%s:",
			spread && spread_runs(spread) > 1 ? ", and how runs differ"
			: has_language			  ? ", with the native code that they call"
							  : "");
	for (uint32_t i = 0; i < rows && i < hot.count && hot.at[i].self; i++) {
		const struct calltree_frame *frame = ranking_frame(&ranking, hot.at[i].function);
		char module[PICTURE_NAMES_MODULE_BYTES], differ[32] = "";

		if (spread && spread_find(spread, frame, &shares))
			snprintf(differ, sizeof(differ), " \u00b1 %.1f", 100 * shares.self);
		diag_info("  %5.1f %%%s  %.160s%s", percent(hot.at[i].self, calltree_total(tree)),
			differ, frame->name,
			machine_name_is_of(frame) ? "" : module_text(module, frame));
	}
	free(hot.at);
	ranking_release(&ranking);
}

/*
 * Report the weight of samples that have code of a replaced file on their stack, and name the file.
 */
static void add_replaced(struct losses *losses, const struct calltree *tree)
{
	bool *is_inside = calloc((size_t)calltree_nodes(tree) + 1, sizeof(*is_inside));
	const char *file = NULL;
	char name[256];
	size_t bytes;
	uint64_t weight = 0;

	for (uint32_t i = 1; is_inside && i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const char *found =
			replaced_name_file(calltree_frame_at(tree, node->frame)->name, &bytes);

		if (found && !file) {
			file = found;
			snprintf(name, sizeof(name), "%.*s", (int)bytes, found);
		}
		is_inside[i] = is_inside[node->parent] || found;
		weight += is_inside[i] ? node->self : 0;
	}
	if (file)
		losses_explain(losses, EXPLAIN_REPLACED, FACTS(.n = weight, .name = name));
	free(is_inside);
}

/* Returns the self weight of unnamed functions below functions of interpreted or JIT languages. */
static uint64_t unnamed_below_languages(const struct calltree *tree)
{
	bool *is_below = calloc((size_t)calltree_nodes(tree) + 1, sizeof(*is_below));
	uint64_t weight = 0;

	for (uint32_t i = 1; is_below && i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);
		const struct calltree_frame *frame = calltree_frame_at(tree, node->frame);

		is_below[i] = is_below[node->parent] || is_of_language(frame);
		if (is_below[i] && frame->kind == CALLTREE_UNNAMED)
			weight += node->self;
	}
	free(is_below);
	return weight;
}

static void print_unnamed(const struct summary *summary, const struct accounting *books)
{
	struct unnamed_code unnamed_code = {0};
	struct special_weights special;
	double unnamed;

	if (!books->sampled)
		return;
	special_weights_of(summary->tree, &special);
	unnamed = percent(
		special.unnamed -
			(summary->shows_native ? 0 : unnamed_below_languages(summary->tree)),
		calltree_total(summary->tree));
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

/* ---- CPU time without samples ---------------------------------------------------------------- */

/* Report unsampled time from this share of CPU time, and a cause from this share of that time. */
#define REPORTED_SHARE 0.1
/* Samples needed to report unsampled time: without a known reason, and with one. */
#define UNEXPLAINED_OF 100
#define EXPLAINED_OF   20

static const struct {
	const char *message, *hint;
} unsampled_causes[WIRE_UNSAMPLED_CAUSES] = {
#define UNSAMPLED(name, message, hint) [WIRE_UNSAMPLED_##name] = {message, hint},
#include "libprof/wire_counters.def"
};

struct reasons {
	char text[DIAG_TEXT_BYTES]; /* ": " and the reasons; "" if there are none */
	double s;		    /* CPU time that @text explains */
	const char *hint;
};

/* Would the rate EXPLAIN_HIGHER_HZ exceed the run's rate, and give @samples in @cpu_ns? */
static bool would_show(const struct summary *summary, double cpu_ns, unsigned samples)
{
	return profile_rate_hz(summary->profile) < EXPLAIN_HIGHER_HZ &&
	       cpu_ns * EXPLAIN_HIGHER_HZ >= samples * NS_PER_S;
}

/*
 * Returns a text about threads that the tracer must stop to sample them, because it does not stop
 * them in system calls. "" if there are no such threads.
 */
static const char *in_calls(const struct summary *summary)
{
	for (int i = 0; i < PIPE_READER_REFUSALS && summary->refusals[i].programs; i++)
		if (summary->refusals[i].by_stops)
			return "in system calls of threads without timers, or ";
	return "";
}

static void add_reason(
	struct reasons *reasons, const struct summary *summary, enum wire_unsampled cause, double s)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	bool is_short = cause == WIRE_UNSAMPLED_SHORT;
	uint64_t lives = totals->short_lives ? totals->short_lives : 1;
	double short_ns = s * NS_PER_S / (double)lives;
	size_t used = strlen(reasons->text);
	char ms[32], message[DIAG_TEXT_BYTES];

	if (!unsampled_causes[cause].message)
		return;
	snprintf(ms, sizeof(ms), "%.*f", is_short ? 2 : 0,
		(is_short ? short_ns : (double)clock_tick_ns()) / 1e6);
	explain_expand(message, sizeof(message), unsampled_causes[cause].message,
		FACTS(.n = is_short ? lives : totals->signal, .other = ms,
			.why = in_calls(summary)));
	if (used + strlen(message) + 32 > sizeof(reasons->text))
		return;
	snprintf(reasons->text + used, sizeof(reasons->text) - used, "%s %.2f s %s",
		used ? "," : ":", s, message);
	reasons->s += s;
	if (!reasons->hint && (!is_short || would_show(summary, short_ns, 1)))
		reasons->hint = unsampled_causes[cause].hint;
}

/* Can @cause end the samples of a thread that had samples before? */
static bool is_of_signals(int cause)
{
	return cause >= WIRE_UNSAMPLED_BLOCKED && cause <= WIRE_UNSAMPLED_TURNS;
}

/*
 * Add the causes that explain at least a tenth of @s seconds; none if together they explain less
 * than half. Limit their sum to @s, because programs of the run can report any number. @is_box: the
 * time is in no stack, so all causes are possible. Otherwise only causes that end a thread's
 * samples are possible.
 */
static void find_reasons(
	struct reasons *reasons, const struct summary *summary, double s, bool is_box)
{
	const struct profile_totals *totals = profile_totals(summary->profile);

	for (int cause = 1; cause < WIRE_UNSAMPLED_CAUSES; cause++) {
		double of_cause = (double)totals->unsampled_ns[cause] / NS_PER_S;

		if (of_cause > s - reasons->s)
			of_cause = s - reasons->s;
		if (of_cause > 0 && of_cause >= REPORTED_SHARE * s &&
			(is_box || is_of_signals(cause)))
			add_reason(reasons, summary, (enum wire_unsampled)cause, of_cause);
	}
	if (reasons->s < s / 2)
		*reasons = (struct reasons){.s = 0};
}

/*
 * Returns the seconds of CPU time that unknown processes used; 0 if a reported loss explains them.
 */
static double unseen_s(const struct summary *summary, const struct accounting *books)
{
	const struct wire_counters *counts = &profile_totals(summary->profile)->counts;
	double due = (double)books->due, accounted = (double)accounting_total(books);

	if (summary->is_outside || summary->is_test_clock || books->paused || is_balanced(books) ||
		accounted >= (1.0 - UNSEEN_SHARE) * due || counts->ringless_threads ||
		counts->timerless_threads || counts->quit[WIRE_QUIT_TIMERS] ||
		counts->lost_processes || counts->malformed || counts->damaged_streams)
		return 0;
	return (due - accounted) / profile_rate_hz(summary->profile);
}

/*
 * Add the reasons that are possible if a tracer samples: CPU time that was used before the tracer's
 * first read of a thread, or by threads without timers.
 */
static bool add_unsampled_outside(
	struct losses *losses, const struct summary *summary, double share)
{
	uint64_t threads = count_threads(summary);
	double cpu_ns = (double)profile_totals(summary->profile)->cpu_ns;

	if (calltree_total(summary->tree) < UNEXPLAINED_OF)
		return false;
	losses_explain(losses,
		threads > 2ULL * summary->report->processes &&
				would_show(summary, cpu_ns / (double)threads, 1)
			? EXPLAIN_UNSAMPLED_OUTSIDE_SHORT
			: EXPLAIN_UNSAMPLED_OUTSIDE,
		FACTS(.percent = 100 * share, .why = in_calls(summary)));
	return true;
}

/*
 * Add to @losses how much of the CPU time has no samples, if it is at least a tenth, and the
 * reasons if they explain half of it. The picture shows this time as [unsampled] or adds it to
 * threads' last stacks, or does not contain it. Returns true if reasons were added.
 */
static bool add_unsampled(
	struct losses *losses, const struct summary *summary, const struct accounting *books)
{
	uint64_t drawn = calltree_total(summary->tree), boxed, on_last;
	double unseen = unseen_s(summary, books), share, part;
	struct reasons reasons = {.s = 0};
	struct diag_message message = {.text = ""};
	struct special_weights special;
	bool is_box;

	special_weights_of(summary->tree, &special);
	boxed = special.unsampled;
	on_last = books->credited > boxed ? books->credited - boxed : 0;
	is_box = drawn && (double)boxed >= REPORTED_SHARE * (double)drawn;
	share = drawn ? (double)(is_box ? boxed : on_last) / (double)drawn : 0;
	if (is_box && summary->is_outside)
		return add_unsampled_outside(losses, summary, share);
	part = share * (double)drawn / profile_rate_hz(summary->profile);
	if (unseen > part) {
		find_reasons(&reasons, summary, unseen, true);
		explain(&message, 0, EXPLAIN_UNSEEN, FACTS(.seconds = unseen, .why = reasons.text));
	} else {
		find_reasons(&reasons, summary, part, is_box);
		if (share < REPORTED_SHARE ||
			drawn < (reasons.s > 0 ? EXPLAINED_OF : UNEXPLAINED_OF) ||
			(!is_box && reasons.s <= 0))
			return false;
		explain(&message, 0, is_box ? EXPLAIN_UNSAMPLED : EXPLAIN_LAST_STACKS,
			FACTS(.percent = 100 * share, .why = reasons.text));
	}
	losses_add(losses, message.text, reasons.hint);
	return reasons.s > 0;
}

/* ---- too few samples ------------------------------------------------------------------------- */

/* Did the run mostly wait? */
static bool is_idle(const struct summary *summary)
{
	return (double)profile_totals(summary->profile)->cpu_ns <
	       IDLE_SHARE * (double)summary->duration_ns;
}

/* If the run mostly waited, and no waits were recorded, print that. */
static void print_idle(
	const struct summary *summary, const struct accounting *books, bool has_waits)
{
	char ms[32];

	snprintf(ms, sizeof(ms), "%.0f", (double)profile_totals(summary->profile)->cpu_ns / 1e6);
	if (is_idle(summary) && !has_waits && !summary->is_test_clock && !books->paused)
		explain_print(EXPLAIN_IDLE,
			FACTS(.other = ms, .seconds = (double)summary->duration_ns / NS_PER_S));
}

/* Print that the program was killed by the sampling signal, which it got because of flamerun. */
static void print_killed(uint32_t signal)
{
	explain_print(EXPLAIN_KILLED, FACTS(.n = signal, .name = strsignal((int)signal)));
}

static void print_scarcity(const struct summary *summary, const struct accounting *books)
{
	double cpu_ns = (double)profile_totals(summary->profile)->cpu_ns;
	struct special_weights special;
	bool is_few;
	char ms[32];

	special_weights_of(summary->tree, &special);
	is_few = books->sampled < FEW_SAMPLES &&
		 2 * special.unsampled <= calltree_total(summary->tree);
	if (!books->sampled && books->paused)
		explain_print(EXPLAIN_ALL_PAUSED, FACTS());
	if (summary->is_test_clock || books->paused || !is_few)
		return;
	snprintf(ms, sizeof(ms), "%.0f", cpu_ns / 1e6);
	if (summary->is_stopped)
		explain_print(EXPLAIN_STOPPED, FACTS());
	else if (!is_idle(summary) &&
		 books->due < (uint64_t)FEW_SAMPLES * summary->report->processes)
		explain_print(!summary->is_attached			 ? EXPLAIN_TOO_LITTLE
			      : would_show(summary, cpu_ns, FEW_SAMPLES) ? EXPLAIN_TOO_RARE
									 : EXPLAIN_TOO_BRIEF,
			FACTS(.other = ms, .n = profile_rate_hz(summary->profile)));
}

/* The cost of sampling is reported above this percentage of the CPU time. */
#define COSTLY_PERCENT 5

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

static void print_cost(const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	const struct wire_counters *counts = &totals->counts;
	double spent = percent(counts->handler_ns, totals->cpu_ns);

	/* handler_ns is 0 if no thread had enough samples to time its signal handler. */
	if (!summary->is_outside && counts->handler_ns) {
		if (spent > COSTLY_PERCENT)
			explain_print(summary->has_events ? EXPLAIN_COSTLY_EVENTS : EXPLAIN_COSTLY,
				FACTS(.percent = spent));
		diag_verbose("%.2g %% of the CPU time was spent taking samples", spent);
	}
	if (counts->stops)
		diag_verbose("threads were stopped for %.1f ms in all: %" PRIu64
			     " %s, %.0f us each",
			(double)counts->held_ns / 1e6, counts->stops,
			plural(counts->stops, "stop", "stops"),
			(double)counts->held_ns / 1e3 / (double)counts->stops);
	if (counts->kept_native)
		diag_verbose("%" PRIu64 " %s without the language's functions: its frames were "
			     "inconsistent",
			counts->kept_native, plural(counts->kept_native, "sample", "samples"));
	if (counts->fallbacks)
		diag_verbose("%" PRIu64 " %s walked by libunwind", counts->fallbacks,
			plural(counts->fallbacks, "stack", "stacks"));
}

/* On kernels whose timers interrupt system calls, print that sampling may have done so. */
static void print_harm(const struct summary *summary)
{
	if (!summary->is_outside && !summary->is_test_clock && kernel_config_breaks_off_calls())
		explain_print(EXPLAIN_INTERRUPTED, FACTS());
}

void summary_print(const struct summary *summary)
{
	const struct profile_totals *totals = profile_totals(summary->profile);
	unsigned lines = diag_lines();
	struct losses losses = {.text = ""};
	struct accounting books;
	bool has_waits, is_explained;

	accounting_of(summary->profile, &books);
	print_rate(summary, &books);
	has_waits = summary_waits_print(&summary->waits);
	print_machines(summary);
	print_books(summary, &books);
	add_losses(&losses, totals, summary->report->whole_greenlets);
	add_replaced(&losses, summary->tree);
	is_explained = add_unsampled(&losses, summary, &books);
	losses_print(&losses);
	print_refusals(summary->refusals);
	print_times(summary);
	sources_print_fetched(&summary->report->fetched);
	print_unnamed(summary, &books);
	print_unknown(totals->unknown_runtimes, &summary->profile->names);
	sources_print(&summary->report->sources);
	print_cost(summary);
	print_drawn(summary);
	summary_print_hottest(summary->drawn, NULL, summary->shows_native, diag_lines() - lines);
	print_idle(summary, &books, has_waits);
	if (totals->killed_by)
		print_killed(totals->killed_by);
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
		snprintf(shown, sizeof(shown), "%.2f s reported by virtual machines",
			(double)weight / rate_hz);
		snprintf(other, sizeof(other), "; also %.2f s of CPU", cpu_s);
	} else {
		/* Waits are not samples, so print them in seconds. */
		if (waits && weight != samples)
			snprintf(waited, sizeof(waited), ", and %.2f s of waiting",
				(double)waits / rate_hz);
		snprintf(shown, sizeof(shown), "%" PRIu64 " %s at %" PRIu32 " Hz, %.2f s of CPU%s",
			samples, plural(samples, "sample", "samples"), rate_hz, cpu_s, waited);
		if (vm)
			snprintf(other, sizeof(other),
				"; also %.2f s reported by virtual machines "
				"(--sample-type " PPROF_MACHINE_TIME ")",
				(double)vm / rate_hz);
	}
	snprintf(out, size, "%s in %.2f s, %" PRIu64 " %s, %" PRIu32 " %s%s", shown, duration_s,
		threads, plural(threads, "thread", "threads"), processes,
		plural(processes, "process", "processes"), other);
}
