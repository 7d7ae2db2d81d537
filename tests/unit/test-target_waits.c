/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Observe a child's threads from outside: recorded waits and CPU time add up to each thread's life,
 * and the child is not disturbed.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/clock.h"
#include "cli/gather/pipe_record.h"
#include "cli/outside/target_waits.h"
#include "libprof/procfs.h"
#include "libprof/waits/waits.h"

#define PERIOD_NS 1000000ULL
#define LOOKED_MS 400
#define TURNS	  12

struct fixture {
	struct pipe_writer pipe_writer;
	struct target_shared shared;
	struct target *target;
	struct target_waits *waits;
	pid_t child;
	int to_child[2];
};

/* Sums of the records in the pipe. The first two arrays have the system call as index. */
struct told {
	uint64_t by_call[0x10000]; /* weight */
	uint32_t largest[0x10000]; /* of one record */
	uint64_t all;
	unsigned lives;
	struct record_life life;
	uint64_t span_ns[TURNS + 1]; /* of the threads numbered so */
	uint32_t frames; /* by thread number */
	char refusal[192];
};

typedef uint32_t thread_finder(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns);

static struct fixture *start_numbered(void (*live)(int from_parent), thread_finder *find_thread)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_int_equal(pipe(fixture->to_child), 0);
	fixture->child = fork();
	if (!fixture->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live(fixture->to_child[0]);
		_exit(0);
	}
	/* Once the child has used 100 us of CPU time, it has started. */
	while (procfs_cpu_ns((uint32_t)fixture->child) < 100000)
		usleep(1000);
	fixture->pipe_writer.descriptor = -1;
	fixture->shared.pipe_writer = &fixture->pipe_writer;
	fixture->target = target_new(fixture->child);
	target_announce(fixture->target, &fixture->shared, 0, 0);
	fixture->waits = target_waits_new(&(struct target_waits_config){
		.shared = &fixture->shared, .period_ns = PERIOD_NS, .find_thread = find_thread});
	assert_int_equal(target_waits_add(fixture->waits, fixture->target, 0, 0), 0);
	return fixture;
}

static struct fixture *start(void (*live)(int from_parent))
{
	return start_numbered(live, NULL);
}

static void look_for(struct fixture *fixture, uint64_t ms)
{
	uint64_t end_ns = clock_now_ns() + ms * 1000000;

	while (clock_now_ns() < end_ns) {
		uint64_t next_ns = target_waits_round(fixture->waits), now_ns = clock_now_ns();

		if (next_ns > now_ns)
			usleep((useconds_t)((next_ns - now_ns) / 1000));
	}
}

static struct told *finish(struct fixture *fixture)
{
	struct told *told = calloc(1, sizeof(*told));
	const struct pipe_writer *writer = &fixture->pipe_writer;

	target_waits_finish(fixture->waits);
	for (size_t at = writer->from; at < writer->to;) {
		const struct record *record = (const void *)(writer->bytes + at);
		const struct record_sample *sample = (const void *)record;

		if (record->type == RECORD_SAMPLE) {
			uint32_t *largest = &told->largest[WIRE_WAIT_CALL(sample->frame[0])];

			told->by_call[WIRE_WAIT_CALL(sample->frame[0])] += sample->weight;
			assert_int_equal(sample->kind, WIRE_KIND_WAIT);
			assert_true(wire_frame_waits(sample->frame[0]));
			*largest = sample->weight > *largest ? sample->weight : *largest;
			told->all += sample->weight;
			if (sample->frames > told->frames)
				told->frames = sample->frames;
		} else if (record->type == RECORD_LIFE) {
			told->life = *(const struct record_life *)record;
			told->lives++;
			if (told->life.thread <= TURNS)
				told->span_ns[told->life.thread] = told->life.span_ns;
		} else if (record->type == RECORD_WAITS) {
			memcpy(told->refusal, ((const struct record_waits *)record)->refusal,
				sizeof(told->refusal));
		}
		at += record->bytes;
	}
	kill(fixture->child, SIGKILL);
	waitpid(fixture->child, NULL, 0);
	target_waits_free(fixture->waits);
	target_free(fixture->target);
	objects_release(&fixture->shared.objects);
	pipe_writer_release(&fixture->pipe_writer);
	close(fixture->to_child[0]);
	close(fixture->to_child[1]);
	free(fixture);
	return told;
}

/*
 * Check that CPU time and recorded waits add up to the thread's life, except for parts of periods.
 */
