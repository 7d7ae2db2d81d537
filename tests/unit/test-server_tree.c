/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Make a call tree from the answers of several servers, with sums by attempt and by run. Damaged
 * answers are refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/store/store_profile.h"
#include "cli/store/server_tree.h"

#define ATTEMPT(attempt, weight) ((uint64_t)(attempt) << 32 | (weight))
#define LEAF			 12u
#define MIDDLE			 11u

static const struct server_unit units[] = {{0, 1}, {1, 10}, {2, 1}};
static struct bytes stacks, frames, rows;
static struct calltree *tree;
static struct server_sums sums;

static void put_stack(uint64_t stack, uint64_t parent, uint64_t frame)
{
	rows_put_uint(&stacks, stack, 8);
	rows_put_uint(&stacks, parent, 8);
	rows_put_uint(&stacks, frame, 8);
}

static void put_frame(uint64_t frame, const char *name)
{
	rows_put_uint(&frames, frame, 8);
	rows_put_uint(&frames, CALLTREE_NATIVE, 1);
	rows_put_uint(&frames, 0, 4);
	rows_put_text(&frames, name);
	rows_put_text(&frames, "app");
	rows_put_text(&frames, "");
}

static void put_weights(uint64_t stack, const uint64_t *numbers, unsigned count)
{
	rows_put_uint(&rows, stack, 8);
	bytes_varint(&rows, count);
	for (unsigned i = 0; i < count; i++)
		rows_put_uint(&rows, numbers[i], 8);
}

/* Make the stacks of one server: main, which calls leaf. */
static int begin(void **unused)
{
	(void)unused;
	tree = calltree_new();
	sums = (struct server_sums){.units = units, .unit_count = 3, .has_runs = true};
	put_stack(LEAF, MIDDLE, 2);
	put_stack(MIDDLE, STORE_ROOT, 1);
	put_frame(1, "main");
	put_frame(2, "leaf");
	return tree ? 0 : -1;
}

static int end(void **unused)
{
	(void)unused;
	bytes_release(&stacks);
	bytes_release(&frames);
	bytes_release(&rows);
	server_sums_release(&sums);
	calltree_free(tree);
	return 0;
}

/* Put the rows of one server into the tree. */
static int place(struct server_weights *weights)
{
	struct server_tree server = {.path = NULL};
	int error = server_tree_index(&server, &stacks, &frames);

	weights->rows = &rows;
	if (!error) {
		server_tree_use(&server, weights);
		error = server_tree_add_weights(&server, weights, tree, &sums);
	}
	server_tree_release(&server);
	return error;
}

/* Put the rows of a server whose weights have the unit 1 into the tree. */
static int read_all(void)
{
	struct server_weights weights = {.unit = 1};
	int error = place(&weights);

	if (!error)
		error = server_sums_add(&sums, tree);
	server_weights_release(&weights);
	return error;
}

static const char *name_of(uint32_t node)
{
	return calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->name;
}

/* A stack that two servers have becomes one node, with one sample per run. */
static void servers_are_added_up(void **unused)
{
	static const struct server_attempt first[] = {{7, 0}, {7, 2}, {0xfffffff0u, 1}};
	static const struct server_attempt second[] = {{0, 0}, {7, 1}};
	struct server_weights weights[] = {
		{.attempts = first, .attempt_count = 3}, {.attempts = second, .attempt_count = 2}};
	struct bytes begun;
	uint64_t of_run[3] = {0, 0, 0};

	(void)unused;
	put_weights(LEAF,
		(const uint64_t[]){ATTEMPT(7, 5), ATTEMPT(0xfffffff0u, UINT32_MAX), ATTEMPT(7, 1)},
		3);
	assert_int_equal(place(&weights[0]), 0);
	begun = rows;
	rows = (struct bytes){0};
	put_weights(LEAF, (const uint64_t[]){ATTEMPT(0, 3), ATTEMPT(7, 4)}, 2);
	put_weights(MIDDLE, NULL, 0);
	assert_int_equal(place(&weights[1]), 0);
	assert_int_equal(server_sums_add(&sums, tree), 0);
	bytes_release(&begun);
	for (unsigned i = 0; i < 2; i++)
		server_weights_release(&weights[i]);

	assert_int_equal(calltree_nodes(tree), 3);
	assert_string_equal(name_of(2), "leaf");
	/*
	 * An attempt that has weights in two units counts in both. Weights of the second unit are
	 * multiplied by 10.
	 */
	assert_int_equal(calltree_node_at(tree, 2)->self, 9 + 6 + 10 * (UINT32_MAX + UINT64_C(4)));
	assert_int_equal(sums.weight, UINT64_C(7) + UINT32_MAX + 6 + 6);
	assert_int_equal(sums.unknown, 0);
	for (size_t i = 0; i < calltree_samples(tree); i++) {
		const struct calltree_sample *sample = calltree_sample_at(tree, i);

		assert_int_equal(sample->node, 2);
		of_run[sample->thread] += sample->weight;
	}
	assert_int_equal(of_run[0], 9);
	assert_int_equal(of_run[1], 10 * (UINT32_MAX + UINT64_C(4)));
	assert_int_equal(of_run[2], 6);
	/* Samples have 32 bits, so run 1 has eleven. */
	assert_int_equal(calltree_samples(tree), 2 + 11);
}

