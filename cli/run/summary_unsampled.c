/* SPDX-License-Identifier: MIT */
/*
 * A reason is given only if it was seen: by the collector in /proc, by the library in its process,
 * or in the accounting at the end. Shares without a known reason are printed alone.
 */
#include "cli/run/summary_unsampled.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli/clock.h"
#include "cli/diag.h"

#define NS_PER_S 1e9

/* Smaller parts are not reported: of all CPU time, or of what was not sampled. */
#define SPOKEN_OF 0.1
/* With fewer samples a share may be chance: one without a known reason, and one with it. */
#define UNEXPLAINED_OF 100
#define EXPLAINED_OF   20

struct reasons {
	char text[DIAG_TEXT_BYTES];
	size_t used;
	double s;	    /* CPU time that they explain */
	bool outside_helps; /* sampling by ptrace has none of these problems */
	bool events_help;   /* perf events do not wait for the kernel's tick */
	double short_ns;    /* mean CPU time of lives that were too short; 0: none */
};

bool summary_unsampled_would_show(uint32_t rate_hz, double cpu_ns, unsigned samples)
{
	return rate_hz < SUMMARY_HIGHER_HZ && cpu_ns * SUMMARY_HIGHER_HZ >= samples * NS_PER_S;
}

__attribute__((format(printf, 3, 4))) static void add_reason(
	struct reasons *reasons, double s, const char *format, ...)
{
	size_t room = sizeof(reasons->text) - reasons->used;
	va_list list;
	int bytes;

	bytes = snprintf(
		reasons->text + reasons->used, room, "%s%.2f s ", reasons->used ? ", " : "", s);
	if (bytes < 0 || (size_t)bytes >= room)
		return;
	va_start(list, format);
	bytes += vsnprintf(
		reasons->text + reasons->used + bytes, room - (size_t)bytes, format, list);
	va_end(list);
	if ((size_t)bytes >= room) {
		reasons->text[reasons->used] = '\0';
		return;
	}
	reasons->used += (size_t)bytes;
	reasons->s += s;
}

/* Add @cause as the reason for @s seconds. */
static void add_cause(struct reasons *reasons, enum wire_unsampled cause, double s,
	const struct profile_totals *totals)
{
	uint64_t lives = totals->short_lives ? totals->short_lives : 1;

	switch (cause) {
	case WIRE_UNSAMPLED_UNANNOUNCED:
		add_reason(reasons, s, "by threads that pthread_create() did not make");
		break;
	case WIRE_UNSAMPLED_BLOCKED:
		add_reason(reasons, s,
			"while signal %" PRIu32 " was blocked, by a system call of the program's "
			"own",
			totals->signal);
		break;
	case WIRE_UNSAMPLED_IGNORED:
		add_reason(reasons, s,
			"while signal %" PRIu32 " was ignored, by a system call of the program's "
			"own",
			totals->signal);
		break;
	case WIRE_UNSAMPLED_HANDLED:
		add_reason(reasons, s,
			"while signal %" PRIu32 " had another handler, by a system call of the "
			"program's own",
			totals->signal);
		break;
	case WIRE_UNSAMPLED_TURNS:
		add_reason(reasons, s,
			"by threads that ran for less than half of the kernel's tick of %.0f ms "
			"at a time: the kernel checks timers at its ticks",
			(double)clock_tick_ns() / 1e6);
		break;
	case WIRE_UNSAMPLED_SHORT:
		reasons->short_ns = s * NS_PER_S / (double)lives;
		add_reason(reasons, s,
			"by %" PRIu64 " thread%s or process%s that ended before a sample was due, "
			"after %.2f ms%s",
			totals->short_lives, lives == 1 ? "" : "s", lives == 1 ? "" : "es",
			reasons->short_ns / 1e6, lives == 1 ? "" : " each");
		break;
	case WIRE_UNSAMPLED_BEGINNING:
		add_reason(reasons, s,
			"by programs without flamerun's library, before they were sampled "
			"from outside");
		break;
	case WIRE_UNSAMPLED_REFUSED:
		add_reason(reasons, s,
			"by programs without flamerun's library that may not be traced");
		break;
	default:
		return;
	}
	reasons->outside_helps |=
		cause >= WIRE_UNSAMPLED_UNANNOUNCED && cause <= WIRE_UNSAMPLED_HANDLED;
	reasons->events_help |= cause == WIRE_UNSAMPLED_TURNS;
}

