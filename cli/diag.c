/* SPDX-License-Identifier: MIT */
/*
 * Print messages to the user. Format a message, replace bytes that a terminal would interpret, and
 * write the line by a single write(2).
 */
#include "cli/diag.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- which word was meant -------------------------------------------------------------------- */

#define WORD_MAX 48

static unsigned minimum(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Returns the optimal string alignment distance. Keeps only the last three rows of the matrix. */
static unsigned edit_distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	unsigned rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= b_bytes; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_bytes; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i + 2) % 3];
		const unsigned *higher = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_bytes; j++) {
			unsigned cost = a[i - 1] != b[j - 1];

			row[j] = minimum(above[j - 1] + cost, minimum(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = minimum(row[j], higher[j - 2] + 1);
		}
	}
	return rows[a_bytes % 3][b_bytes];
}

void nearest_begin(struct nearest *nearest, const char *word, size_t bytes)
{
	*nearest = (struct nearest){.word = word, .bytes = bytes};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
	size_t bytes = strlen(candidate);
	unsigned far, limit = bytes < 6 ? 1 : (unsigned)bytes / 3;

	if (!nearest->bytes || nearest->bytes > WORD_MAX || bytes > WORD_MAX)
		return;
	far = edit_distance(nearest->word, nearest->bytes, candidate, bytes);
	if (far > limit || far >= bytes || (nearest->best && far >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = far;
}

/* ---- messages -------------------------------------------------------------------------------- */

#define PREFIX		"flamerun: "
#define HINT_PREFIX	"hint: "
#define LINE_MAX_BYTES	4096
#define STALLED_WAIT_MS 100

static enum diag_level current_level = DIAG_NORMAL;
static unsigned lines_printed;		 /* atomic */
static _Thread_local struct bytes *held; /* see diag_hold(); NULL: print */

void diag_set_level(enum diag_level level)
{
	current_level = level;
}

/* Returns the number of continuation bytes after @lead in UTF-8; -1 if @lead begins none. */
static int utf8_follow(unsigned char lead)
{
	if (lead < 0x80)
		return 0;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 1;
	if (lead >= 0xe0 && lead <= 0xef)
		return 2;
	if (lead >= 0xf0 && lead <= 0xf4)
		return 3;
	return -1;
}

/* C1 controls are U+0080 to U+009F. They may be encoded in UTF-8 or be single bytes. */
void diag_disarm(char *text)
{
	unsigned char *at = (unsigned char *)text;

	while (*at) {
		int follow = utf8_follow(*at);
		int have = 0;

		while (have < follow && (at[1 + have] & 0xc0) == 0x80)
			have++;
		if (follow < 0 || have < follow || *at < 0x20 || *at == 0x7f) {
			*at++ = '?';
			continue;
		}
		if (*at == 0xc2 && at[1] < 0xa0)
			at[0] = at[1] = '?';
		at += 1 + follow;
	}
}

/*
 * Write @line to stderr by one write(2). Ignore errors, because there is no other way to report
 * them. If stderr is non-blocking and full, wait a short time and try again.
 */
static void diag_write(const char *line, size_t bytes)
{
	for (int tries = 0; tries < 3; tries++) {
		struct pollfd stalled = {.fd = STDERR_FILENO, .events = POLLOUT};

		if (write(STDERR_FILENO, line, bytes) >= 0)
			return;
		if (errno == EAGAIN)
			poll(&stalled, 1, STALLED_WAIT_MS);
		else if (errno != EINTR)
			return;
	}
}

void diag_hold(struct bytes *lines)
{
	held = lines;
}

void diag_put(const struct bytes *lines)
{
	if (lines->used)
		diag_write((const char *)lines->data, lines->used);
}

static void print_line(const char *kind, const char *format, va_list arguments)
	__attribute__((format(printf, 2, 0)));

static void print_line(const char *kind, const char *format, va_list arguments)
{
	char line[LINE_MAX_BYTES];
	int saved_errno = errno;
	size_t head = strlen(PREFIX) + strlen(kind);
	size_t bytes;

	strcpy(line, PREFIX);
	strcat(line, kind);
	vsnprintf(line + head, sizeof(line) - head - 1, format, arguments);
	diag_disarm(line);
	bytes = strlen(line);
	line[bytes++] = '\n';
	__atomic_fetch_add(&lines_printed, 1, __ATOMIC_RELAXED);
	if (held)
		bytes_put(held, line, bytes);
	else
		diag_write(line, bytes);
	errno = saved_errno;
}

void diag_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
}

void diag_hint(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line(HINT_PREFIX, format, arguments);
	va_end(arguments);
}

void diag_info(const char *format, ...)
{
	va_list arguments;

	if (current_level < DIAG_NORMAL)
		return;
	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
}

void diag_verbose(const char *format, ...)
{
	va_list arguments;

	if (current_level < DIAG_VERBOSE)
		return;
	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
}

bool diag_wants(enum diag_level level)
{
	return current_level >= level;
}

unsigned diag_lines(void)
{
	return __atomic_load_n(&lines_printed, __ATOMIC_RELAXED);
}

/* Write "flamerun: <text>" into @line, without a newline. Control bytes are replaced. */
static void diag_format(char *line, size_t bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void diag_format(char *line, size_t bytes, const char *format, ...)
{
	size_t head = (size_t)snprintf(line, bytes, "%s", PREFIX);
	va_list arguments;

	if (head >= bytes)
		return;
	va_start(arguments, format);
	vsnprintf(line + head, bytes - head, format, arguments);
	va_end(arguments);
	diag_disarm(line);
}

/* Errors that a resource limit (setrlimit(2)) of a shell or service may cause, with the limit. */
static const struct {
	int error;
	int resource;
	char option; /* of ulimit */
	unsigned unit;
	const char *what;
} limits[] = {
	{-ENOMEM, RLIMIT_AS, 'v', 1024, "KiB of memory"},
	{-ENOMEM, RLIMIT_DATA, 'd', 1024, "KiB of memory"},
	{-EFBIG, RLIMIT_FSIZE, 'f', 1024, "KiB in a file"},
	{-EMFILE, RLIMIT_NOFILE, 'n', 1, "open files"},
	{-EAGAIN, RLIMIT_NPROC, 'u', 1, "processes"},
};

static void add_limit_hint(struct diag_message *message, int error)
{
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].error != error || getrlimit(limits[i].resource, &limit) ||
			limit.rlim_cur == RLIM_INFINITY)
			continue;
		diag_fail_hint(message, "ulimit -%c allows no more than %llu %s", limits[i].option,
			(unsigned long long)limit.rlim_cur / limits[i].unit, limits[i].what);
		return;
	}
}

