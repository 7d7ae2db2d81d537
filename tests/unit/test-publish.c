/* SPDX-License-Identifier: MIT */
/*
 * Turn publishing on while stubs exist, with other threads and in fork children. perf's map must
 * contain each stub that exists or is made exactly once.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

#include "libprof/trampoline/publish.h"
#include "tests/unit/stub-chain.h"

static void test_off(void **state)
{
	(void)state;
	chain_make();
	assert_int_equal(flameprof_published(), 0);
	assert_false(publish_is_on());
	assert_null(map_text(getpid()));
	assert_int_equal(flameprof_publish(1u << 20), -EINVAL);
	assert_int_equal(flameprof_publish(0), 0);
	assert_null(map_text(getpid()));
}

#define MAKERS	4
#define BY_EACH 1000

static int makers_ready;

/*
 * Make stubs and free every third one, before, during and after the moment when publishing is
 * turned on.
 */
static void *make(void *argument)
{
	char name[64];

	for (unsigned i = 0; i < BY_EACH; i++) {
		chain_function *stub;

		snprintf(name, sizeof(name), "maker %ld stub %u", (long)argument, i);
		stub = chain_new_stub(name, i);
		if (i % 3 == 0)
			chain_free_stub(stub);
		if (i == 100)
			__atomic_add_fetch(&makers_ready, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_begins_while_stubs_are_made(void **state)
{
	pthread_t makers[MAKERS];
	char *text, name[64];
	unsigned early = 0;

	(void)state;
	for (long i = 0; i < MAKERS; i++)
		assert_int_equal(pthread_create(&makers[i], NULL, make, (void *)i), 0);
	while (__atomic_load_n(&makers_ready, __ATOMIC_RELAXED) < MAKERS)
		;
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_PERF_MAP), 0);
	assert_int_equal(flameprof_published(), FLAMEPROF_PUBLISH_PERF_MAP);
	assert_true(publish_is_on());
	for (long i = 0; i < MAKERS; i++)
		pthread_join(makers[i], NULL);
	/* Turning publishing on a second time must not report the stubs a second time. */
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_PERF_MAP), 0);

	text = map_text(getpid());
	assert_non_null(text);
	assert_int_equal(map_count(text, (void *)chain_stub[0], "chain_0"), 1);
	for (long maker = 0; maker < MAKERS; maker++) {
		for (unsigned i = 0; i < BY_EACH; i += 97) {
			unsigned count;

			snprintf(name, sizeof(name), "maker %ld stub %u", maker, i);
			count = map_count(text, NULL, name);
			/*
			 * A stub that was freed before publishing was turned on is not in the map.
			 */
			if (i % 3 == 0)
				early += !count;
			assert_in_range(count, i % 3 == 0 ? 0 : 1, 1);
		}
	}
	assert_true(early > 0);
	free(text);
}

static void test_slot_is_used_again(void **state)
{
	chain_function *first = chain_new_stub("had it first", 0), *second = NULL;
	char *text;

	(void)state;
	chain_free_stub(first);
	for (unsigned i = 0; i < 100000 && second != first; i++)
		second = chain_new_stub("has it now", 0);
	assert_ptr_equal(second, first);
	text = map_text(getpid());
	assert_int_equal(map_count(text, (void *)first, "had it first"), 1);
	assert_int_equal(map_count(text, (void *)first, "has it now"), 1);
	free(text);
}

static void test_fork_child_has_its_own(void **state)
{
	int result[2], status;
	unsigned counts[3] = {0};
	char path[64], *text;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(result), 0);
	child = fork();
	if (!child) {
		chain_function *stub = chain_new_stub("made by the child", 0);

		text = map_text(getpid());
		if (text) {
			counts[0] = map_count(text, (void *)chain_stub[1], "chain_1");
			counts[1] = map_count(text, (void *)stub, "made by the child");
		}
		text = map_text(getppid());
		counts[2] = map_count(text, NULL, "made by the child");
		map_path(path, getpid());
		unlink(path);
		if (write(result[1], counts, sizeof(counts)) < 0)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(result[0], counts, sizeof(counts)), sizeof(counts));
	assert_int_equal(counts[0], 1);
	assert_int_equal(counts[1], 1);
	assert_int_equal(counts[2], 0);
	/* The parent continues to write its own map. */
	chain_new_stub("made by the parent", 0);
	text = map_text(getpid());
	assert_int_equal(map_count(text, NULL, "made by the parent"), 1);
	free(text);
}

static void test_error_of_one_leaves_others_on(void **state)
{
	(void)state;
	/* The folder for jitdump does not exist, but gdb's interface is always available. */
	setenv("JITDUMPDIR", "/nonexistent/folder", 1);
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_JITDUMP | FLAMEPROF_PUBLISH_GDB),
		-ENOENT);
	assert_int_equal(flameprof_published(),
		FLAMEPROF_PUBLISH_PERF_MAP | FLAMEPROF_PUBLISH_GDB);
}

static void test_arena_ends(void **state)
{
	(void)state;
	chain_drop();
	/* The arena has ended, so no stub is left to report. A new arena must work. */
	chain_make();
	assert_int_equal(flameprof_publish(FLAMEPROF_PUBLISH_GDB), 0);
	chain_drop();
}

/* Remove this process's map, which may also be a map of an earlier process with the same pid. */
static int remove_map(void **state)
{
	(void)state;
	map_remove(getpid());
	return 0;
}

int main(void)
{
	/*
	 * Publishing cannot be turned off, so each test continues in the state of the test before
	 * it.
	 */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_begins_while_stubs_are_made),
		cmocka_unit_test(test_slot_is_used_again),
		cmocka_unit_test(test_fork_child_has_its_own),
		cmocka_unit_test(test_error_of_one_leaves_others_on),
		cmocka_unit_test(test_arena_ends),
	};

	return cmocka_run_group_tests_name("publish", tests, remove_map, remove_map);
}
