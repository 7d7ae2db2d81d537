/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/* Transform trees and compare the results with an oracle that keeps each stack as a list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "render/transform.h"
#include "tests/unit/random.h"

#define STACKS	   400u
#define DEPTH	   9u
#define NAMES	   12u
#define THREADS	   4u
#define LINE_BYTES 128u

/* A stack with one sample, from which the tree and the oracle's list are made. */
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

static const char *module_of(uint32_t name)
{
	static const char *const modules[] = {"m", "n", "o", ""};

	return modules[name % 4];
}

static struct calltree *build(const struct stack *stacks)
{
	struct calltree *tree = calltree_new();

	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t node = CALLTREE_ROOT;

		for (uint32_t d = 0; d < stacks[i].depth; d++) {
			char name[2] = {(char)('a' + stacks[i].names[d]), '\0'};

			node = calltree_child(tree, node,
				calltree_frame(tree, name, module_of(stacks[i].names[d]),
					CALLTREE_NATIVE));
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
		calltree_thread(tree, i, name, i < 2 ? "P (1)" : "Q (2)");
	}
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

/* Print the stack of @node, root first. */
static void spell(char *line, const struct calltree *tree, uint32_t node)
{
	const char *names[DEPTH + 3];
	unsigned count = 0;

	for (; node != CALLTREE_ROOT; node = calltree_node_at(tree, node)->parent) {
		assert_true(count < DEPTH + 3);
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
	const char *filters[TRANSFORM_FILTERS]; /* letters; NULL: not asked for */
	struct transform_shape shape;
};

/* Is one of the @count @names in @set? */
static int has_any(const char *names, unsigned count, const char *set)
{
	for (unsigned i = 0; i < count; i++)
		if (strchr(set, names[i]))
			return 1;
	return 0;
}

/* Apply the filters to a stack. Returns the number of names left, or -1 if the stack is dropped. */
static int filter_names(char *names, unsigned count, const char *const *filters)
{
	unsigned from = 0, left = 0;

	if (filters[TRANSFORM_FOCUS] && !has_any(names, count, filters[TRANSFORM_FOCUS]))
		return -1;
	if (filters[TRANSFORM_IGNORE] && has_any(names, count, filters[TRANSFORM_IGNORE]))
		return -1;
	while (filters[TRANSFORM_ROOT] && from < count &&
		!strchr(filters[TRANSFORM_ROOT], names[from]))
		from++;
	if (filters[TRANSFORM_ROOT] && from == count)
		return -1;
	for (; from < count; from++)
		if (!filters[TRANSFORM_HIDE] || !strchr(filters[TRANSFORM_HIDE], names[from]))
			names[left++] = names[from];
	return count && !left ? -1 : (int)left;
}

/*
 * Collapse recursion: if a name occurs again, remove all names after its first occurrence. Returns
 * the number of names left.
 */
static unsigned collapse_names(char *names, unsigned count)
{
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++) {
		char *again = memchr(names, names[i], left);

		if (again)
			left = (unsigned)(again - names) + 1;
		else
			names[left++] = names[i];
	}
	return left;
}

/* Returns the final name of @names[@i]. */
static const char *word_of(const char *names, unsigned i, int by_module)
{
	static char words[8][2];
	static unsigned turn;
	const char *module = module_of((uint32_t)(names[i] - 'a'));

	if (by_module)
		return *module ? module : "[unknown module]";
	words[++turn % 8][0] = names[i];
	return words[turn % 8];
}

static void add_word(char *line, const char *word)
{
	strcat(line, word);
	strcat(line, ";");
}

/*
 * Append to @line the stack into which the transformation @wish turns @stack. Returns 0 if the
 * stack is dropped.
 */
static int expect(char *line, const struct stack *stack, const struct wish *wish)
{
	static const char *const threads[THREADS] = {"T0", "T1", "T2", "thread 3"};
	static const char *const processes[THREADS] = {"P (1)", "P (1)", "Q (2)", NULL};
	const struct transform_shape *shape = &wish->shape;
	const char *words[DEPTH];
	char names[DEPTH + 1];
	unsigned count = 0;
	int left;

	for (uint32_t d = 0; d < stack->depth; d++)
		names[d] = (char)('a' + stack->names[d]);
	left = filter_names(names, stack->depth, wish->filters);
	if (left < 0)
		return 0;
	if (shape->collapse_recursion)
		left = (int)collapse_names(names, (unsigned)left);
	for (unsigned i = 0; i < (unsigned)left; i++) {
		const char *word = word_of(names, i, shape->by_module);

		if (!shape->by_module || !count || strcmp(words[count - 1], word))
			words[count++] = strdup(word);
	}
	line[0] = '\0';
	if (shape->by_process && processes[stack->thread])
		add_word(line, processes[stack->thread]);
	if (shape->by_thread)
		add_word(line, threads[stack->thread]);
	for (unsigned i = 0; i < count; i++)
		add_word(line, words[shape->reverse ? count - 1 - i : i]);
	for (unsigned i = 0; i < count; i++)
		free((void *)(uintptr_t)words[i]);
	return 1;
}

/* @left_out is the sum over all filters. */
static struct calltree *transform(
	const struct calltree *tree, const struct wish *wish, uint64_t *left_out)
{
	struct transform_matcher matchers[TRANSFORM_FILTERS] = {{NULL, NULL}};
	uint64_t lost[TRANSFORM_FILTERS];
	struct calltree *filtered = NULL, *shown = NULL;

	for (int i = 0; i < TRANSFORM_FILTERS; i++)
		if (wish->filters[i])
			matchers[i] = (struct transform_matcher){
				is_in, (void *)(uintptr_t)wish->filters[i]};
	assert_int_equal(transform_filter(tree, matchers, &filtered, lost), 0);
	assert_int_equal(transform_shape(filtered ? filtered : tree, &wish->shape, &shown), 0);
	*left_out = 0;
	for (int i = 0; i < TRANSFORM_FILTERS; i++) {
		*left_out += lost[i];
		assert_true(matchers[i].match || !lost[i]);
	}
	if (shown)
		calltree_free(filtered);
	return shown ? shown : filtered;
}

/* Check that each node has the self weight of the stacks that end there, and the right total. */
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

/* Check that each node has weight and that each frame has a node. */
static void check_nothing_is_left_over(const struct calltree *tree)
{
	uint8_t *is_used = calloc(calltree_frames(tree) + 1, 1);

	for (uint32_t n = 1; n < calltree_nodes(tree); n++) {
		assert_true(calltree_node_at(tree, n)->total > 0);
		is_used[calltree_node_at(tree, n)->frame] = 1;
	}
	for (uint32_t i = 0; i < calltree_frames(tree); i++)
		assert_true(is_used[i]);
	free(is_used);
}

static void check(const struct stack *stacks, const struct calltree *tree, const struct wish *wish)
{
	static char lines[STACKS][LINE_BYTES];
	uint8_t stays[STACKS];
	uint64_t left_out = 77, left = 0;
	struct calltree *own = transform(tree, wish, &left_out);
	const struct calltree *made = own ? own : tree;
	size_t sample = 0;
	char line[LINE_BYTES];

	for (uint32_t i = 0; i < STACKS; i++) {
		stays[i] = (uint8_t)expect(lines[i], &stacks[i], wish);
		if (!stays[i]) {
			left += stacks[i].weight;
			continue;
		}
		/* Samples must keep their order, times and threads. */
		assert_true(sample < calltree_samples(made));
		const struct calltree_sample *got = calltree_sample_at(made, sample++);

		assert_int_equal(got->time_ns, stacks[i].time_ns);
		assert_int_equal(got->thread, stacks[i].thread);
		assert_int_equal(got->weight, stacks[i].weight);
		spell(line, made, got->node);
		assert_string_equal(line, lines[i]);
	}
	assert_int_equal(calltree_samples(made), sample);
	assert_int_equal(left_out, left);
	assert_int_equal(calltree_total(made) + left_out, calltree_total(tree));
	check_weights(made, lines, stays, stacks);
	check_nothing_is_left_over(made);
	for (uint32_t i = 0; i < THREADS - 1; i++) {
		assert_string_equal(calltree_thread_at(made, i), calltree_thread_at(tree, i));
		assert_string_equal(calltree_process_at(made, i), calltree_process_at(tree, i));
	}
	calltree_free(own);
}

static const char *random_letters(const char *const *from)
{
	return from[random_below(4)];
}

static void test_every_wish_does_as_the_oracle(void **state)
{
	static struct stack stacks[STACKS];
	static const char *const choices[TRANSFORM_FILTERS][4] = {
		[TRANSFORM_FOCUS] = {NULL, NULL, "bc", "!"},
		[TRANSFORM_IGNORE] = {NULL, NULL, "de", "f"},
		[TRANSFORM_ROOT] = {NULL, NULL, "c", "bfz"},
		[TRANSFORM_HIDE] = {NULL, "a", "cdef", "abcdefghijkl"},
	};

	(void)state;
	for (unsigned seed = 1; seed <= 4; seed++) {
		random_state = seed * UINT64_C(88172645463325252);
		make_stacks(stacks);
		struct calltree *tree = build(stacks);

		for (unsigned i = 0; i < 128; i++) {
			struct wish wish = {.shape = {.collapse_recursion = i % 2,
						    .by_module = i / 2 % 4 == 3,
						    .by_process = i / 8 % 2,
						    .by_thread = i / 16 % 2,
						    .reverse = i / 32 % 2}};

			for (int j = 0; j < TRANSFORM_FILTERS; j++)
				wish.filters[j] = i < 16 ? NULL : random_letters(choices[j]);
			check(stacks, tree, &wish);
		}
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
	calltree_thread(tree, 0, "A", "");
	calltree_thread(tree, 1, "B", "");
	calltree_sample(tree, &(struct calltree_sample){.node = one, .weight = 3, .thread = 1});
	calltree_sample(tree, &(struct calltree_sample){.node = both, .weight = 2, .thread = 0});
	/* The sample has more weight than the node has left. Samples must not add weight. */
	calltree_sample(tree, &(struct calltree_sample){.node = both, .weight = 5, .thread = 1});
	calltree_finish(tree);
	struct calltree *made =
		transform(tree, &(struct wish){.shape = {.by_thread = 1}}, &left_out);

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
	struct calltree *made =
		transform(tree, &(struct wish){.shape = {.by_thread = 1}}, &left_out);

	assert_int_equal(calltree_total(made), 4);
	assert_int_equal(self_of(made, "thread 0;f;"), 3);
	assert_int_equal(self_of(made, "thread 1;f;"), 1);
	assert_int_equal(calltree_samples(made), 3);
	calltree_free(made);
	calltree_free(tree);
}

static void test_samples_without_weight_stay(void **state)
{
	struct calltree *tree = calltree_new();
	uint64_t left_out;

	(void)state;
	put(tree, CALLTREE_ROOT, "other", CALLTREE_NATIVE, 1);
	calltree_sample(tree, &(struct calltree_sample){
				      .node = put(tree, CALLTREE_ROOT, "f", CALLTREE_NATIVE, 0)});
	calltree_finish(tree);
	struct calltree *made =
		transform(tree, &(struct wish){.filters = {[TRANSFORM_FOCUS] = "f"}}, &left_out);

	assert_int_equal(calltree_samples(made), 1);
	assert_int_equal(calltree_sample_at(made, 0)->node, 1);
	assert_int_equal(left_out, 1);
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
	struct calltree *made = transform(tree, &(struct wish){.shape = {.reverse = 1}}, &left_out);

	assert_int_equal(calltree_nodes(made), 3);
	assert_int_equal(calltree_frame_at(made, 1)->kind, CALLTREE_JIT);
	calltree_free(made);
	calltree_free(tree);
}

/*
 * Build a tree from stacks, given as letters (outermost first); each has weight 1. "" ends the
 * list.
 */
static struct calltree *build_from(const char *const *lines)
{
	struct calltree *tree = calltree_new();

	for (; **lines; lines++) {
		uint32_t node = CALLTREE_ROOT;

		for (const char *at = *lines; *at; at++)
			node = put(tree, node, (char[]){*at, '\0'}, CALLTREE_NATIVE, !at[1]);
	}
	assert_int_equal(calltree_finish(tree), 0);
	return tree;
}

static void test_recursion(void **state)
{
	static const char *const cases[][8] = {
		/* each row: input stacks, "", expected stacks (which have all of the weight), "" */
		{"maaab", "", "mab"},	/* direct */
		{"mababc", "", "mabc"}, /* through another */
		{"mabac", "", "mac"},	/* through b, which is not on the way to c */
		{"mabac", "mab", "", "mac", "mab"},
		{"mabcdbcde", "", "mabcde"}, /* a longer round */
		{"mabcac", "", "mac"},	     /* c was called by a, too */
		{"mabab", "mb", "maba", "", "mab", "mb", "ma"},
		{"aa", "ba", "", "a", "ba"}, /* each stack by itself */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const *wanted = cases[i];
		struct calltree *tree = build_from(cases[i]);
		uint64_t left_out;
		struct calltree *made = transform(
			tree, &(struct wish){.shape = {.collapse_recursion = 1}}, &left_out);

		while (**wanted++)
			;
		assert_int_equal(calltree_total(made), calltree_total(tree));
		for (; *wanted; wanted++) {
			char line[LINE_BYTES] = "";

			for (const char *at = *wanted; *at; at++)
				add_word(line, (char[]){*at, '\0'});
			assert_int_equal(self_of(made, line), 1);
		}
		check_nothing_is_left_over(made);
		calltree_free(made);
		calltree_free(tree);
	}
}

/* Names in brackets stand for many functions, so they do not count as recursive. */
static void test_what_is_no_function_does_not_recurse(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = CALLTREE_ROOT;
	uint64_t left_out;

	(void)state;
	for (int i = 0; i < 2; i++) {
		node = put(tree, node, "[unknown code]", CALLTREE_UNNAMED, 0);
		node = put(tree, node, "[signal handler]", CALLTREE_SYNTHETIC, 0);
	}
	put(tree, node, "f", CALLTREE_NATIVE, 1);
	calltree_finish(tree);
	struct calltree *made =
		transform(tree, &(struct wish){.shape = {.collapse_recursion = 1}}, &left_out);

	assert_int_equal(calltree_nodes(made), calltree_nodes(tree));
	calltree_free(made);
	calltree_free(tree);
}

/*
 * An inlined call counts as recursion: a compiler may inline the first call of a recursive function
 * into the function.
 */
static void test_inlined_calls_are_calls(void **state)
{
	static const enum calltree_frame_kind kinds[] = {CALLTREE_INLINE, CALLTREE_NATIVE};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct calltree *tree = calltree_new();
		uint32_t node = put(tree, CALLTREE_ROOT, "f", kinds[!i], 0);
		uint64_t left_out;

		put(tree, put(tree, node, "f", kinds[i], 2), "g", CALLTREE_NATIVE, 1);
		calltree_finish(tree);
		struct calltree *made = transform(
			tree, &(struct wish){.shape = {.collapse_recursion = 1}}, &left_out);

		assert_int_equal(self_of(made, "f;"), 2);
		assert_int_equal(self_of(made, "f;g;"), 1);
		assert_int_equal(calltree_frame_at(made, 0)->kind, kinds[!i]);
		calltree_free(made);
		calltree_free(tree);
	}
}

/* 300,000 nested calls, with weight in each. A pass must not walk the whole stack for each node. */
static void test_deep_stacks(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t node = CALLTREE_ROOT;
	uint64_t left_out;
	static const struct wish wishes[] = {
		{.filters = {[TRANSFORM_FOCUS] = "x",
			 [TRANSFORM_IGNORE] = "!",
			 [TRANSFORM_ROOT] = "a",
			 [TRANSFORM_HIDE] = "b"}},
		{.shape = {.collapse_recursion = 1}},
		{.shape = {.by_module = 1}},
		{.shape = {.by_process = 1, .by_thread = 1}},
	};

	(void)state;
	calltree_thread(tree, 0, "T", "P (1)");
	for (uint32_t i = 0; i < 300000; i++) {
		node = put(tree, node, i == 9 ? "x" : i % 3 ? "a" : "b", CALLTREE_NATIVE, 1);
		calltree_sample(tree, &(struct calltree_sample){.node = node, .weight = 1});
	}
	calltree_finish(tree);
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		struct calltree *made = transform(tree, &wishes[i], &left_out);

		assert_int_equal(calltree_total(made), 300000 - (i ? 0 : 9));
		calltree_free(made);
	}
	calltree_free(tree);
}

