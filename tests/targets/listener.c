/* SPDX-License-Identifier: MIT */
/*
 * listener [SIGNAL...]: print "ready PID", catch the signals that are given by number, print "got
 * N" for each delivery, and end with status 7 after a line (or the end) of stdin. The program
 * sleeps while it waits; with BUSY=1 in the environment it computes instead, so that it has
 * samples.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void say(const char *word, int number)
{
	char line[32];
	int bytes = snprintf(line, sizeof(line), "%s %d\n", word, number);

	if (write(STDOUT_FILENO, line, (size_t)bytes) < 0)
		_exit(1);
}

static void on_signal(int signal)
{
	int saved_errno = errno;

	say("got", signal);
	errno = saved_errno;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	volatile unsigned long work = 0;
	int busy = getenv("BUSY") != NULL;

	for (int i = 1; i < argc; i++)
		sigaction(atoi(argv[i]), &action, NULL);
	say("ready", getpid());
	while (poll(&input, 1, busy ? 0 : -1) <= 0)
		for (int i = 0; busy && i < 1000000; i++)
			work += (unsigned long)i;
	return 7;
}
