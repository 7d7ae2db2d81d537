/* SPDX-License-Identifier: MIT */
/*
 * Read any bytes as answers of a store's server and as a file of the spool. Answers are rows of
 * profiles, or of weights, stacks and frames. Each answer follows two bytes with its length.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/picks.h"
#include "cli/store/store_profile.h"
#include "cli/store/server_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Copy the next part to a block of its size, so that the sanitizer reports reads beyond its end. */
static struct bytes take(const uint8_t **data, size_t *size)
{
	struct bytes part = {0};
	size_t length = 0;

	if (*size >= 2) {
		length = (size_t)(*data)[0] << 8 | (*data)[1];
		*data += 2;
		*size -= 2;
	}
	if (length > *size)
		length = *size;
	bytes_put(&part, *data, length);
	*data += length;
	*size -= length;
	return part;
}

static void read_answers(const struct bytes *rows, const struct bytes *stacks,
	const struct bytes *frames, bool has_attempts)
{
	static const struct server_unit units[2] = {{0, 1}, {1, 5000000}};
	static const struct server_attempt attempts[3] = {{1, 0}, {1, 1}, {0x01010101, 1}};
	struct server_tree server = {.path = NULL};
	struct server_weights weights = {.rows = rows,
		.attempts = has_attempts ? attempts : NULL,
		.attempt_count = has_attempts ? 3 : 0};
	struct server_sums sums = {.units = units, .unit_count = 2, .has_runs = true};
	struct calltree *tree = calltree_new();

	if (!tree)
		abort();
	if (!server_tree_index(&server, stacks, frames)) {
		server_tree_use(&server, &weights);
		if (!server_tree_add_weights(&server, &weights, tree, &sums) &&
			!server_sums_add(&sums, tree) && !calltree_finish(tree) &&
			sums.unknown > sums.weight)
			abort();
	}
	server_sums_release(&sums);
	server_weights_release(&weights);
	server_tree_release(&server);
	calltree_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes whole = {0}, parts[3];
	struct picks picks = {.count = 0};
	struct diag_message message;
	struct store_profile profile;

	bytes_put(&whole, data, size);
	picks_add(&picks, 0, &whole, &message);
	picks_release(&picks);
	store_profile_read(&profile, &whole);
	store_profile_release(&profile);
	bytes_release(&whole);
	for (unsigned i = 0; i < 3; i++)
		parts[i] = take(&data, &size);
	read_answers(&parts[0], &parts[1], &parts[2], false);
	read_answers(&parts[0], &parts[1], &parts[2], true);
	for (unsigned i = 0; i < 3; i++)
		bytes_release(&parts[i]);
	return 0;
}