static void test_modules(void **state)
{
	static const struct {
		const char *name, *module;
		enum calltree_frame_kind kind;
		const char *word;
	} cases[] = {
		{"f", "lib.so", CALLTREE_NATIVE, "lib.so;"},
		{"[lib.so+0x12]", "lib.so", CALLTREE_UNNAMED, "lib.so;"},
		{"g", "lib.so", CALLTREE_INLINE, "lib.so;"},
		{"f", "", CALLTREE_NATIVE, "[unknown module];"},
		{"g", "", CALLTREE_INLINE, "[unknown module];"},
		{"[unknown code]", "", CALLTREE_UNNAMED, "[unknown code];"},
		{"lambda", "", CALLTREE_JIT, "[generated code];"},
		{"(car x)", "[vm]", CALLTREE_JIT, "[vm];"},
		{"[vm]", "[vm]", CALLTREE_SYNTHETIC, "[vm];"},
		{"[exec]", "", CALLTREE_SYNTHETIC, "[exec];"},
		{"sh", "", CALLTREE_PROCESS, "sh;"},
	};
	struct calltree *tree = calltree_new();
	uint64_t left_out, weight[11] = {0};

	(void)state;
	for (size_t i = 0; i < 11; i++) {
		calltree_add(tree,
			calltree_child(tree, CALLTREE_ROOT,
				calltree_frame(
					tree, cases[i].name, cases[i].module, cases[i].kind)),
			1);
		for (size_t j = 0; j < 11; j++)
			weight[j] += !strcmp(cases[i].word, cases[j].word);
	}
	calltree_finish(tree);
	struct calltree *made =
		transform(tree, &(struct wish){.shape = {.by_module = 1}}, &left_out);

	for (size_t i = 0; i < 11; i++)
		assert_int_equal(self_of(made, cases[i].word), weight[i]);
	assert_int_equal(calltree_nodes(made), 1 + 7);
	calltree_free(made);
	calltree_free(tree);
}

