/* SPDX-License-Identifier: MIT */
/*
 * Register the host's own code (code that the host generates). A struct code is reused but never
 * freed, because handlers read it.
 */

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/flameprof_stub.h"
#include "libprof/trampoline/fork_lock.h"
#include "libprof/trampoline/other_copy.h"
#include "libprof/trampoline/permanent.h"
#include "libprof/trampoline/publish.h"
#include "libprof/trampoline/region.h"
#include "libprof/unwind/cfi.h"

/* ---- an index for call-frame information ----------------------------------------------------- */
/*
 * Build an .eh_frame_hdr (an index) for an .eh_frame of the host that has none. The host's bytes
 * are checked here, once, because handlers later follow the index without checks.
 */


struct frame_index {
	/* The range that contains the index and all records to which it points. */
	uintptr_t cfi_start, cfi_end;
	uintptr_t eh_frame_hdr;
	/* size with the terminator of four zero bytes */
	size_t eh_frame_bytes;
};

/* If a section is longer than this, the pointer to it must be wrong. */
#define MOST_BYTES (256u << 20)

/*
 * Start of the index: version 1, then the encodings of .eh_frame, count and table. Absolute
 * pointers are used and not relative 4-byte ones, because the code may be far from its call-frame
 * information.
 */
static const uint8_t encodings[] = {1, CFI_PTR_ABSOLUTE, CFI_PTR_UDATA8, CFI_PTR_ABSOLUTE};

struct entry {
	uint64_t begin;
	uint64_t fde;
};

/* The index begins at `encoding`. The padding before it aligns the members after it. */
struct header {
	uint8_t pad[4];
	uint8_t encoding[4];
	uint64_t eh_frame;
	uint64_t count;
	struct entry entry[];
};

static int compare(const void *a, const void *b)
{
	uint64_t left = ((const struct entry *)a)->begin, right = ((const struct entry *)b)->begin;

	return left < right ? -1 : left > right;
}

/*
 * Parse the records of the section. For each FDE that begins in [@start, @start + @bytes), store an
 * entry in @entry, unless @entry is NULL. Returns the number of these FDEs, or -EINVAL; *@end gets
 * the end of the section.
 */
static int64_t read_records(const struct unwind_module *module, uintptr_t start, size_t bytes,
	struct entry *entry, uintptr_t *end)
{
	struct cfi_bytes at = {.at = module->cfi_start, .end = module->cfi_end};
	int64_t count = 0;

	for (;;) {
		uintptr_t record = at.at;
		uint64_t length = cfi_u32(&at);
		struct cfi_bytes body = at;
		struct cfi_fde fde;

		if (!length && !at.error)
			break;
		if (length == 0xffffffff) {
			length = cfi_u64(&at);
			body = at;
		}
		if (!cfi_skip(&at, length))
			return -EINVAL;
		body.end = at.at;
		/* Id 0 marks a CIE. CIEs are parsed with their FDEs. */
		if (!(at.at - record == length + 4 ? cfi_u32(&body) : cfi_u64(&body)))
			continue;
		if (cfi_parse_fde(module, record, &fde) || fde.begin > fde.end)
			return -EINVAL;
		if (fde.begin < start || fde.begin - start >= bytes)
			continue;
		if (entry)
			entry[count] = (struct entry){fde.begin, record};
		count++;
	}
	*end = at.at;
	return count;
}

/*
 * Index the FDEs at @eh_frame.
 *
 * @table  a block of permanent.h to reuse, or NULL; gets the block that has the index
 *
 * Returns 0; -EINVAL if the bytes are not an .eh_frame, or if no FDE begins in [@start, @start +
 * @bytes); -ENOMEM.
 */
static int frame_index_make(struct frame_index *out, char **table, const void *eh_frame,
	uintptr_t start, size_t bytes)
{
	struct unwind_module module = {
		.cfi_start = (uintptr_t)eh_frame,
		.cfi_end = (uintptr_t)eh_frame + MOST_BYTES,
	};
	struct header *header;
	uintptr_t table_end;
	uintptr_t end;
	int64_t count;

	if (module.cfi_end < module.cfi_start)
		module.cfi_end = UINTPTR_MAX;
	count = read_records(&module, start, bytes, NULL, &end);
	if (count <= 0)
		return -EINVAL;
	header = (struct header *)permanent_reserve(
		*table, sizeof(*header) + (size_t)count * sizeof(header->entry[0]));
	if (!header)
		return -ENOMEM;
	*table = (char *)header;
	memcpy(header->encoding, encodings, sizeof(encodings));
	header->eh_frame = (uintptr_t)eh_frame;
	header->count = (uint64_t)count;
	read_records(&module, start, bytes, header->entry, &end);
	qsort(header->entry, (size_t)count, sizeof(header->entry[0]), compare);
	table_end = (uintptr_t)&header->entry[count];
	out->eh_frame_hdr = (uintptr_t)header->encoding;
	out->eh_frame_bytes = end - (uintptr_t)eh_frame;
	out->cfi_start = out->eh_frame_hdr < (uintptr_t)eh_frame ? out->eh_frame_hdr
								 : (uintptr_t)eh_frame;
	out->cfi_end = table_end > end ? table_end : end;
	return 0;
}

