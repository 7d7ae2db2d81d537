/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Offsets and interfaces that the four parts of the HotSpot reader share: hotspot.c unwinds Java
 * frames, hotspot_code.c searches the code cache, hotspot_method.c reads methods, and
 * hotspot_tables.c finds the offsets in HotSpot's tables for debuggers.
 */
#ifndef LIBPROF_RUNTIME_HOTSPOT_H
#define LIBPROF_RUNTIME_HOTSPOT_H

#include "libprof/runtime/runtime.h"

/*
 * Offsets in HotSpot's structures. Every member is a uint32_t: the offset of a field, or for a
 * static variable the distance from runtime->base. A member under a comment that begins with
 * "Field" also contains the width of the field: read it with hotspot_field_in() and
 * hotspot_address_in().
 */
struct hotspot_offsets {
	uint32_t heaps, interpreter, call_stub_return, perf_data; /* variables */
	/* The variable with the return address in Continuation.enterSpecial; 0: not listed. */
	uint32_t entered;
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
	/* Fields: pointers to the nmethod's data, or integers if the data lies in the nmethod. */
	uint32_t mutable_data, immutable_data;
	uint32_t pc_offset, pc_scope; /* of PcDesc */
	uint32_t method_const;
	uint32_t constants, code_bytes, name_index;	 /* of ConstMethod */
	/* Field of ConstMethod. */
	uint32_t const_flags;
	uint32_t holder, constants_length, source_index; /* of ConstantPool */
	uint32_t klass_name;
	uint32_t symbol_length, symbol_text;
	uint32_t block_size, blob_size, nmethod_size, const_size, constants_size,
		pc_size;    /* of types */
	uint32_t has_lines; /* a bit in const_flags */
	uint32_t sender_sp; /* constant, as int32_t */
	/* The offset of a field of nmethod; 0 from JDK 20 on, where HotSpot has no sweeper. */
	uint32_t sweeper;
};
_Static_assert(sizeof(struct hotspot_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

/* Indices in runtime.objects. */
#define HOTSPOT_HEAPS_MAX 4u
enum hotspot_object {
	HOTSPOT_INTERPRETER, /* the interpreter's StubQueue */
	/* The return address of Java's outermost frames. */
	HOTSPOT_CALL_STUB,
	/* The address of HotSpot's number of unloaded classes; 0: HotSpot does not count them. */
	HOTSPOT_UNLOADED,
	HOTSPOT_HEAPS,	     /* CodeHeaps; 0: no more */
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

/* Returns the pointer at @address, or 0 if it cannot be read. */
static inline uintptr_t hotspot_load_pointer(struct runtime_reader *reader, uintptr_t address)
{
	uintptr_t value;

	return runtime_load_word(reader, address, &value) ? 0 : value;
}

/*
 * Releases differ in the width of a field, and in whether the field contains an address or an
 * offset. The field's type in HotSpot's table decides both.
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

/* Returns the value of @field of the object that was copied to @bytes. */
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

/* Returns the address that @field contains, or @base plus the distance that @field contains. */
static inline uintptr_t hotspot_address_in(const char *bytes, uint32_t field, uintptr_t base)
{
	uintptr_t value = (uintptr_t)hotspot_field_in(bytes, field);

	return HOTSPOT_FIELD_WIDTH(field) == HOTSPOT_POINTER ? value : base + value;
}

/* ---- tables for debuggers -------------------------------------------------------------------- */

/* Implements runtime_kind.find. */
int hotspot_find(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* ---- the code cache -------------------------------------------------------------------------- */

#define HOTSPOT_FRAME_MAX (1u << 20) /* bytes */
#define HOTSPOT_PCS_MAX	  (1u << 20)
#define HOTSPOT_NO_SCOPE  0u

/* A blob: a piece of code in the code cache, with a header at `at`. */
struct hotspot_blob {
	uintptr_t at, code, code_end;
	uint32_t header_bytes, frame_bytes;
	/* Offset in the code from which on the frame is complete; < 0: not known. */
	int32_t complete;
};

/* One heap of the code cache, up to its committed end. A heap grows and never shrinks. */
struct hotspot_heap {
	uintptr_t low, high;
	uintptr_t segments, segments_end; /* one byte per segment */
	uint32_t segment_log;
};
/* The state of the code cache. It is read once per walk. */
struct hotspot_cache {
	uintptr_t interpreter, interpreter_end;
	uint64_t unloaded; /* number of classes unloaded so far */
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
	struct hotspot_blob last; /* the blob that was found last */
};
_Static_assert(sizeof(struct hotspot_cache) <= sizeof(((struct runtime_reader *)0)->noted), "fits");

/* Returns the code cache as it was when this walk first used it. The result is kept in @reader. */
struct hotspot_cache *hotspot_cache(const struct runtime *runtime, struct runtime_reader *reader);

/* Returns the current number of unloaded classes; 0 if HotSpot does not count them. */
uint64_t hotspot_load_unloaded(const struct runtime *runtime, struct runtime_reader *reader);

/*
 * Returns a number that changes when a class is unloaded. If HotSpot does not count unloaded
 * classes, the number changes every RUNTIME_AN_AGE walks.
 */
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

/* Returns the heap that contains @pc, or NULL. Later loads from this heap are plain loads. */
const struct hotspot_heap *hotspot_find_heap(
	const struct hotspot_cache *cache, struct runtime_reader *reader, uintptr_t pc);

/* Find the blob whose code has @pc, and allow plain loads of its heap. Returns 0 or -ENOENT. */
int hotspot_find_blob(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t pc,
	struct hotspot_blob *out);

/* The header of a compiled method (nmethod). All members but the last two are addresses. */
struct hotspot_compiled {
	uintptr_t method, code, entry, loop_entry, deopt, deopt_handle;
	uintptr_t metadata, scopes, pcs, pcs_end, stubs;
	/* Offset in a deoptimised frame at which HotSpot has saved the original pc. */
	uint32_t original_pc;
	/* The compile id. Two compilations share it only if one of them is an OSR compilation. */
	uint32_t number;
};

/* Read the header of @blob. Returns 0, or -ENOENT if @blob is not a compiled method. */
int hotspot_read_compiled(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct hotspot_compiled *out);

/* Returns the scope of the first PcDesc at or after @pc, or HOTSPOT_NO_SCOPE. */
uint32_t hotspot_find_scope(const struct hotspot_offsets *at, struct runtime_reader *reader,
	const struct hotspot_compiled *compiled, uintptr_t pc);

/* ---- methods --------------------------------------------------------------------------------- */

/* Bit in runtime_frame.name: the other bits are the address of a C string, not a method. */
#define HOTSPOT_TEXT (1ULL << 63)
/* runtime_frame.name of the frame that stands for a virtual thread's frames in the Java heap. */
#define HOTSPOT_FROZEN (HOTSPOT_TEXT | 1)

/*
 * Read @method into @out, with position -1. The bytecode is at out->code and has out->start bytes.
 * Returns 0, or -errno if @method is not a method.
 */
int hotspot_read_method(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t method, struct runtime_frame *out);

/*
 * Find or store a cached result of hotspot_read_method(). @key must contain all that distinguishes
 * @method from a later method at the same address. hotspot_find_method() returns 1, or 0 if no
 * result is cached.
 */
int hotspot_find_method(const struct runtime *runtime, const struct runtime_reader *reader,
	uint64_t key, uintptr_t method, struct runtime_frame *out);
void hotspot_keep_method(const struct runtime *runtime, const struct runtime_reader *reader,
	uint64_t key, const struct runtime_frame *frame);

/*
 * Set the frame's position to the bytecode index @bci, or to -1 if @bci is not within the bytecode.
 */
static inline void hotspot_set_position(struct runtime_frame *frame, int64_t bci)
{
	frame->position = bci >= 0 && bci < frame->start ? (int32_t)bci : -1;
}

/* Implement runtime_kind.line and runtime_kind.text. */
uint32_t hotspot_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t hotspot_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end);

/*
 * Read a number of at most 5 bytes at *@at, and move *@at behind the number. Returns 0 or -errno.
 */
int hotspot_read_number(const struct hotspot_offsets *offsets, struct runtime_reader *reader,
	uintptr_t *at, uint32_t *value);

#endif
