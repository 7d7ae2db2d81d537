/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: parse FLAMERUN_SNAPSHOT, start with the program, wait for the signal, continue in fork
 * children.
 *
 * Snapshots need a thread, also in fork children, because a signal handler cannot start the
 * profiler, symbolize or write. The handler only counts signals.
 */
#include "libprof/session/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/at_start.h"
#include "libprof/placeholder.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"
#include "libprof/session/draw.h"
#include "libprof/session/injected.h"
#include "libprof/session/session.h"
#include "libprof/wire.h"

/* ---- lines on stderr ------------------------------------------------------------------------- */
/*
 * Messages on stderr. They are printed only if descriptor 2 still is the file that it was at the
 * start.
 */

#define LINE_BYTES 1024
#define PREFIX	   "flameprof: "

static struct stat stderr_at_start;
static int had_stderr;

/*
 * Remember which file descriptor 2 is. If the program closes it, a socket or a database may get the
 * number; then nothing must be printed. Context: before the program's own code runs.
 */
static void warning_init(void)
{
	had_stderr = !fstat(STDERR_FILENO, &stderr_at_start);
}

/*
 * Returns 1 if descriptor 2 still is stderr: the same file as at the start, a character device such
 * as a terminal, or an append-only file such as a rotated log.
 */
static int is_stderr(void)
{
	struct stat now;

	if (fstat(STDERR_FILENO, &now))
		return 0;
	if (had_stderr && now.st_dev == stderr_at_start.st_dev &&
		now.st_ino == stderr_at_start.st_ino)
		return 1;
	if (S_ISREG(now.st_mode))
		return (fcntl(STDERR_FILENO, F_GETFL) & O_APPEND) != 0;
	return S_ISCHR(now.st_mode);
}