static void sums_of_one_unit(void **unused)
{
	(void)unused;
	put_weights(MIDDLE, (const uint64_t[]){1}, 1);
	put_weights(STORE_ROOT, (const uint64_t[]){2}, 1);
	put_weights(LEAF, (const uint64_t[]){1ULL << 40}, 1);
	assert_int_equal(read_all(), 0);
	assert_int_equal(calltree_node_at(tree, CALLTREE_ROOT)->self, 20);
	assert_int_equal(calltree_node_at(tree, 1)->self, 10);
	assert_int_equal(calltree_node_at(tree, 2)->self, 10ULL << 40);
}

static void what_leads_nowhere_is_unknown(void **unused)
{
	(void)unused;
	put_stack(20, 19, 1);		 /* parent does not exist */
	put_stack(21, STORE_ROOT, 9);	 /* frame does not exist */
	put_weights(20, (const uint64_t[]){1}, 1);
	put_weights(21, (const uint64_t[]){2}, 1);
	put_weights(22, (const uint64_t[]){3}, 1);
	put_weights(LEAF, (const uint64_t[]){4}, 1);
	assert_int_equal(read_all(), 0);
	assert_int_equal(sums.unknown, 6);
	assert_int_equal(sums.weight, 10);
	assert_string_equal(name_of(1), "[unknown stack]");
	assert_int_equal(calltree_node_at(tree, 1)->self, 60);
}

static void a_circle_is_damage(void **unused)
{
	(void)unused;
	put_stack(30, 31, 1);
	put_stack(31, 30, 1);
	put_weights(30, (const uint64_t[]){1}, 1);
	assert_int_equal(read_all(), -EPROTO);
}

static void stacks_have_an_end(void **unused)
{
	(void)unused;
	for (uint64_t i = 1; i <= SERVER_DEPTH_MAX; i++)
		put_stack(100 + i, i == 1 ? STORE_ROOT : 99 + i, 1);
	put_weights(100 + SERVER_DEPTH_MAX, (const uint64_t[]){1}, 1);
	assert_int_equal(read_all(), 0);
	put_stack(101 + SERVER_DEPTH_MAX, 100 + SERVER_DEPTH_MAX, 1);
	rows.used = 0;
	put_weights(101 + SERVER_DEPTH_MAX, (const uint64_t[]){1}, 1);
	assert_int_equal(read_all(), -EPROTO);
}

static void attempts_that_nobody_asked_for(void **unused)
{
	static const struct server_attempt attempts[] = {{7, 0}, {9, 1}};
	static const uint32_t others[] = {0, 6, 8, 10, 7 << 16, UINT32_MAX};

	(void)unused;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct server_weights weights = {.attempts = attempts, .attempt_count = 2};

		rows.used = 0;
		put_weights(LEAF, (const uint64_t[]){ATTEMPT(7, 1), ATTEMPT(others[i], 1)}, 2);
		assert_int_equal(place(&weights), 0);
		assert_int_equal(server_sums_add(&sums, tree), -EPROTO);
		server_weights_release(&weights);
	}
}

static void answers_that_end_early(void **unused)
{
	size_t whole;

	(void)unused;
	put_weights(LEAF, (const uint64_t[]){1, 2, 3}, 3);
	whole = rows.used;
	for (size_t bytes = 1; bytes < whole; bytes++) {
		rows.used = bytes;
		assert_int_equal(read_all(), -EPROTO);
	}
	rows.used = 8;
	bytes_varint(&rows, UINT32_MAX);
	assert_int_equal(read_all(), -EPROTO);
	stacks.used--;
	rows.used = 0;
	assert_int_equal(read_all(), -EPROTO);
}

static void sums_that_are_too_large(void **unused)
{
	(void)unused;
	put_weights(LEAF, (const uint64_t[]){UINT64_MAX, 1}, 2);
	assert_int_equal(read_all(), -EOVERFLOW);
	rows.used = 0;
	sums.weight = 0;
	put_weights(LEAF, (const uint64_t[]){UINT64_MAX / 2}, 1);
	assert_int_equal(read_all(), -EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(servers_are_added_up, begin, end),
		cmocka_unit_test_setup_teardown(sums_of_one_unit, begin, end),
		cmocka_unit_test_setup_teardown(what_leads_nowhere_is_unknown, begin, end),
		cmocka_unit_test_setup_teardown(a_circle_is_damage, begin, end),
		cmocka_unit_test_setup_teardown(stacks_have_an_end, begin, end),
		cmocka_unit_test_setup_teardown(attempts_that_nobody_asked_for, begin, end),
		cmocka_unit_test_setup_teardown(answers_that_end_early, begin, end),
		cmocka_unit_test_setup_teardown(sums_that_are_too_large, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
