/* SPDX-License-Identifier: MIT */
/*
 * Push the profiles of a made-up fleet of hosts into a store. Each profile has SAMPLES samples
 * drawn from one of the real profiles FILE, and belongs to one of many hosts and one of two
 * versions. In the later version the hottest function costs a third more. Prints the totals that
 * were pushed, which a reader of the store must find.
 *
 *	fleet ADDRESS PROFILES SAMPLES FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/formats/input.h"
#include "cli/store/push.h"

#define HOSTS	40
#define HOUR_S	3600
#define SLOWER	4 / 3

struct base {
	struct input input;
	/* [version][node]: sum of the weights of nodes 0 to node */
	uint64_t *upto[2];
	/* index: node; the node's copy in the profile that is being made */
	uint32_t *place;
};

static uint64_t state = 1;

/* xorshift64*: the same fleet each time. */
static uint64_t random_below(uint64_t limit)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dULL >> 11) % limit;
}

/* Return the name of the function with the highest self weight, ignoring waits. */
static const char *find_hottest(const struct calltree *tree)
{
	uint64_t *self = calloc(calltree_frames(tree), sizeof(*self));
	uint32_t hottest = 0;

	for (uint32_t i = 1; i < calltree_nodes(tree); i++) {
		const struct calltree_node *node = calltree_node_at(tree, i);

		if (calltree_frame_at(tree, node->frame)->kind != CALLTREE_WAIT)
			self[node->frame] += node->self;
	}
	for (uint32_t i = 0; i < calltree_frames(tree); i++)
		if (self[i] > self[hottest])
			hottest = i;
	free(self);
	return calltree_frame_at(tree, hottest)->name;
}

static void base_read(struct base *base, const char *path)
{
	const struct input_request request = {.sample_type = NULL};
	struct diag_message message = {{0}, {0}};
	const struct calltree *tree;
	const char *hottest;
	uint32_t nodes;

	if (input_read(&base->input, path, &request, &message)) {
		diag_report(&message);
		exit(1);
	}
	tree = base->input.tree;
	nodes = calltree_nodes(tree);
	hottest = find_hottest(tree);
	base->place = calloc(nodes, sizeof(*base->place));
	for (unsigned version = 0; version < 2; version++) {
		uint64_t sum = 0;

		base->upto[version] = calloc(nodes, sizeof(uint64_t));
		for (uint32_t i = 0; i < nodes; i++) {
			const struct calltree_node *node = calltree_node_at(tree, i);
			uint64_t weight = node->self * 12;

			if (i && calltree_frame_at(tree, node->frame)->kind == CALLTREE_WAIT)
				weight = 0; /* leave waits out: there is one thread */
			if (i && version &&
				!strcmp(calltree_frame_at(tree, node->frame)->name, hottest))
				weight = weight * SLOWER;
			base->upto[version][i] = sum += weight;
		}
	}
}

static uint32_t draw(const struct base *base, unsigned version)
{
	uint32_t low = 0, high = calltree_nodes(base->input.tree) - 1;
	uint64_t at = random_below(base->upto[version][high]);

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (base->upto[version][middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static uint32_t copy_node(struct base *base, struct calltree *to, uint32_t number)
{
	const struct calltree *from = base->input.tree;
	const struct calltree_node *node = calltree_node_at(from, number);
	const struct calltree_frame *frame;

	if (number == CALLTREE_ROOT || base->place[number])
		return base->place[number];
	frame = calltree_frame_at(from, node->frame);
	base->place[number] = calltree_child(to, copy_node(base, to, node->parent),
		calltree_frame_line(to, frame->name, frame->module, frame->kind, frame->file,
			frame->line));
	return base->place[number];
}

static void make_profile(struct store_profile *profile, struct base *base, unsigned number,
	unsigned samples, int64_t start_s)
{
	const struct input_facts *facts = &base->input.facts;
	const struct picture_options picture = {.title = "fleet",
		.period_ns = facts->period_ns,
		.type_name = "cpu",
		.duration_ns = 10000000000};
	unsigned version = number & 1;
	struct calltree *tree = calltree_new();
	struct bytes bytes = {0};

	memset(base->place, 0, calltree_nodes(base->input.tree) * sizeof(*base->place));
	for (unsigned i = 0; i < samples; i++)
		calltree_add(tree, copy_node(base, tree, draw(base, version)), 1);
	if (calltree_finish(tree) || store_profile_make(profile, tree, &picture))
		exit(1);
	strcpy(profile->label[STORE_SERVICE], "api");
	snprintf(profile->label[STORE_VERSION], STORE_LABEL_BYTES, "%u", version + 1);
	snprintf(profile->label[STORE_HOST], STORE_LABEL_BYTES, "host%02u", number / 2 % HOSTS);
	profile->start_s = start_s;
	bytes_put(&bytes, &number, sizeof(number));
	store_profile_identify(profile, &bytes);
	bytes_release(&bytes);
	calltree_free(tree);
}

int main(int argc, char **argv)
{
	unsigned profiles = argc > 4 ? (unsigned)atoi(argv[2]) : 0;
	unsigned samples = argc > 4 ? (unsigned)atoi(argv[3]) : 0, bases = (unsigned)argc - 4;
	struct base *base = calloc(bases + 1u, sizeof(*base));
	struct diag_message message = {{0}, {0}};
	struct store_push *push = NULL;
	struct store_pushed pushed;
	int64_t end_s = time(NULL) / HOUR_S * HOUR_S;
	uint64_t weight = 0, rows = 0;
	int error;

	if (!profiles || !samples)
		return fputs("usage: fleet ADDRESS PROFILES SAMPLES FILE...\n", stderr), 2;
	for (unsigned i = 0; i < bases; i++)
		base_read(&base[i], argv[4 + i]);
	error = store_push_new(&push, argv[1], &message);
	for (unsigned i = 0; !error && i < profiles; i++) {
		struct store_profile profile;

		/* Spread the profiles over the last 20 hours, host by host. */
		make_profile(&profile, &base[i / 2 / HOSTS % bases], i, samples,
			end_s - (int64_t)(20ULL * HOUR_S * (profiles - i) / profiles));
		weight += profile.weight;
		rows += profile.weight_rows;
		error = store_push_add(push, &profile, &message);
	}
	if (!error)
		error = store_push_end(push, &pushed, &message);
	if (error) {
		diag_report(&message);
		return 1;
	}
	printf("%u profiles, %u known, %u spooled, %llu rows, weight %llu\n", pushed.sent,
		pushed.known, pushed.spooled, (unsigned long long)rows, (unsigned long long)weight);
	store_push_free(push);
	return 0;
}
