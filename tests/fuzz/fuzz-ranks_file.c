/* SPDX-License-Identifier: MIT */
/* Read any bytes as the file of a node. The sums over ranks must equal the sums over stacks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/formats/ranks_file.h"
#include "cli/formats/weigh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Put the magic number in front, because every other file is refused immediately. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[] = "\x0a\x10" RANKS_FILE_MAGIC;
	struct diag_message message = {0};
	struct bytes bytes = {0};
	struct ranks_file file;
	struct weigh weigh;

	bytes_put(&bytes, magic, sizeof(magic) - 1);
	bytes_put(&bytes, data, size);
	if (ranks_file_parse(&file, &bytes, "fuzzed", &message)) {
		if (!message.text[0])
			abort();
		return 0;
	}
	if (!weigh_file(&weigh, &file, CALLTREE_TIMES_BOTH)) {
		uint64_t ranks = 0, stacks = 0;

		for (uint32_t i = 0; i < file.rank_count; i++)
			ranks += weigh.one[i].cpu + weigh.one[i].waits;
		for (uint32_t i = 0; i < file.stack_count; i++)
			stacks += weigh.self[i];
		if (ranks != stacks)
			abort();
	}
	weigh_release(&weigh);
	ranks_file_release(&file);
	return 0;
}
