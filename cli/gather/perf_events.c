/* SPDX-License-Identifier: MIT */
/*
 * Each event counts the CPU time of one thread (cpu-clock). If the thread is in user mode at the
 * end of a period, the event signals the thread.
 *
 * Events exclude the kernel, because a signal that is sent during execve(2) would arrive after the
 * exec has removed the handler, and kill the new program. At 10 kHz this would happen at every
 * second exec. When an exec succeeds, remove_on_exec removes the event. With perf_event_paranoid 2
 * an unprivileged user may open only events that exclude the kernel.
 *
 * Every sampled process can write the arena, and flamerun may be root, so a thread id in the arena
 * may be forged. So an event is opened disabled. It is enabled only if its thread then belongs to a
 * process that has the arena mapped.
 */
#include "cli/gather/perf_events.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/gather/kernel_stacks.h"
#include "cli/gather/maps.h"
#include "libprof/procfs.h"

#define NS_PER_S 1000000000ULL

/* The events of one ring's thread. */
struct perf_event {
	/* The ring's owner when opening an event was last tried; 0 before. */
	uint64_t owner;
	bool is_open;
	struct kernel_stacks stacks;
};

struct perf_events {
	struct wire_arena *arena;
	struct stat file;    /* device and inode of the arena */
	struct rlimit files; /* RLIMIT_NOFILE before it was raised */
	bool has_raised;     /* RLIMIT_NOFILE was raised */
	uint64_t period_ns;
	bool has_kernel;
	uint64_t unseen; /* atomic */
	/* The image number that is_of_run() last checked, and the result. */
	uint64_t image;
	bool is_of_run;
	struct perf_event rings[WIRE_RINGS];
	/* the signal that events send */
	int signal;
};

uint32_t perf_events_tick_hz(void)
{
	uint64_t tick_ns = clock_tick_ns();

	return tick_ns ? (uint32_t)((NS_PER_S + tick_ns / 2) / tick_ns) : 250;
}

/* Open a disabled event on thread @tid (0: the calling thread). Returns a descriptor or -errno. */
static int open_event(pid_t tid, uint64_t period_ns)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.wakeup_events = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.remove_on_exec = 1,
	};
	long fd =
		syscall(SYS_perf_event_open, &attributes, tid, -1, -1, (long)PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int signal_thread(int fd, pid_t tid, int signal)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};

	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, signal) ||
		fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK))
		return -errno;
	return 0;
}

/* Raise RLIMIT_NOFILE so that each ring can have a descriptor. *@before gets the old limit. */
static int raise_files(struct rlimit *before, bool *has_raised)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	*before = limit;
	if (limit.rlim_cur >= WIRE_EVENT_DESCRIPTOR + WIRE_RINGS)
		return 0;
	if (limit.rlim_max < WIRE_EVENT_DESCRIPTOR + WIRE_RINGS)
		return -EMFILE;
	limit.rlim_cur = WIRE_EVENT_DESCRIPTOR + WIRE_RINGS;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return -errno;
	*has_raised = true;
	return 0;
}

int perf_events_probe(uint32_t rate_hz)
{
	struct rlimit limit;
	int fd = open_event(0, NS_PER_S / rate_hz);

	if (fd < 0)
		return fd;
	close(fd);
	if (!getrlimit(RLIMIT_NOFILE, &limit) &&
		limit.rlim_max < WIRE_EVENT_DESCRIPTOR + WIRE_RINGS)
		return -EMFILE;
	return 0;
}

/*
 * ---- what a signal costs ---------------------------------------------------------------------
 * An event's interrupt, the delivery of its signal and the return from it take 2 us on one machine
 * and 40 us on a virtual machine. All of this happens in the kernel, where no handler can measure
 * it. So measure how much slower a loop runs while signals arrive.
 */
#define COST_SIGNALS   24
#define COST_PERIOD_HZ 10000
#define COST_LOOPS     20000

static volatile sig_atomic_t cost_signals;

static void count_signal(int number)
{
	(void)number;
	cost_signals++;
}

/*
 * Run a loop until @signals signals have arrived, or for twice the CPU time in which COST_SIGNALS
 * signals should arrive. Returns the loop's rounds. *@cpu_ns is set to their CPU time.
 */
