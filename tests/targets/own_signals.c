/* SPDX-License-Identifier: MIT */
/*
 * own_signals CASE: uses that a program may make of SIGVTALRM, its signal mask and its alternate
 * stacks, while it burns some 100 ms (with BRIEF in the environment almost no time). Output and
 * exit status must equal those without flamerun.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/syscall.h"
#include "tests/targets/spin.h"

extern char **environ;

int sigpause_mask(int mask) __asm__("sigpause");
sighandler_t bsd_signal(int number, sighandler_t handler);
sighandler_t __sysv_signal(int number, sighandler_t handler);

static unsigned units = 4500; /* of spin(), burned at a time */
static volatile sig_atomic_t caught;
static sigjmp_buf outside;

static void count(int number)
{
	(void)number;
	caught++;
}

static void work(int number)
{
	spin(units);
	count(number);
}

static void leap(int number)
{
	(void)number;
	longjmp(outside, 1);
}

/* Reset every signal's action by the function @way. */
static void reset(const char *way)
{
	for (int number = 1; number < 32; number++) {
		if (!strcmp(way, "signal"))
			signal(number, SIG_DFL);
		else if (!strcmp(way, "bsd_signal"))
			bsd_signal(number, SIG_DFL);
		else if (!strcmp(way, "ssignal"))
			ssignal(number, SIG_DFL);
		else if (!strcmp(way, "sysv_signal"))
			__sysv_signal(number, SIG_DFL);
		else if (!strcmp(way, "sigset"))
			sigset(number, SIG_DFL);
		else
			sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	}
	spin(units);
}

/* Set an alternate stack of @bytes, below which a page is unmapped. */
static void alternate_stack(size_t bytes)
{
	char *memory =
		mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = memory + 4096, .ss_size = bytes};

	mprotect(memory, 4096, PROT_NONE);
	if (sigaltstack(&stack, NULL))
		perror("sigaltstack");
}

static void handler_on_small_stack(void)
{
	struct sigaction action = {.sa_handler = work, .sa_flags = SA_ONSTACK}, seen;

	alternate_stack(6144);
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &seen);
	printf("mask of the handler holds SIGVTALRM: %d\n", sigismember(&seen.sa_mask, SIGVTALRM));
	raise(SIGUSR1);
}

/*
 * Bytes of the stack that are left for the handler, and bytes above that the kernel's signal frame
 * uses.
 */
static volatile size_t room, used;

static void measure(int number)
{
	stack_t stack;

	sigaltstack(NULL, &stack);
	used = (size_t)((char *)stack.ss_sp + stack.ss_size - (char *)__builtin_frame_address(0));
	count(number);
}

/* Of a large stack, fill only 12 KiB. */
static void fill(int number)
{
	size_t bytes = room < 24576 ? room - 768 : 12288;
	volatile char *rest = __builtin_alloca(bytes);

	for (size_t i = 0; i < bytes; i += 64)
		rest[i] = (char)number;
	spin(2000);
	caught += rest[0] == (char)number;
}

static void handler_with_room(const char *bytes)
{
	struct sigaction action = {.sa_handler = measure, .sa_flags = SA_ONSTACK};

	alternate_stack(49152);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	room = strtoul(bytes, NULL, 10);
	alternate_stack(room + used);
	action.sa_handler = fill;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 8; i++) {
		spin(200);
		raise(SIGUSR1);
	}
	printf("%zu bytes were enough %d times\n", room, caught);
}

static void fault_handler(int number)
{
	spin(30);
	count(number);
	siglongjmp(outside, 1);
}

/* Catch faults, as interpreters do to find out whether memory is mapped. */
static void faults(void)
{
	struct sigaction action = {.sa_handler = fault_handler, .sa_flags = SA_ONSTACK};
	int *volatile nowhere = NULL;

	sigaction(SIGSEGV, &action, NULL);
	for (int size = 0; size < 3; size++) {
		/*
		 * The first size is just enough for the kernel's signal frame and the library's
		 * code.
		 */
		alternate_stack((size_t[]){10240, 16384, 57344}[size]);
		for (int i = 0; i < 300; i++)
			if (!sigsetjmp(outside, 1))
				*nowhere = i;
		printf("%d faults\n", caught);
	}
}

static void show(const char *what, sighandler_t handler)
{
	printf("%s: %s\n", what,
		handler == count     ? "count"
		: handler == leap    ? "leap"
		: handler == SIG_DFL ? "default"
		: handler == SIG_IGN ? "ignored"
				     : "another");
}

