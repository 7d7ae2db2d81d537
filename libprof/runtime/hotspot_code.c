/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Find the blob in HotSpot's code cache that contains an address: a piece of code with a header
 * that describes it. The cache has one to four heaps of blocks, and each block has a blob. Heaps
 * grow and never shrink, so inside the process they are read by plain loads.
 *
 *	heap	low                                                        high
 *		│ block: is it used │ blob: header, code, …   │ block …     │  reserved
 *	segments │ 0 1 2 3 … how far back the block begins │ 0 1 2 …
 */
#include <errno.h>
#include <string.h>

#include "libprof/runtime/hotspot.h"

#define WORD		sizeof(uintptr_t)
#define HOPS_MAX	1024u
#define SEGMENT_IS_FREE 0xffu

static void read_heap(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t from, struct hotspot_heap *out)
{
	uintptr_t memory = from + at->heap_memory, segments = from + at->heap_segments;

	*out = (struct hotspot_heap){0};
	if (!from)
		return;
	runtime_expect(reader, from, at->heap_segment_log + sizeof(uint32_t));
	out->segments = hotspot_load_pointer(reader, segments + at->space_low);
	out->segments_end = hotspot_load_pointer(reader, segments + at->space_high);
	out->segment_log = hotspot_load_int(reader, from + at->heap_segment_log) & 31;
	out->low = hotspot_load_pointer(reader, memory + at->space_low);
	out->high = hotspot_load_pointer(reader, memory + at->space_high);
}

uint64_t hotspot_load_unloaded(const struct runtime *runtime, struct runtime_reader *reader)
{
	int was_trusted = reader->is_trusted;
	uint64_t unloaded;

	reader->is_trusted = reader->is_own;
	unloaded = hotspot_load_pointer(reader, runtime->objects[HOTSPOT_UNLOADED]);
	reader->is_trusted = was_trusted;
	return unloaded;
}

/*
 * HotSpot never frees the structures that describe the code cache, so they are read by plain loads.
 */
struct hotspot_cache *hotspot_cache(const struct runtime *runtime, struct runtime_reader *reader)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	struct hotspot_cache *cache = (struct hotspot_cache *)reader->noted;
	uintptr_t queue = runtime->objects[HOTSPOT_INTERPRETER];

	if (reader->noted_at == runtime->base)
		return cache;
	reader->noted_at = runtime->base;
	/*
	 * From here on, do not record windows for the next walk. This walk makes system calls only
	 * to read methods that are not cached yet, and the next walk finds them in the cache.
	 */
	reader->again = NULL;
	reader->is_trusted = reader->is_own;
	cache->interpreter = hotspot_load_pointer(reader, queue + at->queue_buffer);
	cache->interpreter_end =
		cache->interpreter + hotspot_load_int(reader, queue + at->queue_bytes);
	for (unsigned i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		read_heap(at, reader, runtime->objects[HOTSPOT_HEAPS + i], &cache->heaps[i]);
	reader->is_trusted = 0;
	cache->unloaded = hotspot_load_unloaded(runtime, reader);
	cache->last = (struct hotspot_blob){0};
	return cache;
}

const struct hotspot_heap *hotspot_find_heap(
	const struct hotspot_cache *cache, struct runtime_reader *reader, uintptr_t pc)
{
	for (unsigned i = 0; i < HOTSPOT_HEAPS_MAX; i++) {
		const struct hotspot_heap *heap = &cache->heaps[i];

		if (pc < heap->low || pc >= heap->high)
			continue;
		if (reader->is_own) {
			reader->fixed_start = heap->low;
			reader->fixed_bytes = heap->high - heap->low;
		}
		return heap;
	}
	return NULL;
}

/* Load the distance from @segment back to its block, in segments. Returns 0 or -ENOENT. */
static int load_segment(struct runtime_reader *reader, const struct hotspot_heap *heap,
	uintptr_t segment, uint8_t *back)
{
	if (segment >= heap->segments_end - heap->segments)
		return -ENOENT;
	if (reader->is_own)
		*back = *(const uint8_t *)(heap->segments + segment);
	else if (runtime_load(reader, heap->segments + segment, back, 1))
		return -ENOENT;
	return *back == SEGMENT_IS_FREE || *back > segment ? -ENOENT : 0;
}

/*
 * Find the block that contains @pc. The byte of a segment says how many segments before it the
 * block begins. A larger distance than a byte can hold takes several steps; 0 marks the first
 * segment.
 */
static int find_block(struct runtime_reader *reader, const struct hotspot_heap *heap, uintptr_t pc,
	uintptr_t *block)
{
	uintptr_t segment = (pc - heap->low) >> heap->segment_log;
	uint8_t back;

	for (unsigned n = 0; n < HOPS_MAX; n++) {
		if (load_segment(reader, heap, segment, &back))
			return -ENOENT;
		if (!back) {
			*block = heap->low + (segment << heap->segment_log);
			return 0;
		}
		segment -= back;
	}
	return -ENOENT;
}

