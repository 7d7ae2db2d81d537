/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Compare the ordered set of regions with a plain array, at sizes around that of a leaf and much
 * larger. Also read it in other threads and in signal handlers while writers change it.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <cmocka.h>

#include "libprof/trampoline/region.h"

#define PLACES 3000u
#define STEP   64u
#define BASE   0x100000u

static struct region_tree tree;
static struct region regions[PLACES];
static uint8_t present[PLACES];
static uint64_t seed;

static uint32_t random_below(uint32_t limit)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % limit;
}

/*
 * Trees of finished tests stay reachable for the leak checker, because a tree never frees its
 * memory.
 */
static struct region_tree left_behind[16];
static unsigned left;

static int setup(void **state)
{
	(void)state;
	assert_in_range(left, 0, sizeof(left_behind) / sizeof(left_behind[0]) - 1);
	left_behind[left++] = tree;
	memset(&tree, 0, sizeof(tree));
	memset(present, 0, sizeof(present));
	seed = 7;
	for (uint32_t i = 0; i < PLACES; i++)
		regions[i] = (struct region){.start = BASE + i * STEP, .bytes = STEP - 16 + i % 17};
	return 0;
}

static void check_place(uint32_t i)
{
	struct region *region = &regions[i];
	struct region *expected = present[i] ? region : NULL;

	assert_ptr_equal(region_tree_find(&tree, region->start), expected);
	assert_ptr_equal(region_tree_find(&tree, region->start + region->bytes - 1), expected);
	/*
	 * A region shorter than STEP is followed by a gap, so the byte behind it is in no region.
	 */
	if (region->bytes < STEP)
		assert_null(region_tree_find(&tree, region->start + region->bytes));
}

static int count_in_order(void *context, struct region *region)
{
	struct {
		uint32_t count;
		uintptr_t last;
	} *seen = context;

	assert_true(region->start > seen->last);
	assert_true(present[region - regions]);
	seen->last = region->start;
	seen->count++;
	return 0;
}

static void check_all(void)
{
	struct {
		uint32_t count;
		uintptr_t last;
	} seen = {0};
	uint32_t count = 0;

	for (uint32_t i = 0; i < PLACES; i++) {
		check_place(i);
		count += present[i];
	}
	region_tree_each(&tree, (int (*)(void *, struct region *))count_in_order, &seen);
	assert_int_equal(seen.count, count);
	assert_null(region_tree_find(&tree, 0));
	assert_null(region_tree_find(&tree, BASE - 1));
	assert_null(region_tree_find(&tree, UINTPTR_MAX));
}

static void add(uint32_t i)
{
	assert_int_equal(region_tree_add(&tree, &regions[i]), present[i] ? -EEXIST : 0);
	present[i] = 1;
}

static void drop(uint32_t i)
{
	assert_int_equal(region_tree_remove(&tree, &regions[i]), present[i] ? 0 : -ENOENT);
	present[i] = 0;
}

static void test_ascending_and_descending(void **state)
{
	(void)state;
	check_all();
	for (uint32_t i = 0; i < PLACES; i++)
		add(i);
	check_all();
	for (uint32_t i = 0; i < PLACES; i++)
		drop(i);
	check_all();
	assert_null(tree.top);
	for (uint32_t i = PLACES; i-- > 0;)
		add(i);
	check_all();
	for (uint32_t i = PLACES; i-- > 0;)
		drop(i);
	check_all();
	assert_null(tree.top);
}

static void test_at_random(void **state)
{
	(void)state;
	/* Mostly add, then mostly remove, in turns, so that each position is used many times. */
	for (unsigned turn = 0; turn < 6; turn++) {
		for (unsigned i = 0; i < 20000; i++) {
			uint32_t place = random_below(PLACES);

			if (random_below(10) < (turn % 2 ? 2u : 8u))
				add(place);
			else
				drop(place);
			if (i % 64 == 0)
				check_place(random_below(PLACES));
		}
		check_all();
	}
}

/*
 * Refuse a region that covers the regions of many leaves of the tree. Refuse a region that overlaps
 * a part of another region.
 */
