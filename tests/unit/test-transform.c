/* SPDX-License-Identifier: MIT */
/* Trees made from trees, against an oracle that keeps every stack as a list of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/transform.h"

#define STACKS	   400u
#define DEPTH	   9u
#define NAMES	   12u
#define THREADS	   4u
#define LINE_BYTES 128u

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 11) % limit;
}

/* One stack with one sample: what the tree is built from and what the oracle keeps. */
struct stack {
	uint32_t depth;
	uint32_t names[DEPTH]; /* outermost first */
	uint32_t thread;
	uint32_t weight;
	uint64_t time_ns;
};

static void make_stacks(struct stack *stacks)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		stacks[i] = (struct stack){.depth = random_below(DEPTH + 1),
			.thread = random_below(THREADS),
			.weight = 1 + random_below(5),
			.time_ns = (i + 1) * UINT64_C(1000)};
		for (uint32_t d = 0; d < stacks[i].depth; d++)
			stacks[i].names[d] = random_below(NAMES);
	}
}

static struct calltree *build(const struct stack *stacks)
{
	struct calltree *tree = calltree_new();

	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t node = CALLTREE_ROOT;

		for (uint32_t d = 0; d < stacks[i].depth; d++) {
			char name[2] = {(char)('a' + stacks[i].names[d]), '\0'};

			node = calltree_child(
				tree, node, calltree_frame(tree, name, "prog", CALLTREE_NATIVE));
		}
		calltree_add(tree, node, stacks[i].weight);
		calltree_sample(tree, &(struct calltree_sample){.time_ns = stacks[i].time_ns,
					      .node = node,
					      .weight = stacks[i].weight,
					      .thread = stacks[i].thread});
	}
	for (uint32_t i = 0; i < THREADS - 1; i++) {
		char name[8];

		snprintf(name, sizeof(name), "T%u", i);
		calltree_thread(tree, i, name);
	}
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

/* The stack of @node as text, root first. */
static void spell(char *line, const struct calltree *tree, uint32_t node)
{
	const char *names[DEPTH + 2];
	unsigned count = 0;

	for (; node != CALLTREE_ROOT; node = calltree_node_at(tree, node)->parent) {
		assert_true(count < DEPTH + 2);
		names[count++] = calltree_frame_at(tree, calltree_node_at(tree, node)->frame)->name;
	}
	line[0] = '\0';
	while (count) {
		strcat(line, names[--count]);
		strcat(line, ";");
	}
}

static int is_in(const struct calltree_frame *frame, void *set)
{
	return strchr(set, frame->name[0]) != NULL;
}

struct wish {
	const char *root, *hide; /* letters; NULL: not asked for */
	int by_thread, reverse;
};

/* What should become of @stack. Returns 0 when it leaves. */
static int expect(char *line, const struct stack *stack, const struct wish *wish)
{
	char kept[DEPTH + 1], thread[16] = "";
	unsigned count = 0, from = 0;

	if (wish->root) {
		while (from < stack->depth && !strchr(wish->root, 'a' + (int)stack->names[from]))
			from++;
		if (from == stack->depth)
			return 0;
	}
	for (; from < stack->depth; from++) {
		char name = (char)('a' + stack->names[from]);

		if (!wish->hide || !strchr(wish->hide, name))
			kept[count++] = name;
	}
	if (!count && stack->depth)
		return 0;
	if (wish->by_thread)
		snprintf(thread, sizeof(thread),
			stack->thread == THREADS - 1 ? "thread %u;" : "T%u;", stack->thread);
	strcpy(line, thread);
	for (unsigned i = 0; i < count; i++)
		sprintf(line + strlen(line), "%c;", kept[wish->reverse ? count - 1 - i : i]);
	return 1;
}

static struct calltree *transform(
	const struct calltree *tree, const struct wish *wish, uint64_t *left_out)
{
	struct transform_options options = {
		.root = wish->root ? is_in : NULL,
		.root_context = (void *)(uintptr_t)wish->root,
		.hide = wish->hide ? is_in : NULL,
		.hide_context = (void *)(uintptr_t)wish->hide,
		.by_thread = wish->by_thread,
		.reverse = wish->reverse,
	};
	struct calltree *made = NULL;

	assert_int_equal(transform_tree(tree, &options, &made, left_out), 0);
	assert_int_equal(calltree_error(made), 0);
	return made;
}

/* Every node's self weight is that of the stacks that should end there, and totals are sums. */
static void check_weights(const struct calltree *made, char (*lines)[LINE_BYTES],
	const uint8_t *stays, const struct stack *stacks)
{
	char line[LINE_BYTES];

	for (uint32_t n = 0; n < calltree_nodes(made); n++) {
		uint64_t self = 0, total = 0;

		spell(line, made, n);
		for (uint32_t i = 0; i < STACKS; i++) {
			if (!stays[i])
				continue;
			if (!strcmp(lines[i], line))
				self += stacks[i].weight;
			if (!strncmp(lines[i], line, strlen(line)))
				total += stacks[i].weight;
		}
		assert_int_equal(calltree_node_at(made, n)->self, self);
		assert_int_equal(calltree_node_at(made, n)->total, total);
	}
}

