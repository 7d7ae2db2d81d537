/* SPDX-License-Identifier: MIT */
/*
 * A file is one header and four arrays, numbers as this machine has them:
 *
 *	header | addresses, sorted | frames of each | frames | texts, each with a zero
 *	       | 8 bytes           | 4 bytes        | 12     |
 *
 * It is trusted as little as any other: its size must be what the header says, its checksum right,
 * every number within bounds.
 */
#include "cli/symbols/debug_cache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbols/cache_file.h"
#include "cli/symbols/elf_file.h"
#include "libprof/fnv.h"

#define MAGIC 0x736e696c656e6963ull /* changes with what is in a file, or how it was found */

struct header {
	uint64_t magic;
	uint64_t checksum; /* of all that follows */
	uint64_t address_count;
	uint64_t frame_count;
	uint64_t text_bytes;
	uint64_t id_bytes;
	uint8_t id[ELF_FILE_ID_MAX];
};

struct frame {
	uint32_t name; /* offsets in the texts */
	uint32_t file;
	uint32_t line;
};

/* A file's content in memory. */
struct content {
	struct header header;
	uint64_t *addresses;
	uint32_t *counts;
	struct frame *frames;
	char *texts;
	char *bytes; /* owned; what these are in, but for the header */
};

/* ---- what a file holds ----------------------------------------------------------------------- */

/* The bytes behind the header, 0: too many. */
static size_t content_bytes(const struct header *header)
{
	if (header->address_count > DEBUG_CACHE_FILE_BYTES ||
		header->frame_count > DEBUG_CACHE_FILE_BYTES ||
		header->text_bytes > DEBUG_CACHE_FILE_BYTES)
		return 0;
	return header->address_count * (sizeof(uint64_t) + sizeof(uint32_t)) +
	       header->frame_count * sizeof(struct frame) + header->text_bytes;
}

/* Have the arrays point to where they are in content->bytes. */
static void lay_out(struct content *content)
{
	const struct header *header = &content->header;

	content->addresses = (uint64_t *)content->bytes;
	content->counts = (uint32_t *)(content->addresses + header->address_count);
	content->frames = (struct frame *)(content->counts + header->address_count);
	content->texts = (char *)(content->frames + header->frame_count);
}

static uint64_t checksum(const struct content *content)
{
	const struct header *header = &content->header;
	uint64_t hash = fnv_bytes(FNV_BEGIN, &header->address_count,
		sizeof(*header) - offsetof(struct header, address_count));

	return fnv_bytes(hash, content->bytes, content_bytes(header));
}

