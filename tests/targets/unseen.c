/* SPDX-License-Identifier: MIT */
/*
 * unseen CASE [MS]: what keeps samples from a program, which then burns MS of CPU time in burn(),
 * 600 unless said. Where the case is about signals it is about all that can be caught: which one
 * samples is the profiler's business.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "tests/targets/spin.h"

struct kernel_action {
	void *handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static unsigned ms = 600;
static volatile int has_ended;
static const uint64_t all = ~0ULL;

BOX static void burn(void)
{
	uint64_t begin_ns = cpu_ns();

	spin_until(begin_ns + ms * 1000000ULL);
	tell("burn", cpu_ns() - begin_ns);
}

static void handle(int number)
{
	(void)number;
}

/* Have @handler for every signal, past libc. */
static void set_all(void *handler)
{
	struct kernel_action action = {.handler = handler}, libc;

	/* A handler's way back is libc's. */
	if (handler) {
		signal(SIGUSR1, handle);
		arch_syscall4(SYS_rt_sigaction, SIGUSR1, NULL, &libc, sizeof(libc.mask));
		action.flags = libc.flags;
		action.restorer = libc.restorer;
	}
	for (int number = 1; number < 32; number++)
		arch_syscall4(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

/* What syscall(2) says of every signal is what was said to it, and of the mask. */
static int keeps_word(void)
{
	struct kernel_action action = {0}, old;
	uint64_t mask = 1ULL << (SIGUSR1 - 1), before = 0;
	int bad = 0;

	for (int number = 1; number < 32; number++) {
		if (number == SIGKILL || number == SIGSTOP)
			continue;
		action.handler = SIG_IGN;
		bad += syscall(SYS_rt_sigaction, number, &action, &old, 8) != 0 || old.handler;
		bad += syscall(SYS_rt_sigaction, number, NULL, &old, 8) != 0 ||
		       old.handler != (void *)SIG_IGN;
		bad += syscall(SYS_rt_sigaction, number, &action, NULL, 7) != -1;
		bad += syscall(SYS_rt_sigaction, number, (void *)8, NULL, 8) != -1;
		bad += syscall(SYS_rt_sigaction, number, NULL, (void *)8, 8) != -1;
		action.handler = NULL;
		bad += syscall(SYS_rt_sigaction, number, &action, NULL, 8) != 0;
	}
	bad += syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8) != 0;
	bad += syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, 8) != 0;
	bad += before != (all & ~(1ULL << (SIGKILL - 1) | 1ULL << (SIGSTOP - 1)));
	bad += syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, &before, 8) != 0 || before != mask;
	bad += syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &before, 8) != 0 || before;
	bad += syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, 8) != 0;
	bad += syscall(SYS_rt_sigprocmask, 9, &mask, NULL, 8) != -1;
	bad += syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, NULL, 9) != -1;
	bad += syscall(SYS_rt_sigprocmask, SIG_BLOCK, (void *)8, NULL, 8) != -1;
	return bad;
}

static int raw_thread(void *argument)
{
	(void)argument;
	burn();
	has_ended = 1;
	return 0;
}

static void start_raw_thread(void)
{
	char *stack =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	clone(raw_thread, stack + (1 << 20),
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		NULL);
	while (!has_ended)
		usleep(10000);
}

static void notify(union sigval value)
{
	burn();
	has_ended = value.sival_int;
}

/* libc makes the thread of such a timer past pthread_create(). */
static void start_timer_thread(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = notify};
	struct itimerspec once = {.it_value = {0, 1000000}};
	timer_t timer;

	event.sigev_value.sival_int = 1;
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &once, NULL);
	while (!has_ended)
		usleep(10000);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	ms = argument(argc, argv, 2, ms);
	if (!strcmp(name, "clone")) {
		start_raw_thread();
		return 0;
	}
	if (!strcmp(name, "timer")) {
		start_timer_thread();
		return 0;
	}
	if (!strcmp(name, "blocks"))
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
	else if (!strcmp(name, "ignores"))
		set_all((void *)SIG_IGN);
	else if (!strcmp(name, "handles"))
		set_all((void *)handle);
	else if (!strcmp(name, "resets"))
		set_all(NULL);
	else if (!strcmp(name, "calls"))
		printf("bad %d\n", keeps_word());
	burn();
	/* As in Go without cgo, the end is one of its own, too. */
	if (!strcmp(name, "ignores"))
		arch_syscall1(SYS_exit_group, 0);
	return 0;
}
