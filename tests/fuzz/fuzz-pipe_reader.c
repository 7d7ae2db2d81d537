/* SPDX-License-Identifier: MIT */
/*
 * Any bytes on the run's pipe: as records in frames that have the key, and between them as they
 * are.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gather/pipe_reader.h"
#include "cli/profile/naming.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte of each piece says how long it is, and whether it has a head. */
static void write_piece(struct pipe_reader *pipe_reader, const uint8_t **data, size_t *size)
{
	struct {
		struct pipe_head head;
		char bytes[256];
	} piece;
	size_t bytes = (*data)[0] | 7u, head = sizeof(piece.head);
	int has_head = (*data)[0] & 7;

	bytes = bytes > *size - 1 ? *size - 1 : bytes;
	piece.head = (struct pipe_head){.key = pipe_reader_key(pipe_reader),
		.source = has_head & 1,
		.bytes = (uint16_t)bytes};
	memcpy(piece.bytes, *data + 1, bytes);
	if (write(pipe_reader_writer(pipe_reader), has_head ? (char *)&piece : piece.bytes,
		    has_head ? head + bytes : bytes) < 0)
		abort();
	*data += 1 + bytes;
	*size -= 1 + bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct naming_request request = {0};
	struct naming_report report;
	struct pipe_reader *pipe_reader;
	struct calltree *tree;

	if (pipe_reader_open(&pipe_reader, 197))
		abort();
	while (size > 1) {
		write_piece(pipe_reader, &data, &size);
		pipe_reader_read(pipe_reader);
	}
	request.profile = pipe_reader_profile(pipe_reader);
	if (!naming_build(&request, &tree, &report))
		calltree_free(tree);
	sources_release(&report.sources);
	pipe_reader_free(pipe_reader);
	return 0;
}