static void assert_adds_up(const struct told *told)
{
	uint64_t sum_ns = told->life.cpu_ns + told->all * PERIOD_NS;

	assert_int_equal(told->lives, 1);
	assert_true(sum_ns + 2 * PERIOD_NS >= told->life.span_ns);
	assert_true(sum_ns <= told->life.span_ns + 2 * PERIOD_NS);
}

static void spin_a_little(void)
{
	uint64_t end_ns = clock_now_ns() + 2000000;

	while (clock_now_ns() < end_ns)
		;
}

static void wait_for_parent(int from_parent)
{
	char byte;

	spin_a_little();
	while (read(from_parent, &byte, 1) == 1)
		;
}

/* One observation must find the whole wait of a thread and must not wake the thread. */
static void a_sleeper_sleeps_on(void **state)
{
	struct fixture *fixture = start(wait_for_parent);
	long switches;
	struct told *told;

	(void)state;
	while (procfs_state(fixture->child, fixture->child) != 'S')
		usleep(1000);
	switches = procfs_number(fixture->child, "voluntary_ctxt_switches");
	look_for(fixture, LOOKED_MS);
	assert_int_equal(
		procfs_number(fixture->child, "voluntary_ctxt_switches"), switches);
	told = finish(fixture);
	assert_string_equal(told->refusal, "");
	assert_adds_up(told);
	assert_true(told->life.span_ns >= (LOOKED_MS - 80) * 1000000ULL);
	assert_int_equal(told->by_call[SYS_read], told->all);
	assert_true(told->frames > 2);
	free(told);
}

static void spin(int from_parent)
{
	(void)from_parent;
	for (;;)
		spin_a_little();
}

/* A running thread waits for nothing except a CPU. */
static void one_that_runs_does_not_wait(void **state)
{
	struct fixture *fixture = start(spin);
	struct told *told;
	uint64_t unknown;

	(void)state;
	look_for(fixture, LOOKED_MS);
	told = finish(fixture);
	assert_int_equal(told->lives, 1);
	assert_true(told->life.cpu_ns > 0);
	unknown = told->by_call[WIRE_WAIT_UNKNOWN];
	assert_in_range(told->all - told->by_call[WIRE_WAIT_NO_CPU] - unknown, 0, LOOKED_MS / 40);
	/*
	 * Time before the first observation is unknown. On a busy machine the first observation is
	 * late.
	 */
	assert_in_range(unknown, 0, LOOKED_MS / 2);
	free(told);
}

/* Wait 30 ms in one system call and 10 ms in another. Sleeps may be longer but never shorter. */
static void alternate(int from_parent)
{
	(void)from_parent;
	for (;;) {
		syscall(SYS_clock_nanosleep, 0, 0, &(struct timespec){.tv_nsec = 30000000}, NULL);
		syscall(SYS_ppoll, NULL, 0, &(struct timespec){.tv_nsec = 10000000}, NULL, 0);
	}
}

static void short_waits_are_found_as_often_as_they_are(void **state)
{
	struct fixture *fixture = start(alternate);
	struct told *told;
	double share;

	(void)state;
	look_for(fixture, 4000);
	told = finish(fixture);
	assert_adds_up(told);
	/*
	 * The expected share is 1/4; 5 sigma of 80 observations are 0.24. A count of waits instead
	 * of time would give 1/2.
	 */
	share = (double)told->by_call[SYS_ppoll] /
		(double)(told->by_call[SYS_ppoll] + told->by_call[SYS_clock_nanosleep]);
	assert_true(share > 0.03 && share < 0.49);
	free(told);
}

static void wake_now_and_then(int from_parent)
{
	(void)from_parent;
	for (;;) {
		syscall(SYS_clock_nanosleep, 0, 0, &(struct timespec){.tv_nsec = 360000000}, NULL);
		syscall(SYS_ppoll, NULL, 0, &(struct timespec){.tv_nsec = 40000000}, NULL, 0);
	}
}

/*
 * If the end of a wait is not observed, the wait counts until the next observation, at most 75 ms
 * later. So most of a long sleep is recorded as this sleep and never as the short wait behind it.
 */
static void long_waits_are_exact(void **state)
{
	struct fixture *fixture = start(wake_now_and_then);
	struct told *told;

	(void)state;
	look_for(fixture, 4000);
	told = finish(fixture);
	assert_adds_up(told);
	assert_true(told->by_call[SYS_ppoll] > 0);
	assert_true(told->largest[SYS_ppoll] <= 250);
	assert_true(told->by_call[SYS_clock_nanosleep] >= told->all * 3 / 4);
	free(told);
}

