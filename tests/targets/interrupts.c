/* SPDX-License-Identifier: MIT */
/*
 * interrupts WHAT: a virtual machine that gets ticks. Linked with libflameprof.
 *
 *   count      builtins of 55 ms and more between safe points, with ticks of 10 ms: prints how
 *              often the ticks' function was called, and the ticks that it got in all
 *   busy       sixteen machines and a period of 100 us, so that the timer uses enough CPU time for
 *              samples; a profile may show only burn() and the machines' waits
 *   session    as busy, profiled by itself: prints whether the timer is a thread of the profile
 *   signals    ticks, and signals that do not concern the timer: prints how many went wrong
 *   again      ticks that end, start again for another function, then for the thread's own one
 *   fork       a child that reaches a safe point, and one that execs
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libprof/flameprof.h"
#include "libprof/flameprof_profile.h"
#include "libprof/flameprof_vm.h"
#include "tests/targets/spin.h"

#define MACHINES 16

static unsigned char flag;
static uint64_t calls, ticks;

static void on_ticks(void *context, uint32_t count)
{
	(void)context;
	calls++;
	ticks += count;
}

static void must(int error)
{
	if (!error)
		return;
	fprintf(stderr, "interrupts: %s\n", strerror(-error));
	exit(1);
}

static uint64_t elapsed_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

BOX static void burn(uint64_t ns)
{
	uint64_t end_ns = elapsed_ns() + ns;

	while (elapsed_ns() < end_ns)
		spin(1);
	KEEP_FRAME();
}

/*
 * Find the timer's thread by its name, and store its CPU time. Returns the thread's tid, or 0 if
 * there is none.
 */
static int find_timer(uint64_t *used_ns)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int tid = 0;

	while ((entry = readdir(tasks))) {
		char path[300], name[32] = "";
		unsigned long long used = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(name, sizeof(name), file) && !strcmp(name, "flameprof\n"))
			tid = atoi(entry->d_name);
		fclose(file);
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
		file = fopen(path, "r");
		if (file && fscanf(file, "%llu", &used) == 1 && tid == atoi(entry->d_name))
			*used_ns = used;
		if (file)
			fclose(file);
	}
	closedir(tasks);
	return tid;
}

/* Burn 55 ms, then wait for the ticks, because the timer may be late on a busy machine. */
static void long_builtin(void)
{
	burn(55000000);
	while (flameprof_interrupt_ticks < 5)
		burn(1000000);
}

/* Call the builtin directly, followed by a safe point, then through an intercept stub. */
static void count(void)
{
	flameprof_function *stub = flameprof_intercept(long_builtin, "long_builtin", NULL);
	uint64_t begin_ns = elapsed_ns();

	must(flameprof_interrupt_enable(10000000, on_ticks, NULL));
	must(flameprof_interrupt_register(&flag));
	long_builtin();
	tell("flag", flag);
	flameprof_interrupt_check();
	tell("calls", calls);
	stub();
	tell("stub_calls", calls - 1);
	/* No ticks are left for this safe point. */
	flameprof_interrupt_check();
	tell("ticks", ticks);
	tell("periods", (elapsed_ns() - begin_ns) / 10000000);
	must(flameprof_interrupt_unregister());
	tell("left", flameprof_interrupt_ticks);
}

static uint32_t is_over, machines_up;

static void *machine(void *argument)
{
	must(flameprof_interrupt_register(NULL));
	__atomic_fetch_add(&machines_up, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
		usleep(20000);
	return argument;
}

static void run_machines(void)
{
	uint64_t before_ns = 0, used_ns = 0, begin_ns, burnt_ns;
	pthread_t threads[MACHINES];

	must(flameprof_interrupt_enable(100000, on_ticks, NULL));
	for (int i = 0; i < MACHINES; i++)
		must(-pthread_create(&threads[i], NULL, machine, NULL));
	while (__atomic_load_n(&machines_up, __ATOMIC_SEQ_CST) < MACHINES)
		usleep(1000);
	find_timer(&before_ns);
	begin_ns = elapsed_ns();
	burnt_ns = cpu_ns();
	/*
	 * Wait until the timer and this thread have used enough CPU time for samples, even on a
	 * busy machine.
	 */
	do {
		burn(100000000);
		find_timer(&used_ns);
	} while ((used_ns - before_ns < 30000000 || cpu_ns() - burnt_ns < 100000000) &&
		 elapsed_ns() - begin_ns < 60000000000);
	tell("timer_ns", used_ns - before_ns);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < MACHINES; i++)
		pthread_join(threads[i], NULL);
}