/*
 * flamerun puts a frame "sh" above the stacks of all processes called "sh". In a file that is read,
 * such a frame is an ordinary function.
 */
static void test_a_process_takes_the_place_of_its_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct calltree *tree = calltree_new();
		uint32_t sh = put(
			tree, CALLTREE_ROOT, "sh", i % 2 ? CALLTREE_NATIVE : CALLTREE_PROCESS, 0);
		uint32_t main = put(tree, sh, "main", CALLTREE_NATIVE, 5);
		uint32_t other = put(tree, sh, "sh", CALLTREE_NATIVE, 2);
		uint64_t left_out;

		calltree_thread(tree, 0, "sh (1/1)", "sh (1)");
		calltree_thread(tree, 1, "sh (2/2)", "sh (2)");
		calltree_sample(
			tree, &(struct calltree_sample){.node = main, .weight = 3, .thread = 0});
		calltree_sample(
			tree, &(struct calltree_sample){.node = main, .weight = 1, .thread = 1});
		calltree_sample(
			tree, &(struct calltree_sample){.node = other, .weight = 1, .thread = 1});
		calltree_finish(tree);
		struct calltree *made = transform(tree,
			&(struct wish){.shape = {.by_process = 1, .by_thread = i / 2}}, &left_out);

		assert_int_equal(
			self_of(made, i / 2 ? "sh (1);sh (1/1);main;" : "sh (1);main;"), 3);
		assert_int_equal(
			self_of(made, i / 2 ? "sh (2);sh (2/2);main;" : "sh (2);main;"), 1);
		/* The first weight belongs to one process, the second to no known process. */
		assert_int_equal(self_of(made, i / 2 ? "sh (2);sh (2/2);sh;" : "sh (2);sh;"), 2);
		assert_int_equal(self_of(made, "sh;main;"), 1);
		calltree_free(made);
		calltree_free(tree);
	}
}

