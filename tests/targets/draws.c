/* SPDX-License-Identifier: MIT */
/*
 * draws FILE...: a program with two threads profiles itself, writes the profile to each FILE, and
 * prints "FILE result". left() works twice as long as right(), together 1.2 s, or a tenth of that
 * with BRIEF in the environment. Meanwhile the program has a child of its own, a SIGCHLD handler
 * and a thread that waits for any child. It prints what these noticed, and whether descriptors or
 * signal settings have changed.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/flameprof_profile.h"
#include "tests/targets/spin.h"

static volatile sig_atomic_t sigchlds;
static int stop_waiting, waited;
static unsigned ms = 400;

static void count(int signal)
{
	(void)signal;
	sigchlds++;
}

/* Sleep for @ms milliseconds, even if SIGCHLD interrupts the sleep. */
static void sleep_ms(unsigned ms)
{
	struct timespec left_over = {0, ms * 1000000};

	while (nanosleep(&left_over, &left_over))
		;
}

/* Wait for any child. Use WNOHANG, because the loop must continue if there is no child. */
static void *wait_for_any(void *unused)
{
	while (!__atomic_load_n(&stop_waiting, __ATOMIC_ACQUIRE)) {
		if (waitpid(-1, NULL, WNOHANG) > 0)
			waited++;
		sleep_ms(1);
	}
	return unused;
}

static unsigned descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/*
 * Insert the name as a comment into the assembly, because the compiler would merge equal functions.
 */
#define WORK(name)                                              \
	BOX static void name(unsigned for_ms)                   \
	{                                                       \
		spin_until(cpu_ns() + for_ms * 1000000ull);     \
		__asm__ volatile("# " #name);                   \
	}
WORK(left)
WORK(right)

static void *second(void *unused)
{
	pthread_setname_np(pthread_self(), "second");
	right(ms);
	return unused;
}

static struct flameprof_profile *record(void)
{
	const struct flameprof_options options = {.rate = 997, .title = "two & threads"};
	struct flameprof_profile *profile = NULL;
	pthread_t thread;

	if (flameprof_start(&options) || pthread_create(&thread, NULL, second, NULL))
		return NULL;
	flameprof_mark("both run");
	left(2 * ms);
	pthread_join(thread, NULL);
	return flameprof_stop(&profile, -1) ? NULL : profile;
}

int main(int argc, char **argv)
{
	struct flameprof_profile *profile;
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART}, after;
	sigset_t before_mask, after_mask;
	pthread_t waiter;
	unsigned before;
	pid_t child;

	if (getenv("BRIEF"))
		ms /= 10;
	profile = record();
	if (!profile)
		return 1;
	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&before_mask);
	sigaddset(&before_mask, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before_mask, NULL);
	before = descriptors();
	if (pthread_create(&waiter, NULL, wait_for_any, NULL))
		return 1;
	child = fork();
	if (!child) {
		sleep_ms(50);
		_exit(0);
	}
	for (int i = 1; i < argc; i++)
		printf("%s %d\n", argv[i], flameprof_profile_write(profile, argv[i]));
	sleep_ms(300);
	/* Wait until the child has ended and was reaped, which may take long on a busy machine. */
	while (!kill(child, 0))
		sleep_ms(1);
	__atomic_store_n(&stop_waiting, 1, __ATOMIC_RELEASE);
	pthread_join(waiter, NULL);
	sigaction(SIGCHLD, NULL, &after);
	pthread_sigmask(SIG_SETMASK, NULL, &after_mask);
	printf("waited %d\nsigchld %d\ndescriptors %d\nhandler %d\nmask %d\n", waited,
		(int)sigchlds, (int)(descriptors() - before), after.sa_handler == count,
		sigismember(&after_mask, SIGUSR2) && !sigismember(&after_mask, SIGUSR1));
	flameprof_profile_free(profile);
	return 0;
}