static void session(void)
{
	const struct flameprof_options options = {
		.rate = 1000, .clock = FLAMEPROF_CLOCK_CPU};
	struct flameprof_profile *profile = NULL;
	struct flameprof_profile_summary info;
	struct flameprof_thread thread;
	uint64_t seen = 0, used_ns;
	int timer;

	/*
	 * Start the timer thread before the session, so that the session must find it in the list
	 * of threads. The timer thread blocks its signals, so it gets no samples, but its CPU time
	 * could be added to the profile as credit.
	 */
	must(flameprof_interrupt_register(NULL));
	must(flameprof_start(&options));
	run_machines();
	timer = find_timer(&used_ns);
	must(flameprof_stop(&profile, -1));
	for (uint32_t i = 0; !flameprof_profile_thread(profile, i, &thread); i++)
		seen += (int)thread.tid == timer;
	flameprof_profile_info(profile, &info);
	tell("found", timer != 0);
	tell("seen", seen);
	tell("weight", info.weight);
	flameprof_profile_free(profile);
}

static volatile sig_atomic_t handled_outside;
static pthread_t main_thread;

static void on_signal(int signal)
{
	(void)signal;
	handled_outside |= !pthread_equal(pthread_self(), main_thread);
}

/*
 * Send signals to the process, whose only thread blocks them. Return how many of them did not stay
 * pending.
 */
static unsigned find_pending(void)
{
	const struct timespec now = {0, 0};
	unsigned lost = 0;

	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		sigset_t set, before;

		/* SIGVTALRM is also used by flamerun. */
		if (signal == SIGKILL || signal == SIGSTOP || signal == SIGVTALRM ||
			(signal > 31 && signal < SIGRTMIN))
			continue;
		sigemptyset(&set);
		sigaddset(&set, signal);
		sigprocmask(SIG_BLOCK, &set, &before);
		kill(getpid(), signal);
		usleep(500);
		lost += sigtimedwait(&set, NULL, &now) != signal;
		sigprocmask(SIG_SETMASK, &before, NULL);
	}
	return lost;
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	const struct timespec rest = {0, 300000000};

	main_thread = pthread_self();
	must(flameprof_interrupt_enable(1000000, on_ticks, NULL));
	must(flameprof_interrupt_register(&flag));
	tell("stolen", find_pending());
	/* A tick is not a signal, so it does not interrupt a sleep. */
	tell("interrupted", nanosleep(&rest, NULL) != 0);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 100; i++) {
		kill(getpid(), SIGUSR1);
		usleep(500);
	}
	tell("elsewhere", handled_outside);
	/* The timer may have to wait for a CPU. */
	while (!flameprof_interrupt_ticks)
		usleep(500);
	tell("ticks", flameprof_interrupt_ticks);
}

static void add_ticks(void *context, uint32_t count)
{
	*(uint64_t *)context += count;
}

static void await_ticks_in(uint64_t *sum)
{
	uint64_t before = *sum;

	while (*sum == before) {
		usleep(500);
		flameprof_interrupt_check();
	}
}

static void again(void)
{
	uint64_t others = 0, own = 0;
	const struct flameprof_interrupt_options options = {
		.period_ns = 1000000, .function = add_ticks, .context = &own};

	must(flameprof_interrupt_enable(1000000, on_ticks, NULL));
	must(flameprof_interrupt_register(&flag));
	while (!flameprof_interrupt_ticks)
		usleep(500);
	must(flameprof_interrupt_disable());
	flameprof_interrupt_check();
	tell("timers", (uint64_t)find_timer(&others) != 0);
	others = 0;
	must(flameprof_interrupt_enable(2000000, add_ticks, &others));
	await_ticks_in(&others);
	must(flameprof_interrupt_unregister());
	must(flameprof_interrupt_register_with(&options));
	others = 0;
	await_ticks_in(&own);
	must(flameprof_interrupt_disable());
	tell("twice", (uint64_t)-flameprof_interrupt_disable());
	await_ticks_in(&own);
	tell("calls", calls);
	tell("others", others);
}

static void fork_both(void)
{
	uint64_t used_ns;
	int status;
	pid_t child;

	must(flameprof_interrupt_enable(1000000, on_ticks, NULL));
	must(flameprof_interrupt_register(&flag));
	child = fork();
	if (!child) {
		tell("child_before", find_timer(&used_ns) != 0);
		flameprof_interrupt_check();
		tell("child_after", find_timer(&used_ns) != 0);
		while (!calls)
			flameprof_interrupt_check();
		exit(0);
	}
	waitpid(child, &status, 0);
	tell("child_status", (uint64_t)status);
	child = fork();
	if (!child) {
		execlp("true", "true", NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	tell("exec_status", (uint64_t)status);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "count";

	if (!strcmp(what, "count"))
		count();
	else if (!strcmp(what, "busy"))
		run_machines();
	else if (!strcmp(what, "session"))
		session();
	else if (!strcmp(what, "signals"))
		signals();
	else if (!strcmp(what, "again"))
		again();
	else if (!strcmp(what, "fork"))
		fork_both();
	else
		return 2;
	return 0;
}