static void check(const struct stack *stacks, const struct calltree *tree, const struct wish *wish)
{
	static char lines[STACKS][LINE_BYTES];
	uint8_t stays[STACKS];
	uint64_t left_out = 77, left = 0;
	struct calltree *made = transform(tree, wish, &left_out);
	size_t sample = 0;
	char line[LINE_BYTES];

	for (uint32_t i = 0; i < STACKS; i++) {
		stays[i] = (uint8_t)expect(lines[i], &stacks[i], wish);
		if (!stays[i]) {
			left += stacks[i].weight;
			continue;
		}
		/* Samples stay in their order, with their times and threads. */
		assert_true(sample < calltree_samples(made));
		const struct calltree_sample *got = calltree_sample_at(made, sample++);

		assert_int_equal(got->time_ns, stacks[i].time_ns);
		assert_int_equal(got->thread, stacks[i].thread);
		assert_int_equal(got->weight, stacks[i].weight);
		spell(line, made, got->node);
		assert_string_equal(line, lines[i]);
	}
	assert_int_equal(calltree_samples(made), sample);
	for (uint32_t i = 0; wish->hide && i < calltree_frames(made); i++)
		assert_true(calltree_frame_at(made, i)->kind == CALLTREE_THREAD ||
			    !is_in(calltree_frame_at(made, i), (void *)(uintptr_t)wish->hide));
	assert_int_equal(left_out, left);
	assert_int_equal(calltree_total(made) + left_out, calltree_total(tree));
	check_weights(made, lines, stays, stacks);
	for (uint32_t i = 0; i < THREADS - 1; i++)
		assert_string_equal(calltree_thread_at(made, i), calltree_thread_at(tree, i));
	calltree_free(made);
}

static void test_every_wish_does_as_the_oracle(void **state)
{
	static struct stack stacks[STACKS];
	static const char *const roots[] = {NULL, "c", "bfz", "!"};
	static const char *const hides[] = {NULL, "a", "cdef", "abcdefghijkl"};

	(void)state;
	for (unsigned seed = 1; seed <= 4; seed++) {
		random_state = seed * UINT64_C(88172645463325252);
		make_stacks(stacks);
		struct calltree *tree = build(stacks);

		for (unsigned i = 0; i < 64; i++)
			check(stacks, tree,
				&(struct wish){roots[i % 4], hides[i / 4 % 4], i / 16 % 2, i / 32});
		calltree_free(tree);
	}
}

static uint32_t put(struct calltree *tree, uint32_t parent, const char *name,
	enum calltree_frame_kind kind, uint64_t weight)
{
	uint32_t node = calltree_child(tree, parent, calltree_frame(tree, name, "", kind));

	calltree_add(tree, node, weight);
	return node;
}

static uint64_t self_of(const struct calltree *tree, const char *wanted)
{
	char line[LINE_BYTES];

	for (uint32_t n = 0; n < calltree_nodes(tree); n++) {
		spell(line, tree, n);
		if (!strcmp(line, wanted))
			return calltree_node_at(tree, n)->self;
	}
	return 0;
}

static void test_weight_without_a_time_finds_its_thread(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t one = put(tree, CALLTREE_ROOT, "one", CALLTREE_NATIVE, 10);
	uint32_t both = put(tree, CALLTREE_ROOT, "both", CALLTREE_NATIVE, 10);
	uint64_t left_out;

	(void)state;
	put(tree, CALLTREE_ROOT, "none", CALLTREE_NATIVE, 10);
	calltree_thread(tree, 0, "A");
	calltree_thread(tree, 1, "B");
	calltree_sample(tree, &(struct calltree_sample){.node = one, .weight = 3, .thread = 1});
	calltree_sample(tree, &(struct calltree_sample){.node = both, .weight = 2, .thread = 0});
	/* More than the node has: a sample adds no weight of its own. */
	calltree_sample(tree, &(struct calltree_sample){.node = both, .weight = 5, .thread = 1});
	calltree_finish(tree);
	struct calltree *made = transform(tree, &(struct wish){.by_thread = 1}, &left_out);

	assert_int_equal(self_of(made, "B;one;"), 10);
	assert_int_equal(self_of(made, "A;both;"), 2);
	assert_int_equal(self_of(made, "B;both;"), 5);
	assert_int_equal(self_of(made, "both;"), 3);
	assert_int_equal(self_of(made, "none;"), 10);
	assert_int_equal(calltree_total(made), 30);
	assert_int_equal(calltree_frame_at(made, calltree_node_at(made, 1)->frame)->kind,
		calltree_node_at(made, 1)->parent == CALLTREE_ROOT ? CALLTREE_THREAD : 99);
	calltree_free(made);
	calltree_free(tree);
}

static void test_samples_heavier_than_their_node_add_nothing(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = put(tree, CALLTREE_ROOT, "f", CALLTREE_NATIVE, 4);
	uint64_t left_out;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		calltree_sample(
			tree, &(struct calltree_sample){.node = node, .weight = 3, .thread = i});
	calltree_finish(tree);
	struct calltree *made = transform(tree, &(struct wish){.by_thread = 1}, &left_out);

	assert_int_equal(calltree_total(made), 4);
	assert_int_equal(self_of(made, "thread 0;f;"), 3);
	assert_int_equal(self_of(made, "thread 1;f;"), 1);
	assert_int_equal(calltree_samples(made), 3);
	calltree_free(made);
	calltree_free(tree);
}

static void test_equal_names_of_other_modules_stay_apart(void **state)
{
	struct calltree *tree = calltree_new();
	uint64_t left_out;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		calltree_add(tree,
			calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(tree, "f", i ? "b" : "a", CALLTREE_JIT)),
			1);
	calltree_finish(tree);
	struct calltree *made = transform(tree, &(struct wish){.reverse = 1}, &left_out);

	assert_int_equal(calltree_nodes(made), 3);
	assert_int_equal(calltree_frame_at(made, 1)->kind, CALLTREE_JIT);
	calltree_free(made);
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_wish_does_as_the_oracle),
		cmocka_unit_test(test_weight_without_a_time_finds_its_thread),
		cmocka_unit_test(test_samples_heavier_than_their_node_add_nothing),
		cmocka_unit_test(test_equal_names_of_other_modules_stay_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