/* A tree that already has root frames, made here or read from a file, gets no second ones. */
static void test_roots_are_not_doubled(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct calltree *tree = calltree_new();
		uint32_t node = put(tree, CALLTREE_ROOT, "sh (1)",
			i % 2 ? CALLTREE_NATIVE : CALLTREE_PROCESS, 0);
		uint64_t left_out;

		node = put(tree, node, "T (1/1)", i % 2 ? CALLTREE_NATIVE : CALLTREE_THREAD, 0);
		node = put(tree, node, "main", CALLTREE_NATIVE, 1);
		/* Below another frame a frame with a thread's name is an ordinary frame. */
		node = put(tree, node, "T (1/1)", CALLTREE_NATIVE, 1);
		calltree_sample(tree, &(struct calltree_sample){.node = node, .weight = 1});
		calltree_sample(tree, &(struct calltree_sample){.node = 3, .weight = 1});
		calltree_thread(tree, 0, "T (1/1)", "sh (1)");
		calltree_finish(tree);
		struct calltree *made = transform(tree,
			&(struct wish){
				.shape = {.by_process = 1, .by_thread = 1, .reverse = i / 2}},
			&left_out);

		assert_int_equal(self_of(made, "sh (1);T (1/1);main;"), 1);
		assert_int_equal(self_of(made, i / 2 ? "sh (1);T (1/1);T (1/1);main;"
						     : "sh (1);T (1/1);main;T (1/1);"),
			1);
		calltree_free(made);
		calltree_free(tree);
	}
}