/*
 * A report of a thread's end closes the record of the thread, or makes one if the thread was not
 * observed.
 */
static void threads_tell_their_ends(void **state)
{
	uint64_t begun_ns = clock_now_ns();
	struct fixture *fixture = start(wait_for_parent);
	struct waits_end end = {.number = 7, .tid = fixture->child};
	uint32_t number = (uint32_t)fixture->child; /* the tid, without a find_thread() */
	struct told *told;

	(void)state;
	look_for(fixture, 200);
	end.end_ns = clock_now_ns() + 100000000;
	end.cpu_ns = procfs_cpu_ns((uint32_t)fixture->child);
	target_waits_end_thread(fixture->waits, fixture->target, &end);
	/* Later observations and a second report of the same end must change nothing. */
	look_for(fixture, 200);
	target_waits_end_thread(fixture->waits, fixture->target, &end);
	told = finish(fixture);
	assert_adds_up(told);
	assert_int_equal(told->life.thread, number);
	assert_in_range(told->life.span_ns, 200000000, end.end_ns - begun_ns);
	free(told);

	fixture = start(wait_for_parent);
	end = (struct waits_end){.number = 9,
		.tid = fixture->child + 1,
		.start_ns = 1000,
		.end_ns = 50001000,
		.cpu_ns = 10000000};
	target_waits_end_thread(fixture->waits, fixture->target, &end);
	told = finish(fixture);
	/* The child's thread that was not observed also has a record. */
	assert_int_equal(told->lives, 2);
	assert_in_range(told->by_call[WIRE_WAIT_UNKNOWN], 40, 41);
	free(told);
}

/* The thread that runs at present. The relay starts its threads one after the other. */
static struct {
	pid_t tid;
	uint32_t number;
	uint64_t begun_ns;
} *runner;

static void *run_until_told(void *from_parent)
{
	char byte;

	runner->begun_ns = clock_now_ns();
	runner->tid = gettid();
	__atomic_fetch_add(&runner->number, 1, __ATOMIC_RELEASE);
	return (void *)(uintptr_t)(read(*(int *)from_parent, &byte, 1) == 1);
}

static void relay(int from_parent)
{
	void *goes_on = (void *)1;
	pthread_t thread;

	spin_a_little();
	while (goes_on && !pthread_create(&thread, NULL, run_until_told, &from_parent))
		pthread_join(thread, &goes_on);
}

static uint32_t find_runner(void *context, uint64_t image, pid_t tid, uint64_t *begun_ns)
{
	uint32_t number = __atomic_load_n(&runner->number, __ATOMIC_ACQUIRE);

	(void)context;
	(void)image;
	if (tid != runner->tid)
		return (uint32_t)tid;
	*begun_ns = runner->begun_ns;
	return number;
}

/*
 * Each thread's record must cover its whole life, from start to end, also between rounds of
 * observation.
 */
static void a_thread_that_follows_another_has_its_own_life(void **state)
{
	struct fixture *fixture;
	uint64_t span_ns[TURNS + 1];
	struct told *told;

	(void)state;
	runner = mmap(
		NULL, sizeof(*runner), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fixture = start_numbered(relay, find_runner);
	for (uint32_t number = 1; number <= TURNS; number++) {
		struct waits_end end = {.number = number, .cpu_ns = PERIOD_NS};

		while (__atomic_load_n(&runner->number, __ATOMIC_ACQUIRE) < number)
			usleep(1000);
		look_for(fixture, 120);
		end.tid = runner->tid;
		end.start_ns = runner->begun_ns;
		end.end_ns = clock_now_ns();
		span_ns[number] = end.end_ns - end.start_ns;
		target_waits_end_thread(fixture->waits, fixture->target, &end);
		assert_int_equal(write(fixture->to_child[1], "", 1), 1);
	}
	told = finish(fixture);
	for (uint32_t number = 1; number <= TURNS; number++)
		assert_int_equal(told->span_ns[number], span_ns[number]);
	assert_true(told->by_call[SYS_read] > told->by_call[WIRE_WAIT_UNKNOWN]);
	free(told);
	munmap(runner, sizeof(*runner));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleeper_sleeps_on),
		cmocka_unit_test(one_that_runs_does_not_wait),
		cmocka_unit_test(short_waits_are_found_as_often_as_they_are),
		cmocka_unit_test(long_waits_are_exact),
		cmocka_unit_test(threads_tell_their_ends),
		cmocka_unit_test(a_thread_that_follows_another_has_its_own_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