static int read_blob(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_heap *heap, uintptr_t block, struct hotspot_blob *out)
{
	uintptr_t left = heap->high - block;
	uintptr_t blob = block + at->block_size;
	const char *bytes;
	int64_t words;

	/* Read the header of the blob, and of its nmethod if any, by one system call. */
	runtime_expect(reader, block, left < RUNTIME_WINDOW_BYTES ? left : RUNTIME_WINDOW_BYTES);
	bytes = runtime_view(reader, block, at->block_size + at->blob_size);
	if (!bytes || !bytes[at->block_is_used])
		return -ENOENT;
	bytes += at->block_size;
	words = hotspot_field_in(bytes, at->frame_words);
	if (words > (int64_t)(HOTSPOT_FRAME_MAX / WORD))
		return -ENOENT;
	*out = (struct hotspot_blob){
		.at = blob,
		.code = hotspot_address_in(bytes, at->code_begin, blob),
		.code_end = hotspot_address_in(bytes, at->code_end, blob),
		.header_bytes = (uint32_t)hotspot_field_in(bytes, at->header_bytes),
		.frame_bytes = words > 0 ? (uint32_t)words * WORD : 0,
		.complete = (int32_t)hotspot_field_in(bytes, at->frame_complete),
	};
	return 0;
}

int hotspot_find_blob(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t pc,
	struct hotspot_blob *out)
{
	struct hotspot_cache *cache = hotspot_cache(runtime, reader);
	const struct hotspot_heap *heap = hotspot_find_heap(cache, reader, pc);
	uintptr_t block;

	if (!heap)
		return -ENOENT;
	/* Try the last blob first: a walk asks twice for the blob of each return address. */
	if (pc < cache->last.code || pc >= cache->last.code_end) {
		if (find_block(reader, heap, pc, &block) ||
			read_blob(hotspot_offsets_of(runtime), reader, heap, block, &cache->last))
			return -ENOENT;
	}
	*out = cache->last;
	return pc < out->code || pc >= out->code_end ? -ENOENT : 0;
}

/* Returns the start of the nmethod's data: the pointer in @field or, without one, @nmethod. */
static uintptr_t find_data(const char *bytes, uint32_t field, uintptr_t nmethod)
{
	return HOTSPOT_FIELD_WIDTH(field) == HOTSPOT_POINTER
		       ? (uintptr_t)hotspot_field_in(bytes, field)
		       : nmethod;
}

int hotspot_read_compiled(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct hotspot_compiled *out)
{
	const char *bytes = blob->header_bytes == at->nmethod_size
				    ? runtime_view(reader, blob->at, at->nmethod_size)
				    : NULL;
	uintptr_t code, metadata, tables;

	if (!bytes)
		return -ENOENT;
	code = hotspot_address_in(bytes, at->code_begin, blob->at);
	metadata = find_data(bytes, at->mutable_data, blob->at);
	tables = find_data(bytes, at->immutable_data, blob->at);
	*out = (struct hotspot_compiled){
		.method = (uintptr_t)hotspot_field_in(bytes, at->nmethod_method),
		.code = code,
		.entry = hotspot_address_in(bytes, at->entry, code),
		.loop_entry = (uintptr_t)hotspot_field_in(bytes, at->loop_entry),
		.deopt = hotspot_address_in(bytes, at->deopt, blob->at),
		.metadata = hotspot_address_in(bytes, at->metadata, metadata),
		.scopes = hotspot_address_in(bytes, at->scopes, tables),
		.pcs = hotspot_address_in(bytes, at->pcs, tables),
		.pcs_end = hotspot_address_in(bytes, at->pcs_end, tables),
		.stubs = hotspot_address_in(bytes, at->stubs, blob->at),
		.original_pc = (uint32_t)hotspot_field_in(bytes, at->original_pc),
		.number = (uint32_t)hotspot_field_in(bytes, at->compile_id),
	};
	if (at->deopt_handle)
		out->deopt_handle = hotspot_address_in(bytes, at->deopt_handle, blob->at);
	return 0;
}

static int32_t load_pc(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t pcs, uint32_t index)
{
	return (int32_t)hotspot_load_int(
		reader, pcs + (uintptr_t)index * at->pc_size + at->pc_offset);
}

uint32_t hotspot_find_scope(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_compiled *compiled, uintptr_t pc)
{
	uintptr_t count = (compiled->pcs_end - compiled->pcs) / at->pc_size;
	uint32_t low = 0, high = (uint32_t)count;
	int32_t wanted = (int32_t)(pc - compiled->code);

	if (compiled->pcs_end < compiled->pcs || count > HOTSPOT_PCS_MAX)
		return HOTSPOT_NO_SCOPE;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (load_pc(at, reader, compiled->pcs, middle) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= count)
		return HOTSPOT_NO_SCOPE;
	return hotspot_load_int(
		reader, compiled->pcs + (uintptr_t)low * at->pc_size + at->pc_scope);
}