/* For each function that sets a handler, print the previous handler that it returns. */
static void told(void)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = SA_ONSTACK}, before;

	alternate_stack(57344);
	sigaction(SIGUSR1, &action, NULL);
	show("signal", signal(SIGUSR1, leap));
	show("signal", signal(SIGUSR1, SIG_DFL));
	sigaction(SIGUSR1, &action, NULL);
	show("bsd_signal", bsd_signal(SIGUSR1, leap));
	sigaction(SIGUSR1, &action, NULL);
	show("ssignal", ssignal(SIGUSR1, leap));
	sigaction(SIGUSR1, &action, NULL);
	show("sysv_signal", __sysv_signal(SIGUSR1, leap));
	sigaction(SIGUSR1, &action, NULL);
	show("sigset", sigset(SIGUSR1, leap));
	sigaction(SIGUSR1, &action, NULL);
	siginterrupt(SIGUSR1, 0);
	raise(SIGUSR1);
	sigaction(SIGUSR1, NULL, &before);
	show("sigaction", before.sa_handler);
	printf("flags %x, SIGVTALRM %d, caught %d\n", (unsigned)before.sa_flags,
		sigismember(&before.sa_mask, SIGVTALRM), caught);
	spin(units);
}

static void blocked(void)
{
	sigset_t all, before, pending;

	signal(SIGVTALRM, count);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	spin(units);
	raise(SIGVTALRM);
	sigprocmask(SIG_BLOCK, NULL, &before);
	sigpending(&pending);
	printf("blocked %d, pending %d, caught %d\n", sigismember(&before, SIGVTALRM),
		sigismember(&pending, SIGVTALRM), caught);
	sigdelset(&all, SIGVTALRM);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigprocmask(SIG_BLOCK, NULL, &before);
	printf("blocked %d, caught %d\n", sigismember(&before, SIGVTALRM), caught);
}

/*
 * sigtimedwait() for all signals must not return the sampling signal, but it must return a signal
 * that the program sent.
 */
static void waited_for(void)
{
	const struct timespec moment = {0, 1000000};
	sigset_t all;
	int found = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 200; i++) {
		spin(60);
		found += sigtimedwait(&all, NULL, &moment) > 0;
	}
	printf("%d came unasked\n", found);
	/* Set a mask that libc does not know of, under which the sampling signal can be pending. */
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	for (int i = 0; i < 20; i++) {
		spin(400);
		found += sigtimedwait(&all, NULL, &moment) > 0;
	}
	sigprocmask(SIG_SETMASK, &all, NULL);
	printf("%d came unasked in all\n", found);
	kill(getpid(), SIGVTALRM);
	sigwait(&all, &found);
	printf("%d was sent\n", found);
	kill(getpid(), SIGVTALRM);
	for (int i = 0; i < 100; i++)
		spin(60);
	printf("%d after a while\n", sigtimedwait(&all, NULL, &moment));
}

static int other_signals_blocked(void)
{
	sigset_t set;
	int n = 0;

	sigprocmask(SIG_BLOCK, NULL, &set);
	for (int number = 1; number < 32; number++)
		n += number != SIGVTALRM && sigismember(&set, number);
	return n;
}

static void handler_leaps_out(void)
{
	struct sigaction action = {.sa_handler = leap};

	spin(units);
	sigaction(SIGVTALRM, &action, NULL);
	if (!setjmp(outside))
		raise(SIGVTALRM);
	printf("others blocked: %d\n", other_signals_blocked());
}

/* Return the CPU time in ns that ITIMER_VIRTUAL counts (user mode only). */
static uint64_t user_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_utime.tv_sec * 1000000000 +
	       (uint64_t)usage.ru_utime.tv_usec * 1000;
}

static void interval_timer(void)
{
	struct sigaction action = {.sa_handler = count};
	struct itimerval timer = {{0, 10000}, {0, 10000}};
	uint64_t start_ns = user_ns(), due;

	sigaction(SIGVTALRM, &action, NULL);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	spin(24000);
	timer = (struct itimerval){0};
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	due = (user_ns() - start_ns) / 10000000;
	puts(2u * caught >= due && 2u * caught <= 3 * due ? "as many as asked for"
							  : "too few or too many");
}

static void caught_once(void)
{
	struct sigaction action = {.sa_handler = count, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGVTALRM, &action, NULL);
	spin(units);
	raise(SIGVTALRM);
	sigaction(SIGVTALRM, NULL, &action);
	printf("caught %d, default %d\n", caught, action.sa_handler == SIG_DFL);
	fflush(stdout);
	raise(SIGVTALRM);
	puts("still alive");
}

