/* SPDX-License-Identifier: MIT */
/*
 * Measure the size and the drawing time of a picture of 100,000 nodes, and print them beside values
 * measured for flamegraph.pl with as many frames. Asserts nothing.
 *
 * There are four trees: functions that share few frames ("broad"), long names with templates
 * ("c++"), and two worst cases of the static layer: all boxes just wide enough to be drawn, or just
 * wide enough to have a label.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "render/picture.h"
#include "tests/unit/random.h"

#define NODES	  100000u
#define FUNCTIONS 5000u

/*
 * Bytes of flamegraph.pl's picture of 100,000 frames, with the default font and --minwidth 0.
 * Chromium opens it in 6.6 s.
 */
#define FLAMEGRAPH_PL_BYTES 20600000.0

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_name(char *name, size_t bytes, uint32_t number, int is_cxx)
{
	static const char *const words[] = {"parse", "expr", "tree", "node", "alloc", "list",
		"find", "walk", "token", "type", "decl", "lower", "emit", "match", "hash", "block"};
	const unsigned count = sizeof(words) / sizeof(words[0]);
	const char *a = words[number % count], *b = words[number / count % count];

	if (is_cxx)
		snprintf(name, bytes,
			"compiler::%s::%s_visitor<std::vector<%s_%u, "
			"std::allocator<%s_%u>>>::visit",
			a, b, a, number, a, number);
	else
		snprintf(name, bytes, "%s_%s_%u", a, b, number / (count * count));
}

static struct calltree *build_random(int is_cxx)
{
	struct calltree *tree = calltree_new();
	static uint32_t nodes[NODES], number[NODES];
	char name[160];

	for (uint32_t i = 1; i < NODES;) {
		/*
		 * Put 3 of 4 nodes below one of the 30 newest nodes, so that stacks are as deep as
		 * in programs.
		 */
		uint32_t parent = nodes[random_below(4) ? i - 1 - random_below(i < 30 ? i : 30)
							: random_below(i)];

		/* A function often calls a few others and seldom some more, as in programs. */
		uint32_t seldom = (uint32_t)__builtin_ctz(random_below(4096) | 4096);
		uint32_t callee = (number[parent] * 2654435761u + seldom * 40503u) % FUNCTIONS;

		make_name(name, sizeof(name), callee, is_cxx);
		uint32_t node = calltree_child(
			tree, parent, calltree_frame(tree, name, is_cxx ? "cc1plus" : "prog", 0));

		if (node != calltree_nodes(tree) - 1)
			continue;
		calltree_add(tree, node, random_below(3) ? 0 : 1 + random_below(9));
		number[node] = callee;
		nodes[i++] = node;
	}
	return tree;
}

static struct calltree *build_grid(uint32_t columns, uint32_t rows)
{
	struct calltree *tree = calltree_new();
	char name[32];

	for (uint32_t column = 0; column < columns; column++) {
		uint32_t node = CALLTREE_ROOT;

		for (uint32_t row = 0; row < rows; row++) {
			snprintf(name, sizeof(name), "f%u", random_below(FUNCTIONS));
			node = calltree_child(
				tree, node, calltree_frame(tree, name, "prog", random_below(7)));
		}
		calltree_add(tree, node, 1);
	}
	return tree;
}

static size_t find(const char *text, size_t from, const char *wanted)
{
	const char *found = strstr(text + from, wanted);

	return found ? (size_t)(found - text) : strlen(text);
}

static void measure(const char *what, struct calltree *tree)
{
	struct picture_options options = {0};
	char *text = NULL;
	size_t bytes = 0;

	if (calltree_finish(tree))
		exit(1);
	for (unsigned format = 0; format < 3; format++) {
		FILE *out = open_memstream(&text, &bytes);
		double start_s = now_s();
		int error = format == 0	  ? picture_write_svg(tree, &options, out)
			    : format == 1 ? picture_write_png(tree, &options, out)
					  : picture_write_pdf(tree, &options, out);
		double took_s = now_s() - start_s;

		fclose(out);
		if (error)
			exit(1);
		if (format) {
			printf(", %s %zu KB in %.2f s", format == 1 ? "png" : "pdf", bytes / 1000,
				took_s);
		} else {
			size_t data = find(text, 0, "<metadata id=\"flamerun\"");
			size_t script = find(text, data, "<script>");
			size_t drawn = find(text, script, "<g id=\"flamerun-static\"");
			double per_100k = 1e5 / calltree_nodes(tree);

			printf("%-14s %6u nodes, svg %4.0f KB per 100k in %.2f s (data %3.0f, "
			       "static "
			       "%3zu, viewer %2zu), 1/%.0f of flamegraph.pl's",
				what, calltree_nodes(tree),
				((double)(script - data) * per_100k +
					(double)(bytes - (script - data))) /
					1000,
				took_s, (double)(script - data) * per_100k / 1000,
				(bytes - drawn) / 1000, (drawn - script + data) / 1000,
				FLAMEGRAPH_PL_BYTES / (double)bytes);
		}
		free(text);
	}
	printf("\n");
	calltree_free(tree);
}

int main(void)
{
	random_state = 88172645463325252u;
	/*
	 * The data grows with the nodes, so it is printed per 100,000 nodes. The other layers of
	 * the picture hardly grow.
	 */
	measure("broad", build_random(0));
	measure("c++", build_random(1));
	measure("full of boxes", build_grid(105, NODES / 105));
	measure("full of labels", build_grid(43, NODES / 43));
	return 0;
}
