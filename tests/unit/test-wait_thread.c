/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Observe a running thread twice. The second observation, a moment later, concludes from the
 * kernel's files what the thread did before. The test writes these files.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "libprof/waits/wait_thread.h"

#define US    1000ULL
#define MS    1000000ULL
#define DUE   (1000 * MS) /* when the first observation was due */
#define LATE  (100 * US)  /* its delay */
/* ns that the thread waited since its previous observation */
#define WAITS (50 * MS)

static uint64_t clock_ns, slept_ns, ready_ns, unknown_ns;

static uint64_t now_ns(void)
{
	return clock_ns;
}

static struct unwind_result walk(void *context, const struct wait_process *process,
	struct wait_thread *thread, uintptr_t pc, uintptr_t sp, uint64_t *frames)
{
	(void)context;
	(void)process;
	(void)thread;
	(void)sp;
	frames[0] = pc;
	return (struct unwind_result){1, WIRE_END_ROOT};
}

static int put_thread(void *context, const struct wait_process *process, uint32_t number, pid_t tid,
	const char comm[WIRE_COMM_BYTES])
{
	(void)context;
	(void)process;
	(void)number;
	(void)tid;
	(void)comm;
	return 0;
}

static void put_sample(void *context, const struct wait_process *process,
	const struct wire_sample *sample, const uint64_t *frames)
{
	uint64_t leaf = frames[0], ns = sample->weight * US;

	(void)context;
	(void)process;
	if (leaf == WIRE_FRAME_WAIT(WIRE_WAIT_NO_CPU, 0))
		ready_ns += ns;
	else if (leaf == WIRE_FRAME_WAIT(WIRE_WAIT_UNKNOWN, 0))
		unknown_ns += ns;
	else
		slept_ns += ns;
}

static void say(int file, const char *text)
{
	assert_int_equal(ftruncate(file, 0), 0);
	assert_int_equal(pwrite(file, text, strlen(text), 0), (ssize_t)strlen(text));
}

/* Write the kernel's files of @thread: its clocks, and whether it sleeps now. */
static void is(const struct wait_thread *thread, uint64_t cpu_ns, uint64_t waited_ns,
	unsigned turns, bool sleeps)
{
	char text[128];

	snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %u\n", cpu_ns, waited_ns, turns);
	say(thread->clock, text);
	snprintf(text, sizeof(text), "%d 0x1 0x2 0x3 0x4 0x5 0x6 0x7000 0x4000\n", SYS_read);
	say(thread->call, sleeps ? text : "running\n");
}

/*
 * Observe a thread twice. It waited since its last observation and runs at the first observation.
 * Then it got a CPU @turns times, the last time after it had been ready for @ready ns, and it
 * sleeps if @sleeps is set. Stores the recorded times in slept_ns, ready_ns and unknown_ns.
 */
static void look_twice(unsigned turns, uint64_t ready, bool sleeps)
{
	static const struct waits_calls calls = {
		.now_ns = now_ns,
		.walk = walk,
		.put_thread = put_thread,
		.put_sample = put_sample,
	};
	uint64_t frames[WIRE_MAX_DEPTH + 1], held[WIRE_MAX_DEPTH + 1];
	struct wait_reader reader = {
		.calls = &calls,
		.period_ns = US,
		.due_ns = DUE,
		.frames = frames,
		.held = held,
		.files = 2,
		.files_max = 2,
		.announced = 1,
	};
	const struct wait_process process = {0};
	struct wait_thread thread = {
		.tid = (pid_t)syscall(SYS_gettid),
		.number = 1,
		.clock = memfd_create("schedstat", MFD_CLOEXEC),
		.call = memfd_create("syscall", MFD_CLOEXEC),
		.seen = {.cpu_ns = 7 * MS, .waited_ns = 3 * MS, .turns = 10},
		.seen_ns = DUE + LATE - WAITS,
	};

	assert_true(thread.clock >= 0 && thread.call >= 0);
	slept_ns = ready_ns = unknown_ns = 0;
	clock_ns = DUE + LATE;
	is(&thread, 7 * MS, 3 * MS, 20, false);
	assert_int_equal(wait_thread_observe(&reader, &thread, &process), 0);
	assert_true(thread.is_awake);
	clock_ns += 200 * US;
	is(&thread, 7 * MS + 20 * US, 3 * MS + ready, 20 + turns, sleeps);
	assert_int_equal(wait_thread_observe_again(&reader, &thread, &process), 0);
	wait_thread_record(&reader, &thread, &process);
	wait_thread_release(&reader, &thread);
}

/*
 * The CPU of the observer first handled the interrupt that woke the thread and then ran the
 * observer. So the thread slept when the observation was due.
 */
static void who_slept_when_the_look_was_due_did(void **state)
{
	(void)state;
	look_twice(1, 80 * US, true);
	assert_int_equal(slept_ns, WAITS + 200 * US - 20 * US - 80 * US);
	assert_int_equal(ready_ns, 80 * US);
	assert_int_equal(unknown_ns, 0);
}

/*
 * If the kernel's files do not show what the thread did before the second observation, nothing is
 * recorded yet. A later observation records the time.
 */
static void nothing_is_told_of_others(void **state)
{
	(void)state;
	look_twice(0, 0, true); /* ran, and fell asleep */
	assert_int_equal(slept_ns + ready_ns + unknown_ns, 0);
	look_twice(2, 80 * US, true); /* slept twice meanwhile */
	assert_int_equal(slept_ns + ready_ns + unknown_ns, 0);
	/* The thread was ready before the observation was due. */
	look_twice(1, LATE + 1, true);
	assert_int_equal(slept_ns + ready_ns + unknown_ns, 0);
	look_twice(1, 80 * US, false); /* runs on */
	assert_int_equal(slept_ns + unknown_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_slept_when_the_look_was_due_did),
		cmocka_unit_test(nothing_is_told_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