static void ignored_by_child(void)
{
	sigset_t prof;

	signal(SIGVTALRM, SIG_IGN);
	spin(units);
	sigemptyset(&prof);
	sigaddset(&prof, SIGVTALRM);
	execlp("sh", "sh", "-c", "kill -VTALRM $$; echo alive", NULL);
}

/* With SIGVTALRM blocked, exec @words, or a shell that sends itself the signal. */
static void blocked_in_child(char **words)
{
	sigset_t prof;

	sigemptyset(&prof);
	sigaddset(&prof, SIGVTALRM);
	sigprocmask(SIG_BLOCK, &prof, NULL);
	spin(units);
	if (*words)
		execvp(*words, words);
	execlp("sh", "sh", "-c", "kill -VTALRM $$; echo alive", NULL);
}

static volatile int code, is_from_child;
static volatile pid_t child;

static void note(int number, siginfo_t *info, void *context)
{
	(void)context;
	code = info->si_code;
	is_from_child = child && info->si_pid == child;
	count(number);
}

static void *spin_blocked(void *mask)
{
	pthread_sigmask(SIG_SETMASK, mask, NULL);
	for (;;)
		spin(100);
	return NULL;
}

/* Send the signal to the process while both of its threads block it. */
static void blocked_in_all(void)
{
	struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO};
	struct itimerval once = {.it_value = {0, 1000}};
	sigset_t all, pending;
	pthread_t other;

	sigaction(SIGVTALRM, &action, NULL);
	sigfillset(&all);
	pthread_create(&other, NULL, spin_blocked, &all);
	for (int way = 0; way < 3; way++) {
		sigprocmask(SIG_BLOCK, &all, NULL);
		spin(1000);
		if (way == 0) {
			kill(getpid(), SIGVTALRM);
		} else if (way == 1) {
			child = fork();
			if (!child) {
				kill(getppid(), SIGVTALRM);
				_exit(0);
			}
			waitpid(child, NULL, 0);
		} else {
			setitimer(ITIMER_VIRTUAL, &once, NULL);
		}
		spin(4000);
		sigpending(&pending);
		printf("pending %d", sigismember(&pending, SIGVTALRM));
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		printf(", caught %d, code %d, from the child %d\n", caught, code, is_from_child);
	}
}

static char *self;

/* Exec this program again to print the mask that it inherits. */
static void show_mask(const char *how)
{
	fflush(stdout);
	execl(self, self, "masked", how, NULL);
	_exit(9);
}

static int is_blocked(void)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, SIGVTALRM);
}

static void spawn(const char *how, const sigset_t *mask)
{
	char *words[] = {self, (char *)"masked", (char *)how, NULL};
	posix_spawnattr_t attributes;
	pid_t child;

	posix_spawnattr_init(&attributes);
	if (mask) {
		posix_spawnattr_setsigmask(&attributes, mask);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	}
	fflush(stdout);
	posix_spawn(&child, self, NULL, &attributes, words, environ);
	posix_spawnattr_destroy(&attributes);
	waitpid(child, NULL, 0);
}

/* Block all signals around vfork() and restore the mask in the child, as Python does. */
static void masks_of_children(void)
{
	static sigset_t all, none, before;

	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_BLOCK, &all, &before);
	spin(units);
	if (!vfork())
		show_mask("as in the parent");
	wait(NULL);
	if (!vfork()) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		show_mask("after vfork and SIG_SETMASK");
	}
	wait(NULL);
	if (!vfork()) {
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		show_mask("after vfork and SIG_UNBLOCK");
	}
	wait(NULL);
	if (!fork()) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		show_mask("after fork and SIG_SETMASK");
	}
	wait(NULL);
	spawn("spawned", NULL);
	spawn("spawned with a mask", &before);
	printf("still blocked in the parent: %d\n", is_blocked());
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!vfork()) {
		sigprocmask(SIG_BLOCK, &all, NULL);
		show_mask("after vfork and SIG_BLOCK");
	}
	wait(NULL);
	spawn("spawned", NULL);
	spawn("spawned with a mask", &all);
	printf("still not blocked in the parent: %d\n", is_blocked());
	signal(SIGVTALRM, SIG_IGN);
	spawn("spawned, ignoring it", NULL);
	show("in the parent", signal(SIGVTALRM, SIG_DFL));
}

