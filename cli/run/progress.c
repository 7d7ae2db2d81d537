/* SPDX-License-Identifier: MIT */
/*
 * A thread that waits for a second and then writes one line. What names and draws need not call
 * anything here: one slow read of a huge file is where they would not.
 */
#include "cli/run/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/diag.h"

#define PATIENCE_S 1
#define LINE_BYTES 160

static pthread_t waiter;
static bool has_waiter;

/* Shared with the waiter. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done;
static bool is_done;  /* guarded by lock */
static bool is_shown; /* guarded by lock */
static char line[LINE_BYTES]; /* written before the waiter starts */

static bool is_wanted(void)
{
	return diag_wants_info() && isatty(STDERR_FILENO) &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* How much of the line fits: one that wraps could not be taken back. */
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

/* Signals are for the thread that works. */
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
	/* Blanks rather than an escape sequence: every terminal knows them. */
	bytes = visible_bytes();
	memset(blank, ' ', sizeof(blank));
	blank[0] = '\r';
	blank[bytes + 1] = '\r';
	diag_write(blank, bytes + 2);
}
