/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test the file of a node (computer) with its MPI ranks: write and read it, copy ranks byte by
 * byte, refuse other files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/formats/ranks_file.h"
#include "cli/formats/weigh.h"
#include "tests/unit/random.h"

static const struct ranks_file_head head = {"7.0", "n1", "./heat 100", 5000000, 4};

/*
 * Make a tree with the root main. main calls MPI_Send, which waits. main also calls work, which
 * calls itself.
 */
static struct calltree *tree_of(const uint64_t self[4])
{
	static const struct {
		uint32_t parent;
		const char *name;
		enum calltree_frame_kind kind;
	} nodes[] = {
		{0, "main", CALLTREE_NATIVE},
		{1, "work", CALLTREE_NATIVE},
		{2, "work", CALLTREE_NATIVE},
		{1, "MPI_Send", CALLTREE_NATIVE},
		{4, "[poll]", CALLTREE_WAIT},
	};
	struct calltree *tree = calltree_new();

	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(
			calltree_child(tree, nodes[i].parent,
				calltree_frame(tree, nodes[i].name, "heat", nodes[i].kind)),
			i + 1);
	for (uint32_t i = 0; i < 4; i++)
		calltree_add(tree, i + 2, self[i]);
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static struct bytes write_file(const struct calltree *tree, const struct ranks_file *kept,
	const struct ranks_file_rank *rank, const uint64_t self[4])
{
	const uint64_t weights[6] = {0, 0, self[0], self[1], self[2], self[3]};
	struct bytes bytes = {0};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(ranks_file_write(out, &head, tree, kept, rank, weights), 0);
	fclose(out);
	bytes_put(&bytes, text, size);
	free(text);
	return bytes;
}

/* Write rank 2, then rank 0. If @again is set, write rank 2 once more. */
static void make_file(struct ranks_file *file, bool again)
{
	static const uint64_t two[4] = {3, 5, 100, 1000}, zero[4] = {40, 0, 7, 0};
	struct ranks_file_rank rank = {
		.number = 2, .state = RANK_ENDED, .began_s = 100, .duration_ns = 8, .signal = 9};
	struct calltree *tree = tree_of(two);
	struct bytes bytes = write_file(tree, NULL, &rank, two);
	struct ranks_file before;

	assert_int_equal(ranks_file_parse(&before, &bytes, "one", NULL), 0);
	rank = (struct ranks_file_rank){.number = again ? 2 : 0};
	bytes = write_file(tree, &before, &rank, zero);
	calltree_free(tree);
	ranks_file_release(&before);
	assert_int_equal(ranks_file_parse(file, &bytes, "two", NULL), 0);
}

static void what_is_written_is_read(void **state)
{
	struct ranks_file file;
	struct ranks_file_walk walk = {0};
	uint32_t stack;
	uint64_t weight, sum = 0;

	(void)state;
	make_file(&file, false);
	assert_string_equal(file.head.job, "7.0");
	assert_string_equal(file.head.node, "n1");
	assert_string_equal(file.head.title, "./heat 100");
	assert_int_equal(file.head.period_ns, 5000000);
	assert_int_equal(file.head.size, 4);
	assert_int_equal(file.stack_count, 6);
	assert_int_equal(file.parents[3], 2);
	assert_string_equal(file.texts[file.frames[file.frame_of[5]].name], "[poll]");
	assert_int_equal(file.frames[file.frame_of[5]].kind, CALLTREE_WAIT);
	assert_int_equal(file.rank_count, 2);
	assert_int_equal(file.ranks[0].number, 2);
	assert_int_equal(file.ranks[0].signal, 9);
	assert_int_equal(file.ranks[0].state, RANK_ENDED);
	assert_int_equal(file.ranks[1].number, 0);
	assert_int_equal(file.ranks[1].state, RANK_BEGAN);
	walk.rank = &file.ranks[0];
	while (ranks_file_next(&file, &walk, &stack, &weight) > 0)
		sum += weight * stack;
	assert_int_equal(sum, 3 * 2 + 5 * 3 + 100 * 4 + 1000 * 5);
	ranks_file_release(&file);
}

static void a_rank_is_replaced(void **state)
{
	struct ranks_file file;

	(void)state;
	make_file(&file, true);
	assert_int_equal(file.rank_count, 1);
	assert_int_equal(file.ranks[0].signal, 0);
	ranks_file_release(&file);
}

/*
 * Compute each function's maximum, minimum and sum over the ranks. A recursive function counts once
 * per stack.
 */
static void ranks_are_weighed(void **state)
{
	struct ranks_file file;
	struct weigh weigh;
	uint32_t work, send;

	(void)state;
	make_file(&file, false);
	assert_int_equal(weigh_file(&weigh, &file, CALLTREE_TIMES_CPU), 0);
	work = calltree_frame(weigh.names, "work", "heat", CALLTREE_NATIVE);
	send = calltree_frame(weigh.names, "MPI_Send", "heat", CALLTREE_NATIVE);
	assert_int_equal(weigh.function[work].sum, 48);
	assert_int_equal(weigh.function[work].most, 40);
	assert_int_equal(weigh.function[work].most_rank, 0);
	assert_int_equal(weigh.function[work].least, 8);
	assert_int_equal(weigh.function[work].least_rank, 2);
	assert_int_equal(weigh.function[work].self, 48);
	assert_int_equal(weigh.function[send].most, 100);
	assert_int_equal(weigh.one[0].cpu, 108);
	assert_int_equal(weigh.one[0].cpu_in_mpi, 100);
	assert_int_equal(weigh.one[0].waits, 1000);
	assert_int_equal(weigh.one[0].waits_in_mpi, 1000);
	assert_int_equal(weigh.self[5], 1000);
	weigh_release(&weigh);
	assert_int_equal(weigh_file(&weigh, &file, CALLTREE_TIMES_WAITS), 0);
	assert_int_equal(weigh.function[send].sum, 1000);
	assert_int_equal(weigh.function[work].sum, 0);
	weigh_release(&weigh);
	ranks_file_release(&file);
}

static void counts_stand_at_the_beginning(void **state)
{
	static const uint64_t self[4] = {1, 1, 1, 1};
	const struct ranks_file_rank rank = {.number = 1, .state = RANK_ENDED};
	struct calltree *tree = tree_of(self);
	struct bytes bytes = write_file(tree, NULL, &rank, self);
	struct ranks_file_counts counts;
	FILE *file = tmpfile();

	(void)state;
	fwrite(bytes.data, 1, bytes.used, file);
	fflush(file);
	assert_int_equal(ranks_file_count(&counts, fileno(file)), 0);
	assert_int_equal(counts.ranks, 1);
	assert_int_equal(counts.ended, 1);
	assert_string_equal(counts.job, "7.0");
	fclose(file);
	bytes_release(&bytes);
	calltree_free(tree);
}

/*
 * Read files that are cut at each byte and files with one byte changed. Each refusal must have a
 * reason.
 */
static void damage_is_refused(void **state)
{
	static const uint64_t self[4] = {3, 500, 70000, 1};
	const struct ranks_file_rank rank = {.number = 1};
	struct calltree *tree = tree_of(self);
	struct bytes whole = write_file(tree, NULL, &rank, self);
	unsigned refused = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		struct diag_message message = {0};
		struct bytes bytes = {0};
		struct ranks_file file;
		struct weigh weigh;
		size_t used = i < whole.used ? i : whole.used;

		bytes_put(&bytes, whole.data, used);
		if (i >= whole.used)
			bytes.data[random_below((uint32_t)used)] = (uint8_t)random_below(256);
		if (ranks_file_parse(&file, &bytes, "damaged", &message)) {
			assert_true(message.text[0]);
			refused++;
			continue;
		}
		weigh_file(&weigh, &file, CALLTREE_TIMES_BOTH);
		weigh_release(&weigh);
		ranks_file_release(&file);
	}
	assert_true(refused > whole.used / 2);
	bytes_release(&whole);
	calltree_free(tree);
}

