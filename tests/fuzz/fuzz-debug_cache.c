/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file of the cache, its checksum right: what is read of it can be used whole.
 *
 *	clang-14 -g -O1 -std=gnu11 -D_GNU_SOURCE -I. \
 *		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
 *		-o fuzz-debug_cache tests/fuzz/fuzz-debug_cache.c \
 *		cli/symbols/{debug_cache,dwarf_*,elf_file,inlines,instances,text_pool,unit_chains}.c
 *\ -lelf -llzma -lz -lpthread
 *	./fuzz-debug_cache -max_total_time=60 corpus
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/symbols/debug_cache.h"
#include "libprof/fnv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As the head of debug_cache.c has them. */
#define CHECKSUM_AT  8u
#define CONTENT_AT   16u
#define COUNTS_BYTES 32u
#define HEADER_BYTES (CONTENT_AT + COUNTS_BYTES + 64u)

static const uint8_t id[] = {0xab, 0xcd};
static const struct inlines_frame frames[] = {{"outer", "a.c", 3}, {"inner", "b.c", 5}};
static char path[128];
static uint8_t written[4096]; /* what the cache writes itself */
static size_t written_bytes;

static void write_file(const uint8_t *bytes, size_t size)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (file < 0 || write(file, bytes, size) != (ssize_t)size || close(file))
		abort();
}

/* A cache of our own, and what is in it after writing. */
static void begin(void)
{
	char folder[] = "/dev/shm/fuzz-debug_cache-XXXXXX";
	struct inlines *list = inlines_new(2);
	int file;

	if (!mkdtemp(folder) || !list)
		abort();
	setenv("XDG_CACHE_HOME", folder, 1);
	list->addresses[1] = 7;
	list->chains[1] = (struct inlines_chain){frames, 2};
	debug_cache_write(id, sizeof(id), (const struct inlines *const *)&list, 1);
	inlines_free(list);
	snprintf(path, sizeof(path), "%s/flamerun/lines/abcd", folder);
	file = open(path, O_RDONLY);
	written_bytes = (size_t)read(file, written, sizeof(written));
	if (file < 0 || written_bytes <= HEADER_BYTES)
		abort();
	close(file);
}

static void check(const struct inlines *list)
{
	volatile size_t bytes = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct inlines_chain *chain = inlines_find(list, list->addresses[i]);

		if (chain != &list->chains[i])
			abort();
		for (uint32_t j = 0; j < chain->count; j++)
			bytes += strlen(chain->frames[j].name) + strlen(chain->frames[j].file);
	}
}

/* @data: the counts of the header, then all that follows the header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_begun;
	uint8_t *file;
	size_t bytes = HEADER_BYTES + size;
	struct inlines *list;
	uint64_t checksum;

	if (!is_begun)
		begin();
	is_begun = true;
	if (size < COUNTS_BYTES)
		return 0;
	bytes -= COUNTS_BYTES;
	file = calloc(1, bytes);
	if (!file)
		abort();
	memcpy(file, written, HEADER_BYTES);
	memcpy(file + CONTENT_AT, data, COUNTS_BYTES - sizeof(uint64_t));
	memcpy(file + HEADER_BYTES, data + COUNTS_BYTES, size - COUNTS_BYTES);
	checksum = fnv_bytes(fnv_bytes(FNV_BEGIN, file + CONTENT_AT, HEADER_BYTES - CONTENT_AT),
		file + HEADER_BYTES, bytes - HEADER_BYTES);
	memcpy(file + CHECKSUM_AT, &checksum, sizeof(checksum));
	write_file(file, bytes);
	list = debug_cache_read(id, sizeof(id));
	if (list)
		check(list);
	inlines_free(list);
	free(file);
	return 0;
}
