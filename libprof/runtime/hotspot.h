/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * What the readers of HotSpot's activations, of its methods and of its own description of itself
 * share: where fields are.
 */
#ifndef LIBPROF_RUNTIME_HOTSPOT_H
#define LIBPROF_RUNTIME_HOTSPOT_H

#include "libprof/runtime/runtime.h"

/* All of them uint32_t: fields' offsets; what a variable's is, counts from runtime->base. */
struct hotspot_offsets {
	uint32_t release;		       /* variables */
	uint32_t heaps, low_bound, high_bound; /* of CodeCache */
	uint32_t interpreter, call_stub_return;
	uint32_t array_length, array_data; /* of GrowableArray */
	uint32_t heap_memory, heap_segments, heap_segment_log;
	uint32_t space_low, space_high; /* of VirtualSpace */
	uint32_t block_is_used;
	uint32_t queue_buffer, queue_bytes; /* of StubQueue */
	uint32_t blob_name, header_bytes, frame_complete, frame_words, code_begin, code_end;
	uint32_t nmethod_method, scopes_begin, deopt_begin, deopt_handle_begin, original_pc;
	uint32_t entry, loop_entry; /* of nmethod: addresses */
	uint32_t metadata, pcs, pcs_end,
		stubs;		      /* of nmethod; what is there counts from its address */
	uint32_t pc_offset, pc_scope; /* of PcDesc */
	uint32_t method_const;
	uint32_t constants, const_bytes, const_flags, code_bytes, name_index; /* of ConstMethod */
	uint32_t holder, constants_length, source_index;		      /* of ConstantPool */
	uint32_t klass_name;
	uint32_t symbol_length, symbol_text;
	uint32_t block_size, nmethod_size, const_size, constants_size, pc_size; /* of types */
	uint32_t has_lines; /* a bit of ConstMethod's flags */
	uint32_t sender_sp; /* constant, as int32_t */
};
_Static_assert(sizeof(struct hotspot_offsets) <= sizeof(((struct runtime *)0)->offsets), "fits");

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

/* ---- its own description --------------------------------------------------------------------- */

/* As runtime_kind.find. */
int hotspot_find(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols);

/* ---- methods --------------------------------------------------------------------------------- */

/* In runtime_frame.name: it is a C string, of one that is no method. */
#define HOTSPOT_TEXT (1ULL << 63)

/*
 * The frame of @method at byte @bci of its code, < 0: not known. Returns 0 or -errno: it is no
 * method.
 */
int hotspot_read_method(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t method, int32_t bci, struct runtime_frame *out);

/* Which byte of @method's code is at @bcp, < 0: none. */
int32_t hotspot_bci(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t method,
	uintptr_t bcp);

/* As runtime_kind's. */
uint32_t hotspot_first_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t hotspot_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame);
uint32_t hotspot_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end);

/* A variable-length number at *at, of at most 5 bytes; *at goes behind it. 0 or -errno. */
int hotspot_read_number(struct runtime_reader *reader, uintptr_t *at, uint32_t *value);

#endif