int diag_fail(struct diag_message *message, int error, const char *format, ...)
{
	va_list arguments;

	if (message) {
		va_start(arguments, format);
		vsnprintf(message->text, sizeof(message->text), format, arguments);
		va_end(arguments);
		message->hint[0] = '\0';
		add_limit_hint(message, error);
	}
	return error;
}

void diag_fail_hint(struct diag_message *message, const char *format, ...)
{
	va_list arguments;

	if (!message)
		return;
	va_start(arguments, format);
	vsnprintf(message->hint, sizeof(message->hint), format, arguments);
	va_end(arguments);
}

void diag_report(const struct diag_message *message)
{
	diag_error("%s", message->text);
	if (message->hint[0])
		diag_hint("%s", message->hint);
}

int diag_end_stdout(int error, struct diag_message *message)
{
	if ((fflush(stdout) || ferror(stdout)) && (!error || error == -EIO))
		error = errno ? -errno : -EIO;
	if (error && error != -EPIPE)
		diag_fail(message, error, "cannot write to standard output: %s", strerror(-error));
	return error;
}

/* ---- slow work ------------------------------------------------------------------------------- */

/*
 * For slow work a second thread waits for a second and then writes one line. The working thread
 * cannot do so, because it may be in one long read of a huge file.
 */

#define PATIENCE_S 1
#define LINE_BYTES 160

static pthread_t waiter;
static bool has_waiter;

/* Shared with the thread @waiter. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done;
static bool is_done;	      /* guarded by lock */
static bool is_shown;	      /* guarded by lock */
static char line[LINE_BYTES]; /* written before the waiter starts */

static bool is_wanted(void)
{
	return diag_wants(DIAG_NORMAL) && isatty(STDERR_FILENO) &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Returns how many bytes of the line fit into one row. A line that wraps cannot be erased. */
static size_t visible_bytes(void)
{
	struct winsize size = {0};
	size_t bytes = strlen(line);

	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col && bytes >= size.ws_col)
		bytes = size.ws_col - 1u;
	return bytes;
}

static void *wait_and_show(void *limit)
{
	int error = 0;

	pthread_mutex_lock(&lock);
	while (!is_done && !error)
		error = pthread_cond_timedwait(&done, &lock, limit);
	if (!is_done) {
		diag_write(line, visible_bytes());
		is_shown = true;
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* Start the waiter with all signals blocked, so that the working thread handles signals. */
static bool start_waiter(struct timespec *limit)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&waiter, NULL, wait_and_show, limit);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !error;
}

void progress_begin(const char *format, ...)
{
	static struct timespec limit;
	pthread_condattr_t attributes;
	char what[LINE_BYTES / 2];
	va_list arguments;

	if (!is_wanted())
		return;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	diag_format(line, sizeof(line), "%s ...", what);
	is_done = is_shown = false;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&done, &attributes);
	pthread_condattr_destroy(&attributes);
	clock_gettime(CLOCK_MONOTONIC, &limit);
	limit.tv_sec += PATIENCE_S;
	has_waiter = start_waiter(&limit);
}

void progress_end(void)
{
	char blank[LINE_BYTES + 2];
	size_t bytes;

	if (!has_waiter)
		return;
	pthread_mutex_lock(&lock);
	is_done = true;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
	pthread_join(waiter, NULL);
	pthread_cond_destroy(&done);
	has_waiter = false;
	if (!is_shown)
		return;
	/* Overwrite the line with blanks: not every terminal has an escape sequence to erase. */
	bytes = visible_bytes();
	memset(blank, ' ', sizeof(blank));
	blank[0] = '\r';
	blank[bytes + 1] = '\r';
	diag_write(blank, bytes + 2);
}
