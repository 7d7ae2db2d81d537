/* SPDX-License-Identifier: MIT */
/*
 * unseen CASE [MS]: do something that prevents samples, then burn MS of CPU time in burn()
 * (default: 600). The cases about signals treat all signals that can be caught, because the program
 * does not know which one the profiler uses.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <mqueue.h>
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

/* Set @handler for every signal, by system calls that libc does not see. */
static void set_all(void *handler)
{
	struct kernel_action action = {.handler = handler}, libc;

	/*
	 * To return, a handler needs libc's restorer, so take it from an action that libc has set.
	 */
	if (handler) {
		signal(SIGUSR1, handle);
		arch_syscall4(SYS_rt_sigaction, SIGUSR1, NULL, &libc, sizeof(libc.mask));
		action.flags = libc.flags;
		action.restorer = libc.restorer;
	}
	for (int number = 1; number < 32; number++)
		arch_syscall4(SYS_rt_sigaction, number, &action, NULL, sizeof(action.mask));
}

/*
 * Count wrong results of syscall(2). Each call must return the action or the mask that was set
 * before.
 */
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

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

BOX static void spin_to(uint64_t end_ns)
{
	while (now_ns(CLOCK_MONOTONIC) < end_ns)
		spin(1);
}

/*
 * Burn between the kernel's timer ticks and sleep at each tick. At a tick the coarse clock
 * advances.
 */
static void dodge_ticks(void)
{
	uint64_t begin_ns = cpu_ns(), tick_ns;
	struct timespec tick;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	tick_ns = (uint64_t)tick.tv_nsec;
	while (cpu_ns() - begin_ns < ms * 1000000ULL) {
		uint64_t from_ns = now_ns(CLOCK_MONOTONIC_COARSE) + tick_ns / 8;

		while (from_ns < now_ns(CLOCK_MONOTONIC))
			from_ns += tick_ns;
		tick = (struct timespec){
			(time_t)(from_ns / 1000000000u), (long)(from_ns % 1000000000u)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &tick, NULL);
		spin_to(from_ns + tick_ns * 3 / 8);
	}
	tell("spin_to", cpu_ns() - begin_ns);
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

static struct sigevent by_thread(void (*function)(union sigval), int value)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = function};

	event.sigev_value.sival_int = value;
	return event;
}

static void start_timer(struct sigevent event)
{
	const struct itimerspec once = {.it_value = {0, 1000000}};
	timer_t timer;

	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &once, NULL);
}

/*
 * Use a timer with a thread. libc makes this thread without a call of pthread_create() that could
 * be intercepted.
 */
static void start_timer_thread(void)
{
	start_timer(by_thread(notify, 1));
	while (!has_ended)
		usleep(10000);
}

/* Use a message queue with a notification thread, which libc makes in the same hidden way. */
static void start_queue_thread(void)
{
	struct sigevent event = by_thread(notify, 1);
	char name[32];
	mqd_t queue;

	snprintf(name, sizeof(name), "/unseen-%d", (int)getpid());
	queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, NULL);
	mq_unlink(name);
	if (queue < 0 || mq_notify(queue, &event)) {
		puts("no such thing here");
		return;
	}
	mq_send(queue, "", 1, 0);
	while (!has_ended)
		usleep(10000);
}

#define TIMERS 400

static volatile int sum, count;

static void add(union sigval value)
{
	__atomic_fetch_add(&sum, value.sival_int, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count, 1, __ATOMIC_RELEASE);
}

/* Start many timers that have threads, each with its own value. */
static void start_timers(void)
{
	for (int i = 1; i <= TIMERS; i++)
		start_timer(by_thread(add, i));
	while (__atomic_load_n(&count, __ATOMIC_ACQUIRE) < TIMERS)
		usleep(10000);
	printf("sum %d\n", sum == TIMERS * (TIMERS + 1) / 2);
}

/* An io_uring with a few entries, and the addresses of its rings. */
struct uring {
	int fd;
	struct io_uring_params params;
	char *submitted, *completed;
	struct io_uring_sqe *entries;
};

static unsigned *in_ring(char *ring, unsigned offset)
{
	return (unsigned *)(void *)(ring + offset);
}

static char *map_ring(const struct uring *uring, size_t bytes, off_t offset)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, uring->fd, offset);
}

static int open_uring(struct uring *uring)
{
	const struct io_uring_params *params = &uring->params;

	uring->fd = (int)syscall(SYS_io_uring_setup, 4, &uring->params);
	if (uring->fd < 0)
		return -1;
	uring->submitted = map_ring(uring,
		params->sq_off.array + params->sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	uring->completed = map_ring(uring,
		params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe),
		IORING_OFF_CQ_RING);
	uring->entries = (struct io_uring_sqe *)(void *)map_ring(
		uring, params->sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	return 0;
}

/* Have a worker thread of the kernel read @bytes of zeros, and wait until they are read. */
static void read_by_worker(struct uring *uring, int file, char *to, unsigned bytes)
{
	const struct io_uring_params *params = &uring->params;
	unsigned *tail = in_ring(uring->submitted, params->sq_off.tail);
	unsigned *head = in_ring(uring->completed, params->cq_off.head);

	uring->entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
		.flags = IOSQE_ASYNC,
		.fd = file,
		.addr = (uint64_t)(uintptr_t)to,
		.len = bytes};
	in_ring(uring->submitted, params->sq_off.array)[*tail & (params->sq_entries - 1)] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, uring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static void read_by_workers(void)
{
	static char buffer[8 << 20];
	struct uring uring = {.fd = -1};
	struct timespec used = {0};
	int file = open("/dev/zero", O_RDONLY);

	if (open_uring(&uring)) {
		puts("no such thing here");
		return;
	}
	while ((uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000 < ms) {
		read_by_worker(&uring, file, buffer, sizeof(buffer));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"clone", start_raw_thread},
	{"ticks", dodge_ticks},
	{"timer", start_timer_thread},
	{"timers", start_timers},
	{"queue", start_queue_thread},
	{"uring", read_by_workers},
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	ms = argument(argc, argv, 2, ms);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(name, cases[i].name)) {
			cases[i].run();
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
	/* End by a direct system call, as Go does without cgo. */
	if (!strcmp(name, "ignores"))
		arch_syscall1(SYS_exit_group, 0);
	return 0;
}