void warning_print(const char *format, ...)
{
	char line[LINE_BYTES] = PREFIX;
	int saved_errno = errno;
	va_list list;
	size_t bytes;
	ssize_t done;

	va_start(list, format);
	vsnprintf(line + strlen(PREFIX), sizeof(line) - strlen(PREFIX) - 1, format, list);
	va_end(list);
	bytes = strlen(line);
	for (char *at = line; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	line[bytes++] = '\n';
	if (is_stderr()) {
		done = write(STDERR_FILENO, line, bytes);
		(void)done;
	}
	errno = saved_errno;
}

/* ---- FLAMERUN_SNAPSHOT ----------------------------------------------------------------------- */
/*
 * FLAMERUN_SNAPSHOT is read once, when the library starts. Numbers are not parsed by strtod(),
 * because strtod() depends on the locale.
 */

#define DURATION_DIGITS   9 /* digits after the decimal point */
#define DURATION_MIN_NS	  10000000ULL
#define DURATION_MAX_S	  86400ULL
#define RATE_MAX_HZ	  10000u
#define NS_PER_S	  1000000000ULL
#define VALUE_BYTES	  PATH_MAX
#define DEFAULT_OUTPUT	  "%p-%t.svg"

/* Buffer for an error message. */
struct error_text {
	char *text;
	size_t bytes;
};

static int set_error(struct error_text *error_text, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int set_error(struct error_text *error_text, int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error_text->text, error_text->bytes, format, list);
	va_end(list);
	for (char *at = error_text->text; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
			*at = '?';
	return error;
}

/*
 * Read a number up to @max. It must end at a character of @ends or at the end of @text. Returns a
 * pointer behind the number, or NULL.
 */
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

/* Parse "USR2", "SIGUSR2", "RTMIN+3" or a number. Returns the signal, or 0 if @text is invalid. */
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
	struct snapshot_settings *out, const char *pattern, struct error_text *error_text)
{
	const struct placeholder_values values = {.is_first_half = 1};
	const char *at;
	int error;

	if (!*pattern)
		return set_error(error_text, -EINVAL, "output: no name");
	error = placeholder_fill(out->output, sizeof(out->output), pattern, &values, &at);
	if (error == -ENOENT)
		return set_error(error_text, error, "output: '%.*s' is not set in the environment",
			(int)strcspn(at + 1, "}"), at + 1);
	if (error == -EINVAL)
		return set_error(error_text, error,
			"output: '%%%.64s' is none of %%p %%h %%t %%r %%{VAR} %%%%", at);
	if (!error && *pattern != '/')
		error = absolute_path(out->folder, "");
	if (error)
		return set_error(error_text, error, "output: %s", strerror(-error));
	return 0;
}

static int set_value(struct snapshot_settings *out, char *output, const char *key,
	const char *value, struct error_text *error_text)
{
	uint64_t number;

	if (!strcmp(key, "signal")) {
		out->signal = signal_of(value);
		if (!wire_signal_is_usable((unsigned)out->signal) ||
			out->signal == WIRE_SIGNAL)
			return set_error(error_text, -EINVAL, "signal: cannot use '%.64s'", value);
	} else if (!strcmp(key, "duration")) {
		if (read_seconds(value, &out->duration_ns))
			return set_error(error_text, -EINVAL,
				"duration: '%.64s' is not 0.01 to 86400 seconds", value);
	} else if (!strcmp(key, "rate")) {
		if (!read_digits(value, "", RATE_MAX_HZ, &number) || !number)
			return set_error(
				error_text, -EINVAL, "rate: '%.64s' is not 1 to 10000", value);
		out->rate_hz = (unsigned)number;
	} else if (!strcmp(key, "clock")) {
		if (strcmp(value, "cpu") && strcmp(value, "elapsed"))
			return set_error(error_text, -EINVAL,
				"clock: '%.64s' is neither cpu nor elapsed", value);
		out->clock = *value == 'c' ? FLAMEPROF_CLOCK_CPU : FLAMEPROF_CLOCK_ELAPSED;
	} else if (!strcmp(key, "output")) {
		strcpy(output, value);
	} else {
		return set_error(error_text, -EINVAL,
			"'%.64s' is none of signal, duration, rate, clock, output", key);
	}
	return 0;
}

/*
 * Copy @text up to the next unescaped colon to @pair. Returns a pointer behind the colon, or NULL
 * if the text is too long.
 */
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

static int set_values(struct snapshot_settings *out, char output[VALUE_BYTES], const char *text,
	struct error_text *error_text)
{
	char pair[VALUE_BYTES];
	int error = 0;

	while (*text && !error) {
		char *value;

		text = next_pair(pair, text);
		if (!text)
			return set_error(error_text, -ENAMETOOLONG, "a value is too long");
		value = strchr(pair, '=');
		if (!value)
			return set_error(error_text, -EINVAL, "'%.64s' is not key=value", pair);
		*value++ = '\0';
		error = set_value(out, output, pair, value, error_text);
	}
	return error;
}

int snapshot_settings_parse(
	struct snapshot_settings *out, const char *text, char *message, size_t bytes)
{
	static const char *const off[] = {"", "off", "0", "no", "false"};
	static const char *const on[] = {"on", "1", "yes", "true"};
	struct error_text error_text = {message, bytes};
	char output[VALUE_BYTES] = DEFAULT_OUTPUT;
	int error = 0;

	*out = (struct snapshot_settings){
		.signal = SIGUSR2, .rate_hz = 97, .duration_ns = 10 * NS_PER_S};
	if (is_word(text, off, sizeof(off) / sizeof(*off))) {
		out->signal = 0;
		return 0;
	}
	if (!is_word(text, on, sizeof(on) / sizeof(*on)))
		error = set_values(out, output, text, &error_text);
	return error ? error : set_output(out, output, &error_text);
}

int snapshot_settings_name(
	char out[PATH_MAX], const struct snapshot_settings *settings, long pid, time_t started_s)
{
	const struct placeholder_values values = {.pid = pid, .started_s = started_s};
	size_t bytes = strlen(settings->folder);
	const char *at;

	memcpy(out, settings->folder, bytes);
	return placeholder_fill(out + bytes, PATH_MAX - bytes, settings->output, &values, &at);
}

void snapshot_signal_name(char *out, int signal)
{
	const char *name = sigabbrev_np(signal);

	if (name)
		snprintf(out, 24, "SIG%s", name);
	else
		snprintf(out, 24, "signal %d", signal);
}

/* ---- taking snapshots ------------------------------------------------------------------------ */

#define NAME_BYTES  24
/* Longest wait for a picture that is being drawn when the program ends. */
#define EXIT_WAIT_S 5

static struct snapshot_settings settings;
static char signal_name[NAME_BYTES];
/* Atomic and a futex. 1: a snapshot is being taken or drawn. */
static AT_START uint32_t is_busy;
/* Atomic. 1: the program ends, so a running snapshot must end, too. */
static uint32_t is_ending;

/*
 * Wait for snapshot signals until @until_ns (CLOCK_MONOTONIC; 0: no limit). Returns the number of
 * signals.
 */
static uint32_t wait_for_requests(uint64_t until_ns)
{
	for (;;) {
		uint32_t count = __atomic_exchange_n(&snapshot_requests.count, 0, __ATOMIC_ACQUIRE);
		struct timespec limit = {(time_t)(until_ns / CLOCK_NS_PER_S),
			(long)(until_ns % CLOCK_NS_PER_S)};

		if (count || (until_ns && clock_monotonic_ns() >= until_ns))
			return count;
		arch_syscall6(SYS_futex, (long)&snapshot_requests.count,
			FUTEX_WAIT_BITSET_PRIVATE, 0, (long)(until_ns ? &limit : NULL), 0,
			FUTEX_BITSET_MATCH_ANY);
	}
}

static void warn_refused(uint32_t count)
{
	if (count && !__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE))
		warning_print("%s refused: a snapshot is being taken", signal_name);
}

static void warn_not_begun(int error)
{
	if (error == -EBUSY)
		warning_print("%s refused: %s", signal_name,
			flameprof_status() == FLAMEPROF_UNDER_FLAMERUN
				? "flamerun is sampling this process"
				: "the profiler is running");
	else
		warning_print("no snapshot: %s", strerror(-error));
}

