/* SPDX-License-Identifier: MIT */
/*
 * signals_seen: print everything that sampling could change, while burning some 300 ms. With and
 * without flamerun the output must be equal byte by byte.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/targets/spin.h"

static void dispositions(void)
{
	for (int number = 1; number < 65; number++) {
		struct sigaction action;
		if (sigaction(number, NULL, &action))
			continue;
		if (action.sa_handler != SIG_DFL)
			printf("signal %d is %s, flags %x\n", number,
				action.sa_handler == SIG_IGN ? "ignored" : "caught",
				action.sa_flags);
	}
	sigset_t mask;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	for (int number = 1; number < 65; number++) {
		if (sigismember(&mask, number) == 1)
			printf("signal %d is blocked\n", number);
	}
	stack_t stack;
	sigaltstack(NULL, &stack);
	printf("alternate stack: %s\n", stack.ss_flags & SS_DISABLE ? "none" : "set");
}

static void descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned long open = 0;

	while (folder && (entry = readdir(folder))) {
		unsigned long number = strtoul(entry->d_name, NULL, 10);
		if (entry->d_name[0] != '.' && number < 64)
			open |= 1UL << number;
	}
	if (folder)
		closedir(folder);
	printf("open descriptors: %lx\n", open);
}

static void status_lines(void)
{
	static const char *const wanted[] = {
		"Threads:", "NoNewPrivs:", "Seccomp:", "Umask:", "CapEff:", "CoreDumping:"};
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
			if (!strncmp(line, wanted[i], strlen(wanted[i])))
				fputs(line, stdout);
		}
	}
	if (file)
		fclose(file);
}

static void process(void)
{
	struct itimerval timer;
	struct rlimit limit;

	errno = 0;
	int child = (int)wait(NULL);
	printf("wait: %d, errno %d\n", child, errno);
	printf("dumpable: %d\n", prctl(PR_GET_DUMPABLE));
	for (int which = 0; which < 3; which++) {
		getitimer(which, &timer);
		printf("interval timer %d: %ld\n", which,
			(long)(timer.it_value.tv_sec + timer.it_value.tv_usec));
	}
	for (int which = 0; which < RLIM_NLIMITS; which++) {
		if (!getrlimit((__rlimit_resource_t)which, &limit))
			printf("limit %d: %lx\n", which, (unsigned long)limit.rlim_cur);
	}
}

static void environment(void)
{
	extern char **environ;

	for (char **variable = environ; *variable; variable++) {
		if (strncmp(*variable, "LD_PRELOAD=", 11) && strncmp(*variable, "FLAMERUN_", 9))
			puts(*variable);
	}
}

/*
 * Burn CPU time. A sample may be taken at any point here; it must neither change errno nor
 * interrupt a call.
 */
static void burn(void)
{
	unsigned changed = 0;
	unsigned cut = 0;

	for (int i = 0; i < 100; i++) {
		errno = 4242;
		spin(120);
		KEEP_FRAME(); /* make the compiler read errno again */
		changed += errno != 4242;
		cut += poll(NULL, 0, 1) != 0;
	}
	printf("errno changed %u times, poll cut short %u times\n", changed, cut);
}

int main(void)
{
	dispositions();
	descriptors();
	burn();
	dispositions();
	descriptors();
	status_lines();
	process();
	environment();
	return 3;
}
