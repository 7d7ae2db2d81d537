/* SPDX-License-Identifier: MIT */
/* Source: LSB Core, "Exception Frames". */
#include "libprof/trampoline/frame_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libprof/trampoline/lasting.h"
#include "libprof/unwind/cfi.h"

/* More is a wild pointer, not a function's information. */
#define MOST_BYTES (256u << 20)

/*
 * Version; .eh_frame: absolute, count: udata8, table: absolute. The code and its information may be
 * anywhere, too far for four bytes.
 */
static const uint8_t encodings[] = {1, CFI_PTR_ABSOLUTE, CFI_PTR_UDATA8, CFI_PTR_ABSOLUTE};

struct entry {
	uint64_t begin;
	uint64_t fde;
};

/* The index itself begins with the encodings; what follows them is aligned like this. */
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
 * Go through the records. The entries of those about [start, start + bytes) go to @entry, unless
 * that is NULL. Returns how many there are, or -EINVAL; *@end gets where the section ends.
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
		/* Id 0 is a CIE: the FDEs that name it will read it. */
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

int frame_index_make(struct frame_index *out, char **table, const void *eh_frame, uintptr_t start,
	size_t bytes)
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
	header = (struct header *)lasting_room(
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