/* Can @cause keep samples from threads that have had some? */
static bool is_of_signals(int cause)
{
	return cause >= WIRE_UNSAMPLED_BLOCKED && cause <= WIRE_UNSAMPLED_TURNS;
}

/*
 * Find the causes that explain at least a tenth of @s. Together they explain at most @s, because
 * programs of the run may have reported more. @is_box: the time is in no stack, so any cause is
 * possible.
 */
static void find_reasons(
	struct reasons *reasons, const struct profile_totals *totals, double s, bool is_box)
{
	for (int cause = 1; cause < WIRE_UNSAMPLED_CAUSES; cause++) {
		double of_cause = (double)totals->unsampled_ns[cause] / NS_PER_S;

		if (of_cause > s - reasons->s)
			of_cause = s - reasons->s;
		if (of_cause > 0 && of_cause >= SPOKEN_OF * s && (is_box || is_of_signals(cause)))
			add_cause(reasons, (enum wire_unsampled)cause, of_cause, totals);
	}
}

static void print_hints(const struct summary_unsampled *unsampled, const struct reasons *reasons)
{
	if (reasons->outside_helps)
		diag_info("hint: --outside samples such programs");
	else if (reasons->events_help)
		diag_info("hint: perf events do not wait for the tick: --clock=perf -r %u",
			SUMMARY_HIGHER_HZ);
	else if (reasons->short_ns > 0 &&
		 summary_unsampled_would_show(unsampled->rate_hz, reasons->short_ns, 1))
		diag_info("hint: a higher rate leaves less of it: -r %u", SUMMARY_HIGHER_HZ);
}

/* From outside there is one reason: time that a thread or process used before the first look. */
static bool print_outside(const struct summary_unsampled *unsampled, double percent)
{
	double cpu_ns = (double)unsampled->totals->cpu_ns;

	if (unsampled->drawn < UNEXPLAINED_OF)
		return false;
	diag_info("%.1f %% is [unsampled]: used by threads and processes before they were looked "
		  "at, or by those that were over by then",
		percent);
	if (unsampled->threads > 2ULL * unsampled->processes &&
		summary_unsampled_would_show(
			unsampled->rate_hz, cpu_ns / (double)unsampled->threads, 1))
		diag_info("hint: a higher rate leaves less of it: -r %u", SUMMARY_HIGHER_HZ);
	return true;
}

bool summary_unsampled_print(const struct summary_unsampled *unsampled)
{
	uint64_t drawn = unsampled->drawn, credited = unsampled->credited;
	uint64_t on_last = credited > unsampled->unsampled ? credited - unsampled->unsampled : 0;
	double part, share = drawn ? (double)unsampled->unsampled / (double)drawn : 0;
	struct reasons reasons = {.used = 0};
	bool is_box = share >= SPOKEN_OF;

	if (is_box && unsampled->is_outside)
		return print_outside(unsampled, 100 * share);
	if (!is_box && drawn)
		share = (double)on_last / (double)drawn;
	part = share * (double)drawn / unsampled->rate_hz;
	if (unsampled->unseen_s > part) {
		part = unsampled->unseen_s;
		is_box = true;
	}
	find_reasons(&reasons, unsampled->totals, part, is_box);
	if (reasons.s < part / 2)
		reasons.used = 0;
	if (unsampled->unseen_s >= part && part > 0)
		diag_info("%.2f s of CPU time are in no sample%s%s", part, reasons.used ? ": " : "",
			reasons.used ? reasons.text : "");
	else if (share < SPOKEN_OF || drawn < (reasons.used ? EXPLAINED_OF : UNEXPLAINED_OF))
		return false;
	else if (is_box)
		diag_info("%.1f %% is [unsampled]%s%s", 100 * share, reasons.used ? ": " : "",
			reasons.used ? reasons.text : "");
	else if (reasons.used)
		diag_info("%.1f %% stands on the last stack of each thread, where no sample was "
			  "taken: %s",
			100 * share, reasons.text);
	if (reasons.used)
		print_hints(unsampled, &reasons);
	return reasons.used != 0;
}
