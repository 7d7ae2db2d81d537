/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Run the collector's thread on an arena that this process writes as sampled programs would:
 * process images begin and end, and slots stay claimed by processes that died.
 */
#include "tests/unit/aggregate-fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/gather/collector.h"
#include "cli/gather/pipe_reader.h"
#include "libprof/procfs.h"
#include "libprof/profile/profile.h"
#include "tests/unit/deny.h"

struct fixture {
	struct wire_arena *arena;
	struct pipe_reader *pipe_reader;
	struct collector *collector;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct collector_config config = {.blocks = WIRE_BLOCKS_MIN};

	f->arena = aggregate_arena();
	assert_int_equal(pipe_reader_open(&f->pipe_reader, 1000000), 0);
	config.arena = f->arena;
	config.pipe = pipe_reader_writer(f->pipe_reader, RECORD_COLLECTOR);
	assert_int_equal(collector_start(&f->collector, &config), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	collector_free(f->collector);
	pipe_reader_free(f->pipe_reader);
	free(f->arena);
	free(f);
	return 0;
}

/*
 * Have the collector scan the arena and the pipe once. Returns the reader's state after the scan.
 */
static const struct pipe_reader_state *look(struct fixture *f)
{
	uint64_t asked = collector_request(f->collector);

	while (pipe_reader_state(f->pipe_reader)->round < asked) {
		pipe_reader_wait(f->pipe_reader, 1000);
		assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
	}
	return pipe_reader_state(f->pipe_reader);
}

static pid_t dead_process(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void claim(struct fixture *f, unsigned slot, pid_t pid, enum wire_slot_state state)
{
	wire_slot(f->arena, slot)->state = (uint64_t)pid << 8 | state;
	sampler_raise_high(&f->arena->slots_high, slot + 1);
}

static void live(struct fixture *f, unsigned slot, pid_t pid, uint64_t image)
{
	wire_slot(f->arena, slot)->image = image;
	wire_slot(f->arena, slot)->pid = (uint32_t)pid;
	claim(f, slot, pid, WIRE_SLOT_LIVE);
	__atomic_store_n(&f->arena->next_image, image, __ATOMIC_RELEASE);
}

static void a_claim_whose_claimer_died_is_given_up(void **state)
{
	struct fixture *f = *state;
	struct wire_slot *dead = wire_slot(f->arena, 0), *alive = wire_slot(f->arena, 1);

	claim(f, 0, dead_process(), WIRE_SLOT_CLAIMED);
	claim(f, 1, getpid(), WIRE_SLOT_CLAIMED);
	look(f);
	assert_int_equal(dead->state & 0xff, WIRE_SLOT_CLAIMED); /* it may have just been claimed */
	for (int i = 0; i < 600 && __atomic_load_n(&dead->state, __ATOMIC_ACQUIRE); i++)
		usleep(10000);
	assert_int_equal(dead->state, WIRE_SLOT_FREE);
	assert_int_equal(alive->state & 0xff, WIRE_SLOT_CLAIMED);
	assert_int_equal(f->arena->lost_processes, 1);
}

/*
 * When a process has ended, all its samples are added before its end is reported. A living process
 * keeps its slot in the arena.
 */
static void who_is_gone_is_told_with_all_that_it_left(void **state)
{
	struct fixture *f = *state;
	struct flameprof_profile *profile = pipe_reader_profile(f->pipe_reader);

	live(f, 0, dead_process(), AGGREGATE_IMAGE);
	live(f, 1, getpid(), 8);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(ring_push_at(0, 1000 + i, 2, FRAMES(1, 2, 3)), 0);
	wire_ring(f->arena, 0)->head |= WIRE_HEAD_WRITING; /* killed while it wrote one more */
	look(f);
	look(f);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->images_seen, 2);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->live, 1);
	assert_int_equal(profile->sample_count, 100);
	assert_int_equal(profile->weight, 200);
	assert_int_equal(profile_totals(profile)->counts.torn, 1);
	assert_int_equal(profile_image_at(profile, 0)->unrecorded, 1);
	assert_int_equal(wire_slot(f->arena, 0)->state, WIRE_SLOT_FREE);
	assert_int_equal(wire_ring(f->arena, 0)->owner, WIRE_RING_FREE);
	assert_int_equal(wire_slot(f->arena, 1)->state & 0xff, WIRE_SLOT_LIVE);
}

/*
 * Fork a process that has one more seccomp filter than this process. Returns 0 if no filter can be
 * installed.
 */
