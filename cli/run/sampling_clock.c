/* SPDX-License-Identifier: MIT */
/* Choose the clock and the signal for sampling, and explain why a clock is refused. */
#include "cli/run/sampling_clock.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/gather/kernel_stacks.h"
#include "cli/gather/perf_events.h"
#include "cli/options.h"
#include "cli/symbols/kernel_symbols.h"

#define NS_PER_S 1000000000ULL
#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

enum clock_word {
	CLOCK_WORD_AUTO,
	CLOCK_WORD_TICK,
	CLOCK_WORD_PERF
};

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

/* Signals that most programs do not use. --signal accepts only these. */
static const char *const signal_names[] = {
	"VTALRM", "PROF", "ALRM", "USR1", "USR2", "URG", "IO", "PWR", "STKFLT", NULL};

const char *const *sampling_signal_names(void)
{
	return signal_names;
}

int sampling_signal_number(const char *name)
{
	static const int numbers[] = {
		SIGVTALRM, SIGPROF, SIGALRM, SIGUSR1, SIGUSR2, SIGURG, SIGIO, SIGPWR, SIGSTKFLT};

	for (unsigned i = 0; name && signal_names[i]; i++)
		if (!strcmp(name, signal_names[i]))
			return numbers[i];
	return WIRE_SIGNAL;
}

/* Highest perf_event_paranoid at which users may have events of user mode, and of the kernel. */
#define PARANOID_ALLOWS	       2
#define PARANOID_ALLOWS_KERNEL 1

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

static void refusal_text(int error, int allowed, char *text, size_t size)
{
	int level = read_paranoid();

	if ((error == -EACCES || error == -EPERM) && level > allowed)
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

void sampling_clock_refuse_kernel(void)
{
	diag_info("--kernel: the kernel's functions are shown only for programs that are sampled "
		  "from inside");
}

/* May flamerun read kernel stacks and symbols? If not, print why. */
static bool may_see_kernel(uint32_t rate_hz)
{
	struct kernel_stacks stacks = {0};
	int error = perf_events_probe(rate_hz);
	char why[128];

	if (!error)
		error = kernel_stacks_open(&stacks, 0, NS_PER_S / rate_hz);
	kernel_stacks_close(&stacks);
	if (error) {
		refusal_text(error, PARANOID_ALLOWS_KERNEL, why, sizeof(why));
		diag_info("--kernel: the kernel's functions are not shown, %s", why);
		if (read_paranoid() > PARANOID_ALLOWS_KERNEL)
			diag_info(
				"hint: sysctl kernel.perf_event_paranoid=%d, or CAP_PERFMON, shows "
				"them",
				PARANOID_ALLOWS_KERNEL);
		return false;
	}
	if (kernel_symbols_probe()) {
		diag_info("--kernel: the kernel does not tell where its functions are, "
			  "kernel.kptr_restrict");
		return false;
	}
	return true;
}

int sampling_clock_choose(
	const struct options *options, struct sampling_clock *clock, struct diag_message *message)
{
	enum clock_word word = word_of(options->clock);
	uint32_t tick_hz = perf_events_tick_hz();
	char why[128];
	int error;

	*clock = (struct sampling_clock){false, false};
	if (options->kernel && !options->test_clock_hz && word != CLOCK_WORD_TICK &&
		may_see_kernel(options->rate_hz)) {
		*clock = (struct sampling_clock){true, true};
		return 0;
	}
	/* At rates up to the kernel's tick, timers are as good as perf events, and cheaper. */
	if (word == CLOCK_WORD_TICK || options->test_clock_hz || options->rate_hz <= tick_hz)
		return 0;
	error = perf_events_probe(options->rate_hz);
	if (!error) {
		clock->has_events = true;
		return 0;
	}
	refusal_text(error, PARANOID_ALLOWS, why, sizeof(why));
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
