/* SPDX-License-Identifier: MIT */
/*
 * Unpacking .gnu_debugdata. A few kilobytes of xz can unpack to anything: memory is capped twice,
 * for the decoder and for what comes out.
 */
#include "cli/symbols/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#define DECODER_MAX_BYTES (128u << 20)
#define FIRST_BYTES	  (256u << 10)

/* Decode all of @stream's input into *@memory. Returns 0, -EBADMSG or -ENOMEM. */
static int unpack(lzma_stream *stream, char **memory, size_t *bytes)
{
	size_t room = 0;
	lzma_ret state = LZMA_OK;

	while (state == LZMA_OK) {
		if (!stream->avail_out) {
			size_t more = room ? room * 2 : FIRST_BYTES;
			char *longer = more > MINIDEBUG_MAX_BYTES ? NULL : realloc(*memory, more);

			if (!longer)
				return more > MINIDEBUG_MAX_BYTES ? -EBADMSG : -ENOMEM;
			*memory = longer;
			stream->next_out = (uint8_t *)longer + room;
			stream->avail_out = more - room;
			room = more;
		}
		state = lzma_code(stream, LZMA_FINISH);
	}
	*bytes = room - stream->avail_out;
	if (state == LZMA_STREAM_END)
		return 0;
	return state == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

int minidebug_open(struct elfimage *mini, const struct elfimage *image)
{
	GElf_Shdr header;
	Elf_Scn *section = elfimage_section(image, ".gnu_debugdata", &header);
	Elf_Data *packed = section ? elfimage_data(section, &header) : NULL;
	lzma_stream stream = LZMA_STREAM_INIT;
	char *memory = NULL;
	size_t bytes = 0;
	int error;

	if (!packed)
		return -ENOENT;
	if (lzma_stream_decoder(&stream, DECODER_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed->d_buf;
	stream.avail_in = packed->d_size;
	error = unpack(&stream, &memory, &bytes);
	lzma_end(&stream);
	if (!error && elfimage_init_memory(mini, memory, bytes))
		error = -EBADMSG;
	if (error)
		free(memory);
	return error;
}