static pid_t filtered_process(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	int ready[2];
	char is_filtered = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		is_filtered = !deny_by(&allow, 1);
		if (write(ready[1], &is_filtered, 1) != 1)
			_exit(1);
		for (volatile int i = 0;; i = i + 1)
			;
	}
	assert_int_equal(read(ready[0], &is_filtered, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (is_filtered)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void filters_that_nobody_saw_are_told_of(void **state)
{
	struct fixture *f = *state;
	struct wire_slot *unseen = wire_slot(f->arena, 0), *seen = wire_slot(f->arena, 1);
	pid_t pids[2] = {filtered_process(), filtered_process()};

	if (!pids[0])
		skip();
	unseen->filters = procfs_filters((uint32_t)getpid());
	seen->filters = unseen->filters + 1;
	live(f, 0, pids[0], 7);
	live(f, 1, pids[1], 8);
	/*
	 * The collector reads a process's seccomp filters only after the process used some CPU
	 * time.
	 */
	while (procfs_cpu_ns((uint32_t)pids[0]) < 100000000 ||
		procfs_cpu_ns((uint32_t)pids[1]) < 100000000)
		usleep(10000);
	look(f);
	look(f);
	assert_int_equal(unseen->has_unseen, 1);
	assert_int_equal(seen->has_unseen, 0);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/*
 * After an image quits, its slot in the arena is free for others, although its process continues
 * without the library.
 */
static void a_slot_that_was_left_is_free(void **state)
{
	struct fixture *f = *state;
	struct flameprof_profile *profile = pipe_reader_profile(f->pipe_reader);

	live(f, 0, getpid(), AGGREGATE_IMAGE);
	assert_int_equal(ring_push_at(0, 1, 1, FRAMES(1, 2, 3)), 0);
	look(f);
	wire_slot(f->arena, 0)->quit = WIRE_QUIT_UNSEEN;
	claim(f, 0, getpid(), WIRE_SLOT_EXIT);
	look(f);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->live, 1);
	claim(f, 0, getpid(), WIRE_SLOT_GONE);
	look(f);
	look(f);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->live, 0);
	assert_int_equal(wire_slot(f->arena, 0)->state, WIRE_SLOT_FREE);
	assert_int_equal(profile_totals(profile)->counts.quit[WIRE_QUIT_UNSEEN], 1);
	assert_true(profile_image_at(profile, 0)->went_on);
	assert_false(profile_image_at(profile, 0)->left_by_exec);
}

/*
 * A parent, its child and the child's exec'd image are found in one scan, although their slots in
 * the arena are in reverse order of their starts.
 */
static void the_last_image_of_a_process_is_the_one_that_runs(void **state)
{
	struct fixture *f = *state;
	struct flameprof_profile *profile = pipe_reader_profile(f->pipe_reader);

	strcpy(wire_slot(f->arena, 2)->exe, "/bin/parent");
	wire_slot(f->arena, 1)->parent_image = AGGREGATE_IMAGE - 2;
	assert_int_equal(ring_push_at(0, 1, 1, FRAMES(1, 2, 3)), 0);
	live(f, 2, getppid(), AGGREGATE_IMAGE - 2);
	live(f, 1, getpid(), AGGREGATE_IMAGE - 1);
	claim(f, 1, getpid(), WIRE_SLOT_EXEC);
	live(f, 0, getpid(), AGGREGATE_IMAGE);
	look(f);
	look(f);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->images_seen, 3);
	assert_int_equal(pipe_reader_state(f->pipe_reader)->live, 2);
	assert_int_equal(wire_slot(f->arena, 0)->state & 0xff, WIRE_SLOT_LIVE);
	assert_int_equal(wire_slot(f->arena, 1)->state, WIRE_SLOT_FREE);
	assert_int_equal(profile_image_at(profile, 1)->pid, getpid());
	assert_string_equal(profile_image_at(profile, 1)->exe, "/bin/parent");
	assert_int_equal(ring_push_at(0, 2, 1, FRAMES(1, 2, 3)), 0);
	look(f);
	assert_int_equal(profile->sample_count, 2);
}

/*
 * A ring is not drained if its owner, a process image, has no slot in the arena, because no known
 * process writes such a ring.
 */
static void rings_of_strangers_are_left_alone(void **state)
{
	struct fixture *f = *state;

	live(f, 0, getpid(), 9);
	assert_int_equal(ring_push_at(0, 1, 1, FRAMES(1, 2, 3)), 0);
	look(f);
	look(f);
	assert_int_equal(pipe_reader_profile(f->pipe_reader)->sample_count, 0);
	assert_int_equal(ring_waiting(f->arena, 0), 24 + 3 * 8);
}

/*
 * Another process can open the pipe and read RECORD_END before flamerun does. The image's end must
 * be known all the same.
 */
static void its_end_is_known_without_its_last_record(void **state)
{
	struct fixture *f = *state;
	char path[64], stolen[4096];
	int pipe;

	snprintf(path, sizeof(path), "/proc/self/fd/%d",
		pipe_reader_writer(f->pipe_reader, RECORD_COLLECTOR));
	pipe = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(pipe >= 0);
	look(f);
	assert_false(collector_has_ended(f->collector));
	collector_finish(f->collector);
	while (!collector_has_ended(f->collector))
		usleep(1000);
	assert_true(read(pipe, stolen, sizeof(stolen)) > 0);
	assert_int_equal(pipe_reader_read(f->pipe_reader), 0);
	assert_false(pipe_reader_state(f->pipe_reader)->has_ended[RECORD_COLLECTOR]);
	close(pipe);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_claim_whose_claimer_died_is_given_up),
		TEST(who_is_gone_is_told_with_all_that_it_left),
		TEST(filters_that_nobody_saw_are_told_of),
		TEST(a_slot_that_was_left_is_free),
		TEST(the_last_image_of_a_process_is_the_one_that_runs),
		TEST(rings_of_strangers_are_left_alone),
		TEST(its_end_is_known_without_its_last_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