static void test_overlaps(void **state)
{
	struct region wide = {.start = BASE - 5, .bytes = PLACES * STEP};
	struct region edge = {.start = BASE + 10 * STEP + 8, .bytes = 8};
	struct region gap = {.start = BASE + 500 * STEP, .bytes = 20 * STEP};

	(void)state;
	for (uint32_t i = 0; i < PLACES; i++) {
		if (i < 500 || i >= 520)
			add(i);
	}
	assert_int_equal(region_tree_add(&tree, &wide), -EEXIST);
	assert_int_equal(region_tree_add(&tree, &edge), -EEXIST);
	edge.bytes = STEP * 2;
	assert_int_equal(region_tree_add(&tree, &edge), -EEXIST);
	assert_int_equal(region_tree_add(&tree, &gap), 0);
	assert_ptr_equal(region_tree_find(&tree, BASE + 510 * STEP), &gap);
	assert_int_equal(region_tree_add(&tree, &regions[505]), -EEXIST);
	assert_int_equal(region_tree_remove(&tree, &gap), 0);
	add(505);
	check_all();
}

/* A small set that moves through the address space must not use more and more leaves. */
static void test_memory_is_used_again(void **state)
{
	uint32_t leaves = 0;

	(void)state;
	for (uint32_t i = 0; i < 100 * PLACES; i++) {
		uint32_t place = i % PLACES;

		if (i >= 200)
			drop((i - 200) % PLACES);
		add(place);
	}
	assert_in_range(tree.top->count, 1, 200 / 4);
	for (struct region_leaf *leaf = tree.first_leaf; leaf; leaf = leaf->next_deferred)
		leaves++;
	assert_in_range(leaves, 1, 2 * REGION_TREE_WAIT);
}

/* When most regions are removed, leaves are merged, so that few are left. */
static void test_sparse_leaves_are_merged(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < PLACES; i++)
		add(i);
	for (uint32_t i = 0; i < PLACES; i++) {
		if (i % 16)
			drop(i);
	}
	assert_in_range(tree.top->count, PLACES / 16 / REGION_TREE_LEAF, PLACES / 16 / 6);
	check_all();
}

/* Regions at even positions stay in the set, while those at odd positions are added and removed. */
static int stop; /* atomic */
static uint64_t looked, wrong;

static void look(uint32_t place)
{
	struct region *region = &regions[place];
	struct region *found = region_tree_find(&tree, region->start + 1);

	if (found != region && (place % 2 == 0 || found))
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&looked, 1, __ATOMIC_RELAXED);
}

static void *read_on(void *argument)
{
	uint32_t place = (uint32_t)(uintptr_t)argument;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		look(place = (place + 1237) % PLACES);
	return NULL;
}

static void on_alarm(int number)
{
	static uint32_t place;

	(void)number;
	for (unsigned i = 0; i < 16; i++)
		look(place = (place + 1237) % PLACES);
}

/* Add and remove regions at odd positions. */
static void change_odd_places(unsigned changes)
{
	for (unsigned i = 0; i < changes; i++) {
		uint32_t place = random_below(PLACES) | 1;

		if (present[place])
			drop(place);
		else
			add(place);
	}
}

static void test_readers_of_other_threads(void **state)
{
	pthread_t readers[3];

	(void)state;
	looked = wrong = 0;
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < PLACES; i += 2)
		add(i);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&readers[i], NULL, read_on, (void *)i);
	change_odd_places(getenv("TEST_EMULATED") ? 5000u : 300000u);
	/* Continue until the readers have run, because they may start late on a busy machine. */
	while (__atomic_load_n(&looked, __ATOMIC_RELAXED) <= 1000)
		change_odd_places(1000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(readers[i], NULL);
	assert_int_equal(wrong, 0);
	check_all();
}

/* A signal handler interrupts the writer at any instruction and reads the set. */
static void test_readers_in_handlers(void **state)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	(void)state;
	looked = wrong = 0;
	for (uint32_t i = 0; i < PLACES; i += 2)
		add(i);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	change_odd_places(getenv("TEST_EMULATED") ? 20000u : 1000000u);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_int_equal(wrong, 0);
	assert_true(looked > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ascending_and_descending, setup),
		cmocka_unit_test_setup(test_at_random, setup),
		cmocka_unit_test_setup(test_overlaps, setup),
		cmocka_unit_test_setup(test_memory_is_used_again, setup),
		cmocka_unit_test_setup(test_sparse_leaves_are_merged, setup),
		cmocka_unit_test_setup(test_readers_of_other_threads, setup),
		cmocka_unit_test_setup(test_readers_in_handlers, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