static uint64_t loop_until(int signals, uint64_t *cpu_ns)
{
	const uint64_t most_ns = 2 * COST_SIGNALS * (NS_PER_S / COST_PERIOD_HZ);
	uint64_t began_ns = clock_cpu_ns(), loops = 0;
	do {
		for (unsigned i = 0; i < COST_LOOPS; i++)
			__asm__ volatile("" : "+r"(i));
		loops++;
		*cpu_ns = clock_cpu_ns() - began_ns;
	} while (*cpu_ns < most_ns && (!signals || cost_signals < signals));
	return loops;
}

uint64_t perf_events_cost_ns(int signal)
{
	struct sigaction count = {.sa_handler = count_signal, .sa_flags = SA_RESTART}, before;
	uint64_t plain_ns, plain, with_ns, with;
	double cost = 0;
	int fd = open_event(0, NS_PER_S / COST_PERIOD_HZ);

	if (fd < 0)
		return 0;
	if (sigaction(signal, &count, &before))
		goto out;
	plain = loop_until(0, &plain_ns);
	cost_signals = 0;
	if (!signal_thread(fd, (pid_t)syscall(SYS_gettid), signal) &&
		!ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		with = loop_until(COST_SIGNALS, &with_ns);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		if (cost_signals)
			cost = (double)with_ns - (double)with * (double)plain_ns / (double)plain;
	}
	close(fd);
	fd = -1;
	sigaction(signal, &before, NULL);
out:
	if (fd >= 0)
		close(fd);
	return cost > 0 && cost_signals ? (uint64_t)(cost / cost_signals) : 0;
}

/* An event's period is 1/SHORTER_BY less than a sample's, see libprof/sampler/events.c. */
#define SHORTER_BY 256
/* Shortest period in ns. Signals without their handlers then take 4/9 of the time. */
#define COST_PART(cost_ns) ((cost_ns)*9 / 4)

void perf_events_set_period(struct wire_arena *arena, uint32_t rate_hz, uint64_t cost_ns)
{
	uint64_t period_ns = NS_PER_S / rate_hz - NS_PER_S / rate_hz / SHORTER_BY;
	uint64_t rests;

	if (period_ns < COST_PART(cost_ns))
		period_ns = COST_PART(cost_ns);
	/*
	 * After a handler call of duration d, no sample is taken for `rests` * d, so handlers take
	 * 1 / (1 + rests) of the time. Choose `rests` so that this is 1/2 - cost / period. Then
	 * signals and handlers together take half of the time.
	 */
	rests = 2 * period_ns / (period_ns - 2 * cost_ns) - 1;
	arena->event_period_ns = period_ns < UINT32_MAX ? (uint32_t)period_ns : UINT32_MAX;
	arena->event_rests = rests < WIRE_EVENT_RESTS_MAX ? (uint32_t)rests : WIRE_EVENT_RESTS_MAX;
}

/*
 * Move @fd (takes ownership) to descriptor @number. Returns 0, or -errno if @number is in use. The
 * signal's si_fd is the descriptor's number at F_SETSIG, so it tells the handler the ring.
 */
static int move_to(int fd, int number)
{
	int moved;

	if (fd < 0)
		return fd;
	moved = fcntl(number, F_GETFD) < 0 ? dup3(fd, number, O_CLOEXEC) : -1;
	close(fd);
	return moved == number ? 0 : -EMFILE;
}

/*
 * Make the kernel enlarge flamerun's table of descriptors while flamerun has one thread. Later,
 * with several threads, the kernel would wait 10 to 30 ms for an RCU grace period, and the first
 * sampled thread would have no event until then. @fd is any open descriptor.
 */
static void make_room(int fd)
{
	const int last = WIRE_EVENT_DESCRIPTOR + WIRE_RINGS - 1;
	struct rlimit before;
	bool has_raised = false;

	if (!raise_files(&before, &has_raised) && !move_to(dup(fd), last))
		close(last);
	if (has_raised)
		setrlimit(RLIMIT_NOFILE, &before);
}

struct perf_events *perf_events_new(
	struct wire_arena *arena, int descriptor, int signal, bool has_kernel)
{
	struct perf_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->arena = arena;
	events->period_ns = arena->event_period_ns;
	events->signal = signal;
	events->has_kernel = has_kernel;
	if (fstat(descriptor, &events->file)) {
		free(events);
		return NULL;
	}
	make_room(descriptor);
	return events;
}