/* Report that @path could not be drawn or written. */
static void warn_not_written(int error, const char *path)
{
	char left[PATH_MAX + 4];

	strcpy(left, path);
	strcat(left, ".pb");
	if (error == -ESRCH)
		warning_print("no snapshot: the program ended the profiler");
	else if (access(left, F_OK))
		warning_print("cannot write '%s': %s", path, strerror(-error));
	else
		warning_print("cannot draw '%s': %s; the profile is '%s'", path,
			error == -ENOENT ? "there is no flamerun program" : strerror(-error), left);
}

static void take_snapshot(void)
{
	const struct flameprof_options options = {
		.rate = settings.rate_hz, .clock = settings.clock};
	uint64_t until_ns = clock_monotonic_ns() + settings.duration_ns;
	struct flameprof_scope_report report;
	char path[PATH_MAX];
	int error = snapshot_settings_name(path, &settings, (long)getpid(), time(NULL));

	if (error) {
		warning_print("no snapshot: the name of the picture: %s", strerror(-error));
		return;
	}
	error = flameprof_start(&options);
	if (error) {
		warn_not_begun(error);
		return;
	}
	while (clock_monotonic_ns() < until_ns && !__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE))
		warn_refused(wait_for_requests(until_ns));
	error = draw_session(path, &report);
	if (error)
		warn_not_written(error, path);
	warn_refused(__atomic_exchange_n(&snapshot_requests.count, 0, __ATOMIC_ACQUIRE));
}

static void *wait_for_signals(void *argument)
{
	(void)argument;
	for (;;) {
		wait_for_requests(0);
		__atomic_store_n(&is_busy, 1, __ATOMIC_RELEASE);
		take_snapshot();
		__atomic_store_n(&is_busy, 0, __ATOMIC_RELEASE);
		arch_syscall4(SYS_futex, &is_busy, FUTEX_WAKE_PRIVATE, 1, NULL);
	}
	return NULL;
}

static int start_thread(void)
{
	pthread_t thread;
	int error;

	snapshot_requests.pid = (int32_t)getpid();
	snapshot_requests.count = 0;
	is_busy = 0;
	error = own_threads_begin(&thread, NULL, wait_for_signals, NULL);
	if (!error)
		libc_calls.pthread_detach(thread);
	return error;
}

/*
 * Start the snapshot thread in a fork child. This handler is registered after the session's fork
 * handler, so that it runs after that handler.
 */
static void fork_child(void)
{
	int saved_errno = errno;

	start_thread();
	errno = saved_errno;
}

static int watch_signal(void)
{
	struct sigaction action = {
		.sa_handler = snapshot_handler, .sa_flags = SA_RESTART | SA_ONSTACK};

	sigemptyset(&action.sa_mask);
	return sigaction(settings.signal, &action, NULL) ? -errno : 0;
}

static void begin_snapshots(const char *text)
{
	char message[512];
	int error;

	warning_init();
	if (snapshot_settings_parse(&settings, text, message, sizeof(message))) {
		warning_print("%s: %s", SNAPSHOT_ENV, message);
		return;
	}
	if (!settings.signal)
		return;
	/* Read TZ now, so that localtime_r() in the thread does not read the environment. */
	tzset();
	snapshot_signal_name(signal_name, settings.signal);
	/*
	 * Keep the library loaded after a dlclose(), because the thread, the handler and the fork
	 * handlers stay.
	 */
	stay_loaded();
	error = start_thread();
	if (!error)
		error = watch_signal();
	session_watch_forks();
	if (!error)
		error = -pthread_atfork(NULL, NULL, fork_child);
	if (error)
		warning_print("%s: no snapshots: %s", SNAPSHOT_ENV, strerror(-error));
}

/* End a running snapshot early and wait until its picture is drawn. */
__attribute__((destructor(103))) static void end_snapshot(void)
{
	uint64_t until_ns;

	/*
	 * If no snapshot is running, make no system call, because a seccomp filter may forbid it.
	 */
	if (!__atomic_load_n(&is_busy, __ATOMIC_ACQUIRE) ||
		snapshot_requests.pid != (int32_t)getpid())
		return;
	until_ns = clock_monotonic_ns() + EXIT_WAIT_S * CLOCK_NS_PER_S;
	__atomic_store_n(&is_ending, 1, __ATOMIC_RELEASE);
	snapshot_handler(settings.signal);
	while (__atomic_load_n(&is_busy, __ATOMIC_ACQUIRE))
		if (session_wait(&is_busy, 1, until_ns))
			break;
}

/*
 * Runs after the constructors that search for flamerun's arena and for another copy of the library.
 */
__attribute__((constructor(103))) static void init_snapshots(void)
{
	const char *text = getenv(SNAPSHOT_ENV);
	int saved_errno = errno;

	/*
	 * Ignore the variable in set-user-ID programs, because their caller must not make them
	 * write files.
	 */
	if (text && !getauxval(AT_SECURE) && !injected_is_there())
		begin_snapshots(text);
	errno = saved_errno;
}
