/* SPDX-License-Identifier: MIT */
/*
 * Write any bytes to the two pipes of a run, read them into a profile, and name the profile's
 * frames.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/gather/pipe_reader.h"
#include "cli/profile/naming.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Write some bytes of @data. The first byte determines how many, and to which pipe. */
static void write_some(struct pipe_reader *pipe_reader, const uint8_t **data, size_t *size)
{
	enum record_source source = (*data)[0] & 1 ? RECORD_TRACER : RECORD_COLLECTOR;
	size_t bytes = (*data)[0] | 7u;

	bytes = bytes > *size - 1 ? *size - 1 : bytes;
	if (write(pipe_reader_writer(pipe_reader, source), *data + 1, bytes) < 0)
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
		write_some(pipe_reader, &data, &size);
		pipe_reader_read(pipe_reader);
	}
	request.profile = pipe_reader_profile(pipe_reader);
	if (!naming_build(&request, &tree, &report))
		calltree_free(tree);
	sources_release(&report.sources);
	pipe_reader_free(pipe_reader);
	return 0;
}