/* ---- the host's own code --------------------------------------------------------------------- */

struct code {
	struct region region;
	struct region_slot slot;
	struct code *next_free;
	/* The index of the call-frame information. */
	char *table;
};

static struct code *free_list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for free_list */

static FORK_LOCK(watch_forks, lock, permanent_watch_forks(); region_watch_forks())

static struct code *map_code(void)
{
	char *room = permanent_reserve(NULL, sizeof(struct code) + _Alignof(struct code));

	if (!room)
		return NULL;
	return (struct code *)(((uintptr_t)room + _Alignof(struct code) - 1) &
			       ~(uintptr_t)(_Alignof(struct code) - 1));
}

static struct code *alloc_code(void)
{
	struct code *code;

	watch_forks();
	pthread_mutex_lock(&lock);
	code = free_list;
	if (code)
		free_list = code->next_free;
	pthread_mutex_unlock(&lock);
	return code ? code : map_code();
}

static void free_code(struct code *code)
{
	pthread_mutex_lock(&lock);
	code->next_free = free_list;
	free_list = code;
	pthread_mutex_unlock(&lock);
}

static void fill_region(struct code *code, uintptr_t start, size_t bytes,
	const struct frame_index *index, const void *eh_frame)
{
	struct region *region = &code->region;

	region->start = start;
	region->bytes = bytes;
	region->kind = FLAMEPROF_CODE_HOST;
	region->stride = (uint32_t)bytes;
	region->code_bytes = (uint32_t)bytes;
	region->slots = 1;
	region->slot = &code->slot;
	region->eh_frame_hdr = index->eh_frame_hdr;
	region->cfi_start = index->cfi_start;
	region->cfi_end = index->cfi_end;
	region->eh_frame = eh_frame;
	region->eh_frame_bytes = index->eh_frame_bytes;
	region->brief_frame = NULL;
	region->of_file = 0;
	region->owner = code;
	region->published = NULL;
	code->slot.payload = 0;
	code->slot.published = 0;
	region->row_space = region_space_new(bytes);
	__atomic_store_n(&code->slot.space, region->row_space, __ATOMIC_RELEASE);
}

int flameprof_code_add(const void *start, size_t bytes, const char *name, const void *eh_frame)
{
	struct frame_index index = {0};
	struct code *code;
	char *text;
	int error = 0;

	if (other_copy.flameprof_code_add)
		return other_copy.flameprof_code_add(start, bytes, name, eh_frame);
	if (!start || !bytes || bytes > UINT32_MAX || (uintptr_t)start + bytes < (uintptr_t)start)
		return -EINVAL;
	code = alloc_code();
	if (!code)
		return -ENOMEM;
	region_change_begin(&code->region);
	text = (char *)code->slot.name;
	if (permanent_set_text(&text, name && *name ? name : "[anonymous]", FLAMEPROF_NAME_BYTES))
		error = -ENOMEM;
	if (!error && eh_frame)
		error = frame_index_make(&index, &code->table, eh_frame, (uintptr_t)start, bytes);
	if (!error) {
		code->slot.name = text;
		fill_region(code, (uintptr_t)start, bytes, &index, eh_frame);
	}
	region_change_end(&code->region);
	if (!error)
		error = region_add(&code->region);
	if (error) {
		__atomic_store_n(&code->slot.space, 0, __ATOMIC_RELEASE);
		free_code(code);
		return error;
	}
	publish_add_region(&code->region);
	return 0;
}

int flameprof_code_remove(const void *start)
{
	const struct region *region;
	struct code *code;

	if (other_copy.flameprof_code_remove)
		return other_copy.flameprof_code_remove(start);
	if (!start)
		return -EINVAL;
	region = region_find((uintptr_t)start);
	if (!region || region->kind != FLAMEPROF_CODE_HOST || region->start != (uintptr_t)start)
		return -ENOENT;
	code = region->owner;
	/* The exchange lets only one of two threads that remove the code at the same time do it. */
	if (!__atomic_exchange_n(&code->slot.space, 0, __ATOMIC_ACQ_REL))
		return -ENOENT;
	region_remove(&code->region);
	publish_remove_region(&code->region);
	free_code(code);
	return 0;
}
