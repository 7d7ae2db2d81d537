/* SPDX-License-Identifier: MIT */
/*
 * Snapshots: waking up with the program, the thread that waits, and following fork().
 */
#include "libprof/api/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "libprof/api/injected.h"
#include "libprof/api/say.h"
#include "libprof/api/scope.h"
#include "libprof/api/session.h"
#include "libprof/api/snapshot_settings.h"
#include "libprof/sampler/clock.h"
#include "libprof/sampler/own_threads.h"

#define NAME_BYTES  24
/* How long the end of the program waits for a picture. */
#define EXIT_WAIT_S 5

static struct snapshot_settings settings;
static char signal_name[NAME_BYTES];
static uint32_t is_busy;   /* atomic, futex: a snapshot is being taken or drawn */
static uint32_t is_ending; /* atomic: the program ends, and with it the snapshot */

/* Wait for signals until @until_ns (CLOCK_MONOTONIC; 0: without limit). Returns how many came. */
static uint32_t wait_until(uint64_t until_ns)
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

static void refuse(uint32_t count)
{
	if (count && !__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE))
		say("%s refused: a snapshot is being taken", signal_name);
}

static void say_not_begun(int error)
{
	if (error == -EBUSY)
		say("%s refused: %s", signal_name,
			flameprof_status() == FLAMEPROF_UNDER_FLAMERUN
				? "flamerun is sampling this process"
				: "the profiler is running");
	else
		say("no snapshot: %s", strerror(-error));
}

/* @path is what could not be drawn or written. */
static void say_not_written(int error, const char *path)
{
	char left[PATH_MAX + 4];

	strcpy(left, path);
	strcat(left, ".pb");
	if (error == -ESRCH)
		say("no snapshot: the program ended the profiler");
	else if (access(left, F_OK))
		say("cannot write '%s': %s", path, strerror(-error));
	else
		say("cannot draw '%s': %s; the profile is '%s'", path,
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
		say("no snapshot: the name of the picture: %s", strerror(-error));
		return;
	}
	error = flameprof_start(&options);
	if (error) {
		say_not_begun(error);
		return;
	}
	while (clock_monotonic_ns() < until_ns && !__atomic_load_n(&is_ending, __ATOMIC_ACQUIRE))
		refuse(wait_until(until_ns));
	error = scope_write(path, &report);
	if (error)
		say_not_written(error, path);
	refuse(__atomic_exchange_n(&snapshot_requests.count, 0, __ATOMIC_ACQUIRE));
}

static void *wait_for_signals(void *argument)
{
	(void)argument;
	for (;;) {
		wait_until(0);
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
		pthread_detach(thread);
	return error;
}

/* Threads stay with the parent. Behind the session's own handler, which was registered before. */
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

static void begin(const char *text)
{
	char message[512];
	int error;

	say_init();
	if (snapshot_settings_parse(&settings, text, message, sizeof(message))) {
		say("%s: %s", SNAPSHOT_ENV, message);
		return;
	}
	if (!settings.signal)
		return;
	tzset(); /* the thread's localtime_r() need not look at the environment */
	snapshot_signal_name(signal_name, settings.signal);
	/* The thread, the handler and the fork handlers outlive a dlclose(). */
	stay_loaded();
	error = start_thread();
	if (!error)
		error = watch_signal();
	session_watch_forks();
	if (!error)
		error = -pthread_atfork(NULL, NULL, fork_child);
	if (error)
		say("%s: no snapshots: %s", SNAPSHOT_ENV, strerror(-error));
}

/* Cut a snapshot short, so that what it has is drawn. */
__attribute__((destructor(103))) static void finish(void)
{
	uint64_t until_ns;

	/* A program that takes none may have forbidden itself all calls. */
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

/* Behind the constructors that look for flamerun and for another copy of the library. */
__attribute__((constructor(103))) static void wake_up(void)
{
	const char *text = getenv(SNAPSHOT_ENV);
	int saved_errno = errno;

	/* The caller of a program with other rights must not have it write files. */
	if (text && !getauxval(AT_SECURE) && !injected_is_there())
		begin(text);
	errno = saved_errno;
}