/* Does process @pid have the arena mapped? Only sampled processes map it. */
static bool is_of_run(struct perf_events *events, pid_t pid, uint64_t image)
{
	struct maps maps = {0};

	if (image && image == events->image)
		return events->is_of_run;
	events->image = image;
	events->is_of_run = false;
	if (maps_read(&maps, pid) < 0)
		return false;
	for (unsigned i = 0; i < maps.count; i++)
		events->is_of_run |= maps.list[i].inode == events->file.st_ino &&
				     maps.list[i].major == major(events->file.st_dev) &&
				     maps.list[i].minor == minor(events->file.st_dev);
	maps_release(&maps);
	return events->is_of_run;
}

/*
 * Does the program still want events? begin_event() sets has_event before it calls this. The
 * program sets no_events before it reads has_event. So if this function reads no_events as 0, the
 * program reads has_event as 1 and waits until the event is closed.
 */
static bool is_wanted(const struct perf_events *events, const struct wire_slot *slot)
{
	return (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) & 0xff) == WIRE_SLOT_LIVE &&
	       !__atomic_load_n(&slot->quit, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&slot->has_unseen, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&slot->no_events, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&slot->filters, __ATOMIC_RELAXED) <= events->arena->filters;
}

static void close_event(struct perf_events *events, uint32_t index)
{
	struct perf_event *event = &events->rings[index];

	if (event->is_open) {
		close((int)(WIRE_EVENT_DESCRIPTOR + index));
		__atomic_store_n(&wire_ring(events->arena, index)->has_event, 0, __ATOMIC_SEQ_CST);
	}
	kernel_stacks_close(&event->stacks);
	*event = (struct perf_event){0};
}

/* Open the events of ring @index. If the first event is refused, the thread's timer continues. */
static void begin_event(
	struct perf_events *events, uint32_t index, pid_t pid, const struct wire_slot *slot)
{
	struct wire_ring *ring = wire_ring(events->arena, index);
	pid_t tid = (pid_t)__atomic_load_n(&ring->tid, __ATOMIC_ACQUIRE);
	int fd = (int)(WIRE_EVENT_DESCRIPTOR + index), error;

	if (!events->has_raised && raise_files(&events->files, &events->has_raised))
		return;
	if (move_to(open_event(tid, events->period_ns), fd))
		return;
	events->rings[index].is_open = true;
	error = signal_thread(fd, tid, events->signal);
	__atomic_store_n(&ring->has_event, 1, __ATOMIC_SEQ_CST);
	if (!error &&
		!(is_wanted(events, slot) && procfs_state(pid, tid) &&
			is_of_run(events, pid, __atomic_load_n(&slot->image, __ATOMIC_RELAXED))))
		error = -ESRCH;
	if (!error && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		error = -errno;
	if (error)
		close_event(events, index);
	else if (events->has_kernel &&
		 kernel_stacks_open(&events->rings[index].stacks, tid, events->period_ns))
		__atomic_fetch_add(&events->unseen, 1, __ATOMIC_RELAXED);
}

void perf_events_update(
	struct perf_events *events, uint32_t index, pid_t pid, const struct wire_slot *slot)
{
	struct wire_ring *ring = wire_ring(events->arena, index);
	uint64_t owner = __atomic_load_n(&ring->owner, __ATOMIC_ACQUIRE);
	struct perf_event *event = &events->rings[index];
	bool is_owned = (owner & 3) == WIRE_RING_OWNED && pid && is_wanted(events, slot) &&
			__atomic_load_n(&ring->tid, __ATOMIC_ACQUIRE);

	if (event->owner == owner && is_owned)
		return;
	if (event->owner)
		close_event(events, index);
	if (!is_owned)
		return;
	/* Set `owner` even if the event was refused, to try only once for each thread. */
	begin_event(events, index, pid, slot);
	event->owner = owner;
}

int perf_events_next_stack(
	const struct perf_events *events, uint32_t index, uint64_t owner, struct kernel_stack *out)
{
	const struct perf_event *event = &events->rings[index];

	/* Compare the image's number only. The two low bits are the ring's state. */
	return event->owner >> 2 == owner >> 2 ? kernel_stacks_next(&event->stacks, out) : 0;
}

uint64_t perf_events_unseen(const struct perf_events *events)
{
	return __atomic_load_n(&events->unseen, __ATOMIC_RELAXED);
}

void perf_events_free(struct perf_events *events)
{
	if (!events)
		return;
	for (uint32_t i = 0; i < WIRE_RINGS; i++)
		close_event(events, i);
	if (events->has_raised)
		setrlimit(RLIMIT_NOFILE, &events->files);
	free(events);
}
