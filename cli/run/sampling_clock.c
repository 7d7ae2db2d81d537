/* SPDX-License-Identifier: MIT */
/*
 * Which clock samples a run, and why not the other.
 */
#include "cli/run/sampling_clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/gather/perf_events.h"
#include "cli/options.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

enum clock_word { CLOCK_WORD_AUTO, CLOCK_WORD_TICK, CLOCK_WORD_PERF };

const char *const *sampling_clock_names(void)
{
	static const char *const names[] = {
		[CLOCK_WORD_AUTO] = "auto",
		[CLOCK_WORD_TICK] = "tick",
		[CLOCK_WORD_PERF] = "perf",
		NULL,
	};

	return names;
}

static enum clock_word word_of(const char *name)
{
	const char *const *names = sampling_clock_names();
	int word = 0;

	while (names[word] && strcmp(names[word], name))
		word++;
	return names[word] ? (enum clock_word)word : CLOCK_WORD_AUTO;
}

/* The level above which the kernel refuses events of one's own in user mode is 2. */
#define PARANOID_ALLOWS 2

static int read_paranoid(void)
{
	FILE *file = fopen(PARANOID, "re");
	int level = PARANOID_ALLOWS;

	if (file && fscanf(file, "%d", &level) != 1)
		level = PARANOID_ALLOWS;
	if (file)
		fclose(file);
	return level;
}

static void refusal_text(int error, char *text, size_t size)
{
	int level = read_paranoid();

	if ((error == -EACCES || error == -EPERM) && level > PARANOID_ALLOWS)
		snprintf(text, size, "kernel.perf_event_paranoid is %d", level);
	else if (error == -EACCES || error == -EPERM)
		snprintf(text, size, "a sandbox forbids perf_event_open(2)");
	else if (error == -EMFILE)
		snprintf(text, size, "they take %d open files (ulimit -Hn)",
			WIRE_EVENT_DESCRIPTOR + (int)WIRE_RINGS);
	else if (error == -EINVAL)
		snprintf(text, size, "they need Linux 5.13");
	else
		snprintf(text, size, "%s", strerror(-error));
}

int sampling_clock_choose(
	const struct options *options, bool *has_events, struct diag_message *message)
{
	enum clock_word word = word_of(options->clock);
	uint32_t tick_hz = perf_events_tick_hz();
	char why[128];
	int error;

	*has_events = false;
	/* What the tick can do timers do as well, for less. */
	if (word == CLOCK_WORD_TICK || options->test_clock_hz || options->rate_hz <= tick_hz)
		return 0;
	error = perf_events_probe(options->rate_hz);
	if (!error) {
		*has_events = true;
		return 0;
	}
	refusal_text(error, why, sizeof(why));
	if (word == CLOCK_WORD_PERF) {
		diag_fail(message, error, "cannot sample by perf events: %s", why);
		diag_fail_hint(message,
			"--clock=auto samples at the kernel's tick then, %u times a second",
			tick_hz);
		return error;
	}
	diag_info("threads are sampled at the kernel's tick, %u times a second: no perf events, %s",
		tick_hz, why);
	return 0;
}
