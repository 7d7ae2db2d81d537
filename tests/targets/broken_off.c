/* SPDX-License-Identifier: MIT */
/*
 * broken_off CALLS [restart]: open a FIFO without a writer CALLS times, each time with an alarm
 * after 0.4 ms. The path is so long that the kernel takes a while to resolve it, so that sampling
 * signals arrive meanwhile. The alarm's handler has no SA_RESTART, so each call fails with EINTR.
 * With "restart" the handler has SA_RESTART, so each call continues until a writer opens the FIFO 5
 * ms after the alarm.
 *
 * The program prints how many calls continued after the alarm. Without "restart" it counts only
 * calls whose alarm arrived while the thread slept, because on a busy machine the alarm may arrive
 * before the call. A writer ends such a call after 0.2 s.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/targets/spin.h"

#define ALARM_US   400
#define RESTART_US 5000
#define STUCK_US   200000

static char fifo[] = "/tmp/broken_off.XXXXXX/fifo";
static unsigned calls, alarmed; /* atomic; alarmed: the last call in which an alarm arrived */
static unsigned patience_us = STUCK_US;
static volatile sig_atomic_t woke_up; /* set if the alarm arrived while the thread slept */
static long sleeps_before;

/* Return how many times this thread has slept. */
static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void on_alarm(int signal)
{
	(void)signal;
	woke_up = sleeps() != sleeps_before;
	__atomic_store_n(&alarmed, calls, __ATOMIC_SEQ_CST);
}

/* Open the FIFO for writing if the call with the last alarm still waits. */
static void *write_when_stuck(void *unused)
{
	for (;;) {
		unsigned call = __atomic_load_n(&alarmed, __ATOMIC_SEQ_CST);
		int file;

		usleep(patience_us);
		if (!call || call != __atomic_load_n(&calls, __ATOMIC_SEQ_CST))
			continue;
		file = open(fifo, O_WRONLY | O_NONBLOCK);
		if (file >= 0)
			close(file);
	}
	return unused;
}

static void begin_writer(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&thread, NULL, write_when_stuck, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Make the path FOLDER/../NAME/../NAME/.../fifo as long as a path can be. */
static void make_path(char *path, size_t room)
{
	char *folder_end = strrchr(fifo, '/'), *name;
	size_t bytes;

	*folder_end = '\0';
	if (!mkdtemp(fifo))
		exit(1);
	name = strrchr(fifo, '/');
	strcpy(path, fifo);
	for (bytes = strlen(path); bytes + 64 < room; bytes = strlen(path))
		snprintf(path + bytes, room - bytes, "/..%s", name);
	*folder_end = '/';
	strcat(path, folder_end);
	if (mkfifo(fifo, 0600))
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned count = argument(argc, argv, 1, 1000), went_on = 0;
	struct sigaction action = {.sa_handler = on_alarm};
	const struct itimerval alarm = {{0, 0}, {0, ALARM_US}};
	char path[4096];

	if (argc > 2) {
		action.sa_flags = SA_RESTART;
		patience_us = RESTART_US;
	}
	make_path(path, sizeof(path));
	sigaction(SIGALRM, &action, NULL);
	begin_writer();
	for (unsigned i = 0; i < count; i++) {
		int file;

		__atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
		woke_up = 0;
		sleeps_before = sleeps();
		setitimer(ITIMER_REAL, &alarm, NULL);
		file = open(path, O_RDONLY | O_CLOEXEC);
		if (file < 0 && errno != EINTR)
			return 1;
		went_on += file >= 0 && (woke_up || argc > 2);
		if (file >= 0)
			close(file);
	}
	unlink(fifo);
	*strrchr(fifo, '/') = '\0';
	rmdir(fifo);
	printf("%u of %u went on\n", went_on, count);
	return 0;
}