__attribute__((noinline)) static void work_blocked(void)
{
	spin(units);
	printf("blocked %d\n", is_blocked());
}

__attribute__((noinline)) static void work_unblocked(void)
{
	spin(units);
	printf("unblocked %d\n", !is_blocked());
}

static void show_old(const char *what, int mask)
{
	printf("%s had SIGVTALRM %d\n", what, !!(mask & sigmask(SIGVTALRM)));
}

/* Change the mask by functions that are older than sigprocmask(). */
static void old_masks(void)
{
	printf("sighold %d\n", sighold(SIGVTALRM));
	work_blocked();
	show_old("siggetmask", siggetmask());
	printf("sigrelse %d\n", sigrelse(SIGVTALRM));
	work_unblocked();
	show_old("sigblock", sigblock(sigmask(SIGVTALRM) | sigmask(SIGUSR1)));
	work_blocked();
	show_old("sigsetmask", sigsetmask(0));
	work_unblocked();
	show_old("sigsetmask", sigsetmask(-1));
	work_blocked();
	show_old("sigsetmask", sigsetmask(sigmask(SIGUSR1)));
	work_unblocked();
	show("sigset", sigset(SIGVTALRM, SIG_HOLD));
	work_blocked();
	show("sigset", sigset(SIGVTALRM, count));
	work_unblocked();
	printf("sigignore %d\n", sigignore(SIGVTALRM));
	work_unblocked();
	printf("no signal %d %d\n", sighold(0), sigrelse(65));
	sigblock(sigmask(SIGVTALRM));
	if (!vfork()) {
		sigsetmask(0);
		show_mask("after vfork and sigsetmask");
	}
	wait(NULL);
	if (!vfork()) {
		sigrelse(SIGVTALRM);
		show_mask("after vfork and sigrelse");
	}
	wait(NULL);
	sigsetmask(0);
	if (!vfork()) {
		sighold(SIGVTALRM);
		show_mask("after vfork and sighold");
	}
	wait(NULL);
	printf("still not blocked in the parent: %d\n", is_blocked());
}

static void run_shell(const char *how)
{
	char command[4096];
	FILE *stream;

	fflush(stdout);
	snprintf(command, sizeof(command), "exec %s masked 'system, %s'", self, how);
	printf("status %d\n", system(command));
	fflush(stdout);
	snprintf(command, sizeof(command), "exec %s masked 'popen, %s'", self, how);
	stream = popen(command, "w");
	pclose(stream);
	fflush(stdout);
}

/* A shell that libc starts inherits the mask and the actions that the program has set. */
static void masks_of_shells(void)
{
	sigset_t all;

	spin(units);
	run_shell("as it was");
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	run_shell("blocked");
	spin(units);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	signal(SIGVTALRM, SIG_IGN);
	run_shell("ignored");
	spin(units);
	printf("still not blocked in the parent: %d\n", is_blocked());
	show("in the parent", signal(SIGVTALRM, SIG_IGN));
	/*
	 * The thread's alternate stack is too small for sampling, so the kernel's mask really
	 * blocks the signal.
	 */
	alternate_stack(2048);
	sigprocmask(SIG_BLOCK, &all, NULL);
	run_shell("ignored and blocked");
	printf("still blocked in the parent: %d\n", is_blocked());
}

static void *show_thread_mask(void *how)
{
	spin(units);
	printf("%s: %d\n", (const char *)how, is_blocked());
	return NULL;
}

/* Create threads that inherit the mask of their creator. */
static void masks_of_threads(void)
{
	pthread_attr_t attributes;
	sigset_t all, none;
	pthread_t thread;

	sigfillset(&all);
	sigemptyset(&none);
	pthread_attr_init(&attributes);
	for (int is_held = 0; is_held < 2; is_held++) {
		sigprocmask(SIG_SETMASK, is_held ? &all : &none, NULL);
		pthread_create(&thread, NULL, show_thread_mask, (char *)"inherited");
		pthread_join(thread, NULL);
		pthread_attr_setsigmask_np(&attributes, is_held ? &none : &all);
		pthread_create(&thread, &attributes, show_thread_mask, (char *)"given");
		pthread_join(thread, NULL);
	}
}

static int seen_mask; /* signal mask inside the handler: bits for SIGUSR1, SIGUSR2 and SIGVTALRM */

static void note_mask(int number)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	seen_mask = sigismember(&mask, SIGUSR1) << 2 | sigismember(&mask, SIGUSR2) << 1 |
		    sigismember(&mask, SIGVTALRM);
	count(number);
}

