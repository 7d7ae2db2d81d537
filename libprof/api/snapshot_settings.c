/* SPDX-License-Identifier: MIT */
/*
 * FLAMERUN_SNAPSHOT, read once when the library wakes up. Numbers are read without strtod(), which
 * follows the locale.
 */
#include "libprof/api/snapshot_settings.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "libprof/api/absolute.h"
#include "libprof/gaps.h"

#define DURATION_DIGITS   9 /* after the point */
#define DURATION_MIN_NS	  10000000ULL
#define DURATION_MAX_S	  86400ULL
#define RATE_MAX_HZ	  10000u
#define NS_PER_S	  1000000000ULL
#define VALUE_BYTES	  PATH_MAX
#define DEFAULT_OUTPUT	  "%p-%t.svg"

/* Where what is wrong goes. */
struct complaint {
	char *text;
	size_t bytes;
};

static int complain(struct complaint *complaint, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int complain(struct complaint *complaint, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(complaint->text, complaint->bytes, format, list);
	va_end(list);
	for (char *at = complaint->text; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
			*at = '?';
	return error;
}

/* Digits up to the text's end or @end, which must be there. Returns behind them, or NULL. */
static const char *read_digits(const char *text, const char *ends, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (uint64_t)(*at - '0');
		if (value > max)
			return NULL;
	}
	if (at == text || (*at && !strchr(ends, *at)))
		return NULL;
	*out = value;
	return at;
}

static int read_seconds(const char *text, uint64_t *out_ns)
{
	uint64_t seconds, fraction = 0, ns;
	const char *at = read_digits(text, ".", DURATION_MAX_S, &seconds);

	if (!at)
		return -EINVAL;
	if (*at++) {
		const char *end = read_digits(at, "", NS_PER_S - 1, &fraction);

		if (!end || end - at > DURATION_DIGITS)
			return -EINVAL;
		for (ptrdiff_t digits = end - at; digits < DURATION_DIGITS; digits++)
			fraction *= 10;
	}
	ns = seconds * NS_PER_S + fraction;
	if (ns < DURATION_MIN_NS || ns > DURATION_MAX_S * NS_PER_S)
		return -EINVAL;
	*out_ns = ns;
	return 0;
}

/* Those that end the program before a handler runs, that libc keeps, or that the profiler needs. */
static int is_usable(int signal)
{
	static const int unusable[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
		SIGABRT, SIGSYS, SIGCHLD, SIGPROF};

	for (size_t i = 0; i < sizeof(unusable) / sizeof(*unusable); i++)
		if (signal == unusable[i])
			return 0;
	return signal > 0 && (signal < 32 || (signal >= SIGRTMIN && signal <= SIGRTMAX));
}

/* "USR2", "SIGUSR2", "RTMIN+3" or a number. Returns 0 for what is none. */
static int signal_of(const char *text)
{
	uint64_t number;

	if (read_digits(text, "", INT_MAX, &number))
		return (int)number;
	if (!strncasecmp(text, "SIG", 3))
		text += 3;
	if (!strncasecmp(text, "RTMIN+", 6) && read_digits(text + 6, "", 64, &number))
		return SIGRTMIN + (int)number;
	for (int signal = 1; signal < 32; signal++) {
		const char *name = sigabbrev_np(signal);

		if (name && !strcasecmp(text, name))
			return signal;
	}
	return 0;
}

static int set_output(
	struct snapshot_settings *out, const char *pattern, struct complaint *complaint)
{
	const struct gaps_values values = {.is_first_half = 1};
	const char *at;
	int error;

	if (!*pattern)
		return complain(complaint, -EINVAL, "output: no name");
	error = gaps_fill(out->output, sizeof(out->output), pattern, &values, &at);
	if (error == -ENOENT)
		return complain(complaint, error, "output: '%.*s' is not set in the environment",
			(int)strcspn(at + 1, "}"), at + 1);
	if (error == -EINVAL)
		return complain(complaint, error,
			"output: '%%%.64s' is none of %%p %%h %%t %%{VAR} %%%%", at);
	if (!error && *pattern != '/')
		error = absolute_path(out->folder, "");
	if (error)
		return complain(complaint, error, "output: %s", strerror(-error));
	return 0;
}

static int set(struct snapshot_settings *out, char *output, const char *key, const char *value,
	struct complaint *complaint)
{
	uint64_t number;

	if (!strcmp(key, "signal")) {
		out->signal = signal_of(value);
		if (!is_usable(out->signal))
			return complain(complaint, -EINVAL, "signal: cannot use '%.64s'", value);
	} else if (!strcmp(key, "duration")) {
		if (read_seconds(value, &out->duration_ns))
			return complain(complaint, -EINVAL,
				"duration: '%.64s' is not 0.01 to 86400 seconds", value);
	} else if (!strcmp(key, "rate")) {
		if (!read_digits(value, "", RATE_MAX_HZ, &number) || !number)
			return complain(
				complaint, -EINVAL, "rate: '%.64s' is not 1 to 10000", value);
		out->rate_hz = (unsigned)number;
	} else if (!strcmp(key, "clock")) {
		if (strcmp(value, "cpu") && strcmp(value, "elapsed"))
			return complain(complaint, -EINVAL,
				"clock: '%.64s' is neither cpu nor elapsed", value);
		out->clock = *value == 'c' ? FLAMEPROF_CLOCK_CPU : FLAMEPROF_CLOCK_ELAPSED;
	} else if (!strcmp(key, "output")) {
		strcpy(output, value);
	} else {
		return complain(complaint, -EINVAL,
			"'%.64s' is none of signal, duration, rate, clock, output", key);
	}
	return 0;
}

/* Copy up to the next colon that is not escaped. Returns behind it, or NULL when @text was long. */
static const char *next_pair(char pair[VALUE_BYTES], const char *text)
{
	size_t n = 0;

	for (; *text && *text != ':'; text++) {
		if (*text == '\\' && text[1] == ':')
			text++;
		if (n + 1 == VALUE_BYTES)
			return NULL;
		pair[n++] = *text;
	}
	pair[n] = '\0';
	return *text ? text + 1 : text;
}

static int is_word(const char *text, const char *const words[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(text, words[i]))
			return 1;
	return 0;
}

static int set_pairs(struct snapshot_settings *out, char output[VALUE_BYTES], const char *text,
	struct complaint *complaint)
{
	char pair[VALUE_BYTES];
	int error = 0;

	while (*text && !error) {
		char *value;

		text = next_pair(pair, text);
		if (!text)
			return complain(complaint, -ENAMETOOLONG, "a value is too long");
		value = strchr(pair, '=');
		if (!value)
			return complain(complaint, -EINVAL, "'%.64s' is not key=value", pair);
		*value++ = '\0';
		error = set(out, output, pair, value, complaint);
	}
	return error;
}

int snapshot_settings_parse(
	struct snapshot_settings *out, const char *text, char *message, size_t bytes)
{
	static const char *const off[] = {"", "off", "0", "no", "false"};
	static const char *const on[] = {"on", "1", "yes", "true"};
	struct complaint complaint = {message, bytes};
	char output[VALUE_BYTES] = DEFAULT_OUTPUT;
	int error = 0;

	*out = (struct snapshot_settings){
		.signal = SIGUSR2, .rate_hz = 97, .duration_ns = 10 * NS_PER_S};
	if (is_word(text, off, sizeof(off) / sizeof(*off))) {
		out->signal = 0;
		return 0;
	}
	if (!is_word(text, on, sizeof(on) / sizeof(*on)))
		error = set_pairs(out, output, text, &complaint);
	return error ? error : set_output(out, output, &complaint);
}

int snapshot_settings_name(
	char out[PATH_MAX], const struct snapshot_settings *settings, long pid, time_t started_s)
{
	const struct gaps_values values = {.pid = pid, .started_s = started_s};
	size_t bytes = strlen(settings->folder);
	const char *at;

	memcpy(out, settings->folder, bytes);
	return gaps_fill(out + bytes, PATH_MAX - bytes, settings->output, &values, &at);
}

void snapshot_signal_name(char *out, int signal)
{
	const char *name = sigabbrev_np(signal);

	if (name)
		snprintf(out, 24, "SIG%s", name);
	else
		snprintf(out, 24, "signal %d", signal);
}