/* Is every number what it may be? */
static bool is_sound(const struct content *content, const uint8_t *id, size_t id_bytes)
{
	const struct header *header = &content->header;
	uint64_t frames = 0;

	if (header->id_bytes != id_bytes || memcmp(header->id, id, id_bytes) != 0 ||
		header->checksum != checksum(content) || !header->text_bytes ||
		content->texts[header->text_bytes - 1])
		return false;
	for (uint64_t i = 0; i < header->address_count; i++) {
		if (i && content->addresses[i] <= content->addresses[i - 1])
			return false;
		frames += content->counts[i];
	}
	for (uint64_t i = 0; i < header->frame_count; i++)
		if (content->frames[i].name >= header->text_bytes ||
			content->frames[i].file >= header->text_bytes)
			return false;
	return frames == header->frame_count;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Read all of @file. Returns 0 and @content, whose bytes are owned, or -errno. */
static int read_content(int file, struct content *content)
{
	struct stat status;
	size_t bytes;

	if (fstat(file, &status))
		return -errno;
	if (read(file, &content->header, sizeof(content->header)) !=
			(ssize_t)sizeof(content->header) ||
		content->header.magic != MAGIC)
		return -EBADMSG;
	bytes = content_bytes(&content->header);
	if (!bytes || bytes > DEBUG_CACHE_FILE_BYTES ||
		(uint64_t)status.st_size != bytes + sizeof(content->header))
		return -EBADMSG;
	content->bytes = malloc(bytes);
	if (!content->bytes)
		return -ENOMEM;
	lay_out(content);
	if (read(file, content->bytes, bytes) == (ssize_t)bytes)
		return 0;
	free(content->bytes);
	return -EBADMSG;
}

/* @content as it is looked up. Returns an owned object, or NULL without memory. */
static struct inlines *make_inlines(const struct content *content)
{
	const struct header *header = &content->header;
	struct inlines *inlines = inlines_new(header->address_count);
	struct text_pool *pool = inlines ? &inlines->pools[0] : NULL;
	struct inlines_frame *frames =
		pool ? text_pool_memory(pool, (header->frame_count + 1) * sizeof(*frames)) : NULL;
	char *texts = frames ? text_pool_memory(pool, header->text_bytes) : NULL;

	if (!texts) {
		inlines_free(inlines);
		return NULL;
	}
	memcpy(texts, content->texts, header->text_bytes);
	for (uint64_t i = 0; i < header->frame_count; i++)
		frames[i] = (struct inlines_frame){texts + content->frames[i].name,
			texts + content->frames[i].file, content->frames[i].line};
	for (uint64_t i = 0; i < header->address_count; i++) {
		inlines->addresses[i] = content->addresses[i];
		if (content->counts[i])
			inlines->chains[i] = (struct inlines_chain){frames, content->counts[i]};
		frames += content->counts[i];
	}
	return inlines;
}

struct inlines *debug_cache_read(const uint8_t *id, size_t id_bytes)
{
	char name[ELF_FILE_ID_TEXT];
	struct content content;
	struct inlines *inlines = NULL;
	int file;

	if (elf_file_id_text(id, id_bytes, name) || (file = cache_file_open(name)) < 0)
		return NULL;
	if (!read_content(file, &content)) {
		if (is_sound(&content, id, id_bytes))
			inlines = make_inlines(&content);
		free(content.bytes);
	}
	close(file);
	return inlines;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* One address of one list. */
struct entry {
	uint64_t address;
	const struct inlines_chain *chain;
};

/* A text that was given a place. */
struct placed {
	const char *text; /* NULL: none */
	uint32_t offset;
};

/* What becomes a content. */
struct writer {
	struct entry *entries; /* owned; sorted by address */
	size_t entry_count;
	size_t frame_count;
	struct placed *placed; /* owned; open addressing by where the text is */
	size_t placed_room;
	char *texts; /* owned */
	size_t text_bytes;
};

static int compare_entries(const void *a, const void *b)
{
	uint64_t left = ((const struct entry *)a)->address,
		 right = ((const struct entry *)b)->address;

	return (left > right) - (left < right);
}

/* Gather the entries of the last lists first, as many as fit. Returns 0 or -ENOMEM. */
static int gather(struct writer *writer, const struct inlines *const *lists, size_t count)
{
	size_t addresses = 0, frames = 0;

	for (size_t i = 0; i < count; i++)
		addresses += lists[i]->count;
	writer->entries = calloc(addresses + 1, sizeof(*writer->entries));
	if (!writer->entries)
		return -ENOMEM;
	while (count-- > 0)
		for (size_t i = 0; i < lists[count]->count; i++) {
			const struct inlines_chain *chain = &lists[count]->chains[i];

			if ((writer->entry_count + 1) * 12 + (frames + chain->count) * 12 >
				DEBUG_CACHE_FILE_BYTES / 2)
				break;
			writer->entries[writer->entry_count++] =
				(struct entry){lists[count]->addresses[i], chain};
			frames += chain->count;
		}
	writer->frame_count = frames;
	qsort(writer->entries, writer->entry_count, sizeof(*writer->entries), compare_entries);
	return 0;
}

/* The offset of @text among the texts, where it is put; UINT32_MAX: there is no more room. */
static uint32_t place_text(struct writer *writer, const char *text)
{
	size_t mask = writer->placed_room - 1, bytes = strlen(text) + 1;
	size_t at = (size_t)(((uintptr_t)text * 0x9e3779b97f4a7c15u) >> 20);
	struct placed *placed;

	while (writer->placed[at & mask].text && writer->placed[at & mask].text != text)
		at++;
	placed = &writer->placed[at & mask];
	if (placed->text)
		return placed->offset;
	if (bytes > DEBUG_CACHE_FILE_BYTES / 2 - writer->text_bytes)
		return UINT32_MAX;
	*placed = (struct placed){text, (uint32_t)writer->text_bytes};
	memcpy(writer->texts + writer->text_bytes, text, bytes);
	writer->text_bytes += bytes;
	return placed->offset;
}

/* Returns 0 and @content, whose bytes are owned; -E2BIG or -ENOMEM. */
static int make_content(struct writer *writer, struct content *content)
{
	struct header *header = &content->header;
	size_t frames = 0;

	for (writer->placed_room = 1024; writer->placed_room < 4 * writer->frame_count;)
		writer->placed_room *= 2;
	writer->placed = calloc(writer->placed_room, sizeof(*writer->placed));
	writer->texts = malloc(DEBUG_CACHE_FILE_BYTES / 2);
	header->address_count = writer->entry_count;
	header->frame_count = writer->frame_count;
	header->text_bytes = DEBUG_CACHE_FILE_BYTES / 2;
	content->bytes = malloc(content_bytes(header));
	if (!writer->placed || !writer->texts || !content->bytes)
		return -ENOMEM;
	lay_out(content);
	for (size_t i = 0; i < writer->entry_count; i++) {
		const struct inlines_chain *chain = writer->entries[i].chain;

		content->addresses[i] = writer->entries[i].address;
		content->counts[i] = chain->count;
		for (uint32_t j = 0; j < chain->count; j++) {
			struct frame frame = {place_text(writer, chain->frames[j].name),
				place_text(writer, chain->frames[j].file), chain->frames[j].line};

			if (frame.name == UINT32_MAX || frame.file == UINT32_MAX)
				return -E2BIG;
			content->frames[frames++] = frame;
		}
	}
	place_text(writer, "");
	header->text_bytes = writer->text_bytes;
	memcpy(content->texts, writer->texts, writer->text_bytes);
	header->checksum = checksum(content);
	return 0;
}

void debug_cache_write(
	const uint8_t *id, size_t id_bytes, const struct inlines *const *lists, size_t count)
{
	struct content content = {.header = {.magic = MAGIC, .id_bytes = id_bytes}};
	struct writer writer = {0};
	char name[ELF_FILE_ID_TEXT];

	if (elf_file_id_text(id, id_bytes, name))
		return;
	memcpy(content.header.id, id, id_bytes);
	if (!gather(&writer, lists, count) && !make_content(&writer, &content)) {
		const struct iovec parts[] = {{&content.header, sizeof(content.header)},
			{content.bytes, content_bytes(&content.header)}};

		cache_file_replace(name, parts, 2);
	}
	free(writer.entries);
	free(writer.placed);
	free(writer.texts);
	free(content.bytes);
}