/* Wait with @mask in function number @way, for at most 10 s if the function has a timeout. */
static int wait_with(int way, int epoll, const sigset_t *mask)
{
	const struct timespec limit = {10, 0};

	switch (way) {
	case 0:
		return sigsuspend(mask);
	case 1:
		return pselect(0, NULL, NULL, NULL, &limit, mask);
	case 2:
		return ppoll(NULL, 0, &limit, mask);
	case 3:
		return epoll_pwait(epoll, &(struct epoll_event){0}, 1, 10000, mask);
	case 4:
		return epoll_pwait2(epoll, &(struct epoll_event){0}, 1, &limit, mask);
	case 5:
		return sigpause(SIGVTALRM);
	default:
		return sigpause_mask(sigmask(SIGUSR2));
	}
}

#define WAYS 7

static pid_t send_later(void)
{
	const struct timespec while_ = {0, 20000000};
	pid_t sender = fork();

	if (!sender) {
		nanosleep(&while_, NULL);
		kill(getppid(), SIGVTALRM);
		_exit(0);
	}
	return sender;
}

/* Unblock SIGVTALRM only during a wait. The signal arrives before the wait or during it. */
static void let_in(void)
{
	struct sigaction action = {.sa_handler = note_mask};
	sigset_t set, let_in;
	int epoll = epoll_create1(0);

	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGVTALRM, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGVTALRM);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	sigemptyset(&let_in);
	for (int way = 0; way < WAYS; way++) {
		for (int is_pending = 0; is_pending < 2; is_pending++) {
			pid_t sender = 0;
			int result;

			caught = seen_mask = 0;
			spin(units / 14);
			if (is_pending)
				kill(getpid(), SIGVTALRM);
			else
				sender = send_later();
			spin(units / 140);
			printf("caught before %d, ", caught);
			result = wait_with(way, epoll, &let_in);
			printf("way %d returned %d, EINTR %d, caught %d, mask %d, blocked %d\n",
				way, result, errno == EINTR, caught, seen_mask, is_blocked());
			if (sender)
				waitpid(sender, NULL, 0);
		}
	}
	/* A wait that fails at once must deliver no signal. */
	caught = 0;
	kill(getpid(), SIGVTALRM);
	printf("refused %d", epoll_pwait(-1, &(struct epoll_event){0}, 1, 0, &let_in));
	printf(", caught %d, blocked %d\n", caught, is_blocked());
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	printf("caught %d\n", caught);
}

int main(int count_of_words, char **words)
{
	const char *what = count_of_words > 1 ? words[1] : "";

	if (getenv("BRIEF"))
		units = 200;
	self = words[0];

	if (!strncmp(what, "reset-", 6))
		reset(what + 6);
	else if (!strcmp(what, "small-stack")) {
		alternate_stack(4096);
		printf("blocked %d\n", is_blocked());
		spin(units);
	} else if (!strcmp(what, "on-small-stack"))
		handler_on_small_stack();
	else if (!strncmp(what, "room-", 5))
		handler_with_room(what + 5);
	else if (!strcmp(what, "faults"))
		faults();
	else if (!strcmp(what, "told"))
		told();
	else if (!strcmp(what, "blocked"))
		blocked();
	else if (!strcmp(what, "waited-for"))
		waited_for();
	else if (!strcmp(what, "leaps-out"))
		handler_leaps_out();
	else if (!strcmp(what, "interval-timer"))
		interval_timer();
	else if (!strcmp(what, "caught-once"))
		caught_once();
	else if (!strcmp(what, "ignored-by-child"))
		ignored_by_child();
	else if (!strcmp(what, "blocked-in-child"))
		blocked_in_child(words + 2);
	else if (!strcmp(what, "blocked-in-all"))
		blocked_in_all();
	else if (!strcmp(what, "masks-of-children"))
		masks_of_children();
	else if (!strcmp(what, "old-masks"))
		old_masks();
	else if (!strcmp(what, "masks-of-shells"))
		masks_of_shells();
	else if (!strcmp(what, "masks-of-threads"))
		masks_of_threads();
	else if (!strcmp(what, "let-in"))
		let_in();
	else if (!strcmp(what, "masked")) {
		printf("%s: %d\n", words[2], is_blocked());
		show("handler", signal(SIGVTALRM, SIG_DFL));
	}
	else
		return 2;
	puts("end");
	return 0;
}