/*
 * An MPI function that tail-called into its library has no frame, so any frame of MPI's library
 * counts as MPI. A wait in a thread that the library started itself does not count as a wait in
 * MPI.
 */
static void a_library_of_mpi_is_inside(void **state)
{
	static const struct {
		uint32_t parent;
		const char *name, *module;
		uint64_t weight;
	} nodes[] = {
		{0, "main", "heat", 1},
		{1, "[libmpich.so.12+0x1764b0]", "libmpich.so.12", 10},
		{2, "ucp_worker_progress", "libucp.so.0", 100},
		{0, "start_thread", "libc.so.6", 1000},
		{4, "[libmpich.so.12+0x99]", "libmpich.so.12", 10000},
		{1, "mpi_library", "libmpeg.so.2", 100000},
		{0, "[libmpi.so.40+0x99]", "libmpi.so.40", 1000000},
	};
	const struct ranks_file_rank rank = {.number = 0, .state = RANK_ENDED};
	struct calltree *tree = calltree_new();
	struct diag_message message = {0};
	struct ranks_file file;
	struct bytes bytes = {0};
	uint64_t weights[8] = {0};
	struct weigh weigh;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	for (uint32_t i = 0; i < 7; i++) {
		calltree_child(tree, nodes[i].parent,
			calltree_frame(tree, nodes[i].name, nodes[i].module, CALLTREE_NATIVE));
		weights[i + 1] = nodes[i].weight;
	}
	assert_int_equal(calltree_finish(tree), 0);
	assert_int_equal(ranks_file_write(out, &head, tree, NULL, &rank, weights), 0);
	fclose(out);
	bytes_put(&bytes, text, size);
	free(text);
	assert_int_equal(ranks_file_parse(&file, &bytes, "made", &message), 0);
	assert_int_equal(weigh_file(&weigh, &file, CALLTREE_TIMES_CPU), 0);
	assert_int_equal(weigh.one[0].cpu, 1111111);
	assert_int_equal(weigh.one[0].cpu_in_mpi, 110);
	weigh_release(&weigh);
	ranks_file_release(&file);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_rank_is_replaced),
		cmocka_unit_test(ranks_are_weighed),
		cmocka_unit_test(a_library_of_mpi_is_inside),
		cmocka_unit_test(counts_stand_at_the_beginning),
		cmocka_unit_test(damage_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
