/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * What the readers of HotSpot's activations, of its methods and of its own description of itself
 * share: where fields are.
 */
#ifndef LIBPROF_RUNTIME_HOTSPOT_H
#define LIBPROF_RUNTIME_HOTSPOT_H

#include "libprof/runtime/runtime.h"

/*
 * Where the reader finds what HotSpot keeps. Every member is a uint32_t: the offset of a field, of
 * a static variable the distance from runtime->base. Members that say *field* hold the width, too:
 * read them with hotspot_field_in() and hotspot_address_in().
 */
struct hotspot_offsets {
	uint32_t heaps, interpreter, call_stub_return, perf_data; /* variables */
	uint32_t
		entered; /* the same: where enterSpecial is returned to; 0 if it is not described */
	uint32_t array_length, array_data; /* of GrowableArray */
	uint32_t heap_memory, heap_segments, heap_segment_log;
	uint32_t space_low, space_high; /* of VirtualSpace */
	uint32_t block_is_used;
	uint32_t queue_buffer, queue_bytes;	    /* of StubQueue */
	uint32_t perf_first, perf_count;	    /* of PerfDataPrologue */
	uint32_t perf_bytes, perf_name, perf_value; /* of PerfDataEntry */
	uint32_t blob_name;			    /* of CodeBlob */
	/* Fields of CodeBlob. */
	uint32_t header_bytes, frame_complete, frame_words, code_begin, code_end;
	/* Fields of nmethod and of its bases. */
	uint32_t nmethod_method, original_pc, compile_id, entry, loop_entry, deopt, deopt_handle;
	uint32_t stubs, metadata, scopes, pcs, pcs_end;
	/* Fields, too: pointers to its data, or numbers if all of that lies in the nmethod. */
	uint32_t mutable_data, immutable_data;
	uint32_t pc_offset, pc_scope; /* of PcDesc */
	uint32_t method_const;
	uint32_t constants, code_bytes, name_index;	 /* of ConstMethod */
	uint32_t const_flags;				 /* a field of it */
	uint32_t holder, constants_length, source_index; /* of ConstantPool */
	uint32_t klass_name;
	uint32_t symbol_length, symbol_text;
	uint32_t block_size, blob_size, nmethod_size, const_size, constants_size,
		pc_size;    /* of types */
	uint32_t has_lines; /* a bit of ConstMethod's flags */
	uint32_t sender_sp; /* constant, as int32_t */
	uint32_t sweeper;   /* a field of nmethod, 0 since the code cache has no sweeper (JDK 20) */
};
_Static_assert(sizeof(struct hotspot_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

/* What runtime.objects has of a process. */
#define HOTSPOT_HEAPS_MAX 4u
enum hotspot_object {
	HOTSPOT_INTERPRETER, /* its StubQueue */
	HOTSPOT_CALL_STUB,   /* where Java's outermost frames return to */
	HOTSPOT_UNLOADED,    /* how many classes were unloaded, as uint64_t; 0: it does not say */
	HOTSPOT_HEAPS,	     /* CodeHeaps, 0: there are no more */
	HOTSPOT_OBJECTS = HOTSPOT_HEAPS + HOTSPOT_HEAPS_MAX
};
_Static_assert(HOTSPOT_OBJECTS <= RUNTIME_OBJECTS_MAX, "fits");

static inline const struct hotspot_offsets *hotspot_offsets_of(const struct runtime *runtime)
{
	return (const struct hotspot_offsets *)runtime->offsets;
}

static inline uint32_t hotspot_load_int(struct runtime_reader *reader, uintptr_t address)
{
	uint32_t value;

	return runtime_load(reader, address, &value, sizeof(value)) ? 0 : value;
}

/* 0 where it can't be read. */
static inline uintptr_t hotspot_load_pointer(struct runtime_reader *reader, uintptr_t address)
{
	uintptr_t value;

	return runtime_load_word(reader, address, &value) ? 0 : value;
}

/*
 * Releases differ in the width of a field, and in whether it holds an address or an offset from
 * another one: both follow from the type that HotSpot's table gives it.
 */
enum hotspot_width {
	HOTSPOT_U2 = 1,
	HOTSPOT_S2,
	HOTSPOT_INT,
	HOTSPOT_POINTER
};
#define HOTSPOT_FIELD(offset, width)  ((uint32_t)(offset) | (uint32_t)(width) << 16)
#define HOTSPOT_FIELD_OFFSET(field)   ((field)&0xffffu)
#define HOTSPOT_FIELD_WIDTH(field)    ((field) >> 16)
#define HOTSPOT_FIELD_POINTER(offset) HOTSPOT_FIELD(offset, HOTSPOT_POINTER)

/* The value of @field of the object whose bytes are at @bytes. */
static inline int64_t hotspot_field_in(const char *bytes, uint32_t field)
{
	uint32_t offset = HOTSPOT_FIELD_OFFSET(field);

	switch (HOTSPOT_FIELD_WIDTH(field)) {
	case HOTSPOT_U2:
		return runtime_short_in(bytes, offset);
	case HOTSPOT_S2:
		return (int16_t)runtime_short_in(bytes, offset);
	case HOTSPOT_INT:
		return (int32_t)runtime_int_in(bytes, offset);
	default:
		return (int64_t)runtime_word_in(bytes, offset);
	}
}

/* The address in @field: the field holds it, or its distance from @base. */
static inline uintptr_t hotspot_address_in(const char *bytes, uint32_t field, uintptr_t base)
{
	uintptr_t value = (uintptr_t)hotspot_field_in(bytes, field);

	return HOTSPOT_FIELD_WIDTH(field) == HOTSPOT_POINTER ? value : base + value;
}

/* ---- its own description --------------------------------------------------------------------- */

/* As runtime_kind.find. */
int hotspot_find(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* ---- its code cache -------------------------------------------------------------------------- */

#define HOTSPOT_FRAME_MAX (1u << 20) /* bytes */
#define HOTSPOT_PCS_MAX	  (1u << 20)
#define HOTSPOT_NO_SCOPE  0u

/* A piece of code in the cache. */
struct hotspot_blob {
	uintptr_t at, code, code_end;
	uint32_t header_bytes, frame_bytes;
	int32_t complete; /* where in its code the frame is there; < 0: not known */
};

/* A part of the cache, as far as it has memory: it grows and never shrinks. */
struct hotspot_heap {
	uintptr_t low, high;
	uintptr_t segments, segments_end; /* a byte each */
	uint32_t segment_log;
};
/* What is read once a walk. */
struct hotspot_cache {
	uintptr_t interpreter, interpreter_end;
	uint64_t unloaded; /* classes so far */
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
	struct hotspot_blob last; /* that was found */
};
_Static_assert(sizeof(struct hotspot_cache) <= sizeof(((struct runtime_reader *)0)->noted), "fits");

/* The cache as it was when the walk came to it, which @reader keeps. */
struct hotspot_cache *hotspot_cache(const struct runtime *runtime, struct runtime_reader *reader);

/* How many classes it has unloaded by now; 0 where it does not say. */
uint64_t hotspot_load_unloaded(const struct runtime *runtime, struct runtime_reader *reader);

/* What was read in one is believed in it: until a class is unloaded, or else for some walks. */
static inline uint64_t hotspot_epoch(const struct runtime *runtime, struct runtime_reader *reader)
{
	return runtime->objects[HOTSPOT_UNLOADED] ? hotspot_cache(runtime, reader)->unloaded
						  : runtime_mix(1, reader->age);
}

/* Does @pc lie in the interpreter's code? */
static inline int hotspot_is_interpreter(const struct hotspot_cache *cache, uintptr_t pc)
{
	return pc >= cache->interpreter && pc < cache->interpreter_end;
}

/* The part of the cache that has @pc, or NULL. What lies in it is read plainly then. */
const struct hotspot_heap *hotspot_find_heap(
	const struct hotspot_cache *cache, struct runtime_reader *reader, uintptr_t pc);

/* The blob whose code has @pc. Returns 0 or -ENOENT. What is in its heap is read plainly then. */
int hotspot_find_blob(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t pc,
	struct hotspot_blob *out);

/* The header of a compiled method: addresses, except the last two. */
struct hotspot_compiled {
	uintptr_t method, code, entry, loop_entry, deopt, deopt_handle;
	uintptr_t metadata, scopes, pcs, pcs_end, stubs;
	uint32_t original_pc; /* where in its frame that is, once it is given up */
	uint32_t number;      /* no other has it, but one that goes on within a loop */
};

/* Returns 0, or -ENOENT: @blob is none. */
int hotspot_read_compiled(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct hotspot_compiled *out);

/*
 * The scope of the first known place at or behind @pc, which is that of @pc where it is known;
 * HOTSPOT_NO_SCOPE.
 */
uint32_t hotspot_find_scope(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_compiled *compiled, uintptr_t pc);

/* ---- methods --------------------------------------------------------------------------------- */

/* In runtime_frame.name: it is a C string, of one that is no method. */
#define HOTSPOT_TEXT (1ULL << 63)
/* In place of such a C string: frames of a virtual thread that lie in the heap. */
#define HOTSPOT_FROZEN (HOTSPOT_TEXT | 1)

/*
 * The frame of @method, at no place of its code. Returns 0 or -errno: it is no method. Its code is
 * at out->code, of out->start bytes.
 */
int hotspot_read_method(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t method, struct runtime_frame *out);

/*
 * The same as it was read before, for each is at many places. @key is of all by which another one
 * at the same address would differ. Returns 1, or 0: it is not known.
 */
int hotspot_find_method(const struct runtime *runtime, const struct runtime_reader *reader,
	uint64_t key, uintptr_t method, struct runtime_frame *out);
void hotspot_keep_method(const struct runtime *runtime, const struct runtime_reader *reader,
	uint64_t key, const struct runtime_frame *frame);

/* At byte @bci of its code, if that is one. */
static inline void hotspot_set_place(struct runtime_frame *frame, int64_t bci)
{
	frame->position = bci >= 0 && bci < frame->start ? (int32_t)bci : -1;
}

/* As runtime_kind's. */
uint32_t hotspot_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t hotspot_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end);

/* Read a variable-length number of at most 5 bytes at *at, and move *at behind it. 0 or -errno. */
int hotspot_read_number(const struct hotspot_offsets *offsets, struct runtime_reader *reader,
	uintptr_t *at, uint32_t *value);

#endif