static void test_other_frames_stay_below_a_root(void **state)
{
	static const char *const names[] = {"s", "shell", "th", "sh (1", "thread", "sh"};

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct calltree *tree = calltree_new();
		uint32_t frame =
			calltree_frame(tree, names[i], i == 5 ? "sh" : "", CALLTREE_NATIVE);
		uint32_t node = calltree_child(tree, CALLTREE_ROOT, frame);
		char line[LINE_BYTES];
		uint64_t left_out;

		calltree_add(tree, node, 1);
		calltree_sample(tree, &(struct calltree_sample){.node = node, .weight = 1});
		calltree_thread(tree, 0, "thread", "sh (1)");
		calltree_finish(tree);
		struct calltree *made = transform(tree,
			&(struct wish){.shape = {.by_process = 1, .by_thread = 1}}, &left_out);

		snprintf(line, sizeof(line), "sh (1);thread;%s;", names[i]);
		assert_int_equal(self_of(made, line), 1);
		calltree_free(made);
		calltree_free(tree);
	}
}

/*
 * When stacks are reversed, only root frames of the requested kinds stay at the root. Equal frames
 * elsewhere are reversed with the other frames.
 */
static void test_other_frames_turn_round(void **state)
{
	struct calltree *tree = calltree_new();
	uint32_t sh = put(tree, CALLTREE_ROOT, "sh", CALLTREE_PROCESS, 0);
	uint32_t f = put(tree, CALLTREE_ROOT, "f", CALLTREE_NATIVE, 0);
	uint64_t left_out;

	(void)state;
	put(tree, sh, "main", CALLTREE_NATIVE, 1);
	put(tree, put(tree, f, "cat", CALLTREE_PROCESS, 0), "g", CALLTREE_NATIVE, 2);
	calltree_finish(tree);
	for (unsigned i = 0; i < 2; i++) {
		struct calltree *made = transform(
			tree, &(struct wish){.shape = {.by_process = i, .reverse = 1}}, &left_out);

		assert_int_equal(self_of(made, i ? "sh;main;" : "main;sh;"), 1);
		assert_int_equal(self_of(made, "g;cat;f;"), 2);
		calltree_free(made);
	}
	calltree_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_wish_does_as_the_oracle),
		cmocka_unit_test(test_weight_without_a_time_finds_its_thread),
		cmocka_unit_test(test_samples_heavier_than_their_node_add_nothing),
		cmocka_unit_test(test_equal_names_of_other_modules_stay_apart),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_what_is_no_function_does_not_recurse),
		cmocka_unit_test(test_inlined_calls_are_calls),
		cmocka_unit_test(test_deep_stacks),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_a_process_takes_the_place_of_its_name),
		cmocka_unit_test(test_samples_without_weight_stay),
		cmocka_unit_test(test_roots_are_not_doubled),
		cmocka_unit_test(test_other_frames_stay_below_a_root),
		cmocka_unit_test(test_other_frames_turn_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
