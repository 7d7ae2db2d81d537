/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * HotSpot 17: the activations of its interpreter, of compiled methods and of its own pieces of
 * code, which all lie in its code cache, as blobs. Only the interpreter keeps frame pointers; of
 * other code the blob says how large its frames are.
 *
 *	interpreter	method, bytecode, caller in slots below the frame pointer (arch/hotspot.h)
 *	nmethod		return address above the frame, the caller's frame pointer below that;
 *			by return address: scopes, from the innermost method inlined there outward
 *	stub		the same, named by its blob; of those that have several functions in one
 *			blob, the call before the return address has to lead into it
 *
 * An innermost activation may have no frame yet or no more: then its code says how far it is.
 * Wherever Java was called from, the return address is in the code cache but for one stub's: what
 * leads elsewhere is no frame. Nothing here moves, and what a thread is about to return to is not
 * freed.
 */
#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "arch/hotspot.h"
#include "libprof/runtime/hotspot.h"

#define WORD		sizeof(uintptr_t)
#define HEAPS_MAX	8u
#define HOPS_MAX	1024u
#define SEGMENT_IS_FREE 0xffu
#define FRAME_MAX	(1u << 20)
#define ENTRY_MAX	256u /* bytes of code before a compiled method has its frame */
#define PCS_MAX		(1u << 20)
#define SCOPES_MAX	256u
#define NO_SCOPE	0u

/* A piece of code in the cache. */
struct blob {
	uintptr_t at, code, code_end;
	uint32_t header_bytes, frame_bytes;
	int32_t complete; /* where in its code the frame is there; < 0: not known */
};

/* ---- the code cache -------------------------------------------------------------------------- */

static uintptr_t load_variable(
	const struct runtime *runtime, struct runtime_reader *reader, uint32_t variable)
{
	return hotspot_load_pointer(reader, runtime->base + variable);
}

/* What is not written to the cache's bounds yet leaves it empty. */
static int is_in_cache(
	const struct runtime *runtime, struct runtime_reader *reader, uintptr_t address)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t low = load_variable(runtime, reader, at->low_bound);

	return low && address >= low && address < load_variable(runtime, reader, at->high_bound);
}

/* Make reader->noted the heap that @pc lies in: its bounds, and its segments with their log2. */
static int note_heap(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t pc)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t heaps = load_variable(runtime, reader, at->heaps), data, heap, space;
	uint32_t count;

	if (reader->noted_at == runtime->base + at->heaps && pc >= reader->noted[0] &&
		pc < reader->noted[1])
		return 0;
	count = heaps ? hotspot_load_int(reader, heaps + at->array_length) : 0;
	data = heaps ? hotspot_load_pointer(reader, heaps + at->array_data) : 0;
	reader->noted_at = 0;
	for (uint32_t i = 0; i < count && i < HEAPS_MAX && data; i++) {
		heap = hotspot_load_pointer(reader, data + i * WORD);
		space = heap + at->heap_memory;
		reader->noted[0] = heap ? hotspot_load_pointer(reader, space + at->space_low) : 0;
		reader->noted[1] = heap ? hotspot_load_pointer(reader, space + at->space_high) : 0;
		if (!reader->noted[0] || pc < reader->noted[0] || pc >= reader->noted[1])
			continue;
		reader->noted[2] =
			hotspot_load_pointer(reader, heap + at->heap_segments + at->space_low);
		reader->noted[2] |= hotspot_load_int(reader, heap + at->heap_segment_log) & 31;
		reader->noted_at = runtime->base + at->heaps;
		/* It grows, and never shrinks. */
		if (reader->is_own) {
			reader->fixed_start = reader->noted[0];
			reader->fixed_bytes = reader->noted[1] - reader->noted[0];
		}
		return 0;
	}
	return -ENOENT;
}

/* Segments of a block say how far, at least, its first one is. */
static int find_block(struct runtime_reader *reader, uintptr_t pc, uintptr_t *block)
{
	unsigned log = reader->noted[2] & 31;
	uintptr_t map = reader->noted[2] & ~(uintptr_t)31;
	uintptr_t segment = (pc - reader->noted[0]) >> log;
	uint8_t back;

	for (unsigned n = 0; n < HOPS_MAX; n++) {
		if (runtime_load(reader, map + segment, &back, 1) || back == SEGMENT_IS_FREE ||
			back > segment)
			return -ENOENT;
		if (!back) {
			*block = reader->noted[0] + (segment << log);
			return 0;
		}
		segment -= back;
	}
	return -ENOENT;
}

static int find_blob(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t pc,
	struct blob *out)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t block;
	uint8_t is_used;
	int32_t words;

	if (note_heap(runtime, reader, pc) || find_block(reader, pc, &block) ||
		runtime_load(reader, block + at->block_is_used, &is_used, 1) || !is_used)
		return -ENOENT;
	out->at = block + at->block_size;
	out->code = hotspot_load_pointer(reader, out->at + at->code_begin);
	out->code_end = hotspot_load_pointer(reader, out->at + at->code_end);
	out->header_bytes = hotspot_load_int(reader, out->at + at->header_bytes);
	out->complete = (int32_t)hotspot_load_int(reader, out->at + at->frame_complete);
	words = (int32_t)hotspot_load_int(reader, out->at + at->frame_words);
	if (pc < out->code || pc >= out->code_end || words > (int32_t)(FRAME_MAX / WORD))
		return -ENOENT;
	out->frame_bytes = words > 0 ? (uint32_t)words * WORD : 0;
	return 0;
}

/* ---- callers ------------------------------------------------------------------------------- */

static int is_interpreter(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t queue = load_variable(runtime, reader, at->interpreter);

	*start = queue ? hotspot_load_pointer(reader, queue + at->queue_buffer) : 0;
	*end = *start + (queue ? hotspot_load_int(reader, queue + at->queue_bytes) : 0);
	return *start && pc >= *start && pc < *end;
}

/* Code that has been given up is returned to where it starts over in the interpreter. */
static int is_given_up(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, uintptr_t ra)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);

	return blob->header_bytes == at->nmethod_size &&
	       (ra == hotspot_load_pointer(reader, blob->at + at->deopt_begin) ||
		       ra == hotspot_load_pointer(reader, blob->at + at->deopt_handle_begin));
}

/* Can Java's code return to @ra? */
static int is_return(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t ra)
{
	uint8_t before[ARCH_HOTSPOT_CALL_BYTES];
	uintptr_t target, start, end;
	struct blob blob;

	if (!is_in_cache(runtime, reader, ra))
		return 0;
	if (is_interpreter(runtime, reader, ra, &start, &end))
		return 1;
	if (find_blob(runtime, reader, ra, &blob) || ra - blob.code < sizeof(before))
		return 0;
	return (!runtime_load(reader, ra - sizeof(before), before, sizeof(before)) &&
		       arch_hotspot_call(before, ra, &target)) ||
	       is_given_up(runtime, reader, &blob, ra);
}

/*
 * Go to the caller, whose stack pointer is @sp, by the return address below it. Returns 1, or
 * -EBADMSG: there is none.
 */
static int arrive(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, uintptr_t ra, uintptr_t sp, uintptr_t fp)
{
	if (sp <= at->sp - WORD || sp - at->sp > FRAME_MAX || sp & (WORD - 1) ||
		!is_return(runtime, reader, ra))
		return -EBADMSG;
	at->pc = ra;
	at->sp = sp;
	at->fp = fp;
	return 1;
}

/* Below @sp lie the return address and, where @is_saved, the frame pointer. */
static int arrive_at(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, uintptr_t sp, int is_saved)
{
	uintptr_t words[2]; /* frame pointer, return address */

	if (runtime_load(reader, sp - sizeof(words), words, sizeof(words)))
		return -EFAULT;
	at->has_fp |= is_saved;
	return arrive(runtime, reader, at, words[1], sp, is_saved ? words[0] : at->fp);
}

static int arrive_by_edge(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, const struct arch_hotspot_edge *edge)
{
	uintptr_t ra = edge->ra_at ? hotspot_load_pointer(reader, edge->ra_at) : edge->ra;
	uintptr_t sp = edge->sp_at ? hotspot_load_pointer(reader, edge->sp_at) : edge->sp;

	return arrive(runtime, reader, at, ra, sp,
		edge->fp_at ? hotspot_load_pointer(reader, edge->fp_at) : at->fp);
}

/* Does the call before return address @ra lead into @blob, or where only a register knew? */
static int is_called_from(struct runtime_reader *reader, const struct blob *blob, uintptr_t ra)
{
	uint8_t before[ARCH_HOTSPOT_CALL_BYTES];
	uintptr_t target;

	return !runtime_load(reader, ra - sizeof(before), before, sizeof(before)) &&
	       arch_hotspot_call(before, ra, &target) &&
	       (!target || (target >= blob->code && target < blob->code_end));
}

static int load_code(const void *reader, uintptr_t address, uintptr_t *word)
{
	return runtime_load_word((struct runtime_reader *)reader, address, word);
}

/* Without a frame, called from wherever: the library, or by way of other code. */
static int leave_by_any_call(struct runtime_reader *reader, struct unwind_activation *at)
{
	const struct arch_text text = {0, UINTPTR_MAX, load_code, reader};
	uintptr_t ra;

	if (runtime_load_word(reader, at->sp, &ra) || !arch_follows_call(&text, ra))
		return -EBADMSG;
	at->pc = ra;
	at->sp += WORD;
	return 1;
}

/* The code around the pc, as far as [@start, @end) goes. Returns 0 or -errno. */
static int read_code(struct runtime_reader *reader, uintptr_t pc, uintptr_t start, uintptr_t end,
	uint8_t bytes[2 * ARCH_HOTSPOT_NEAR], struct arch_hotspot_code *out)
{
	uintptr_t from = pc - start > ARCH_HOTSPOT_NEAR ? pc - ARCH_HOTSPOT_NEAR : start;
	uintptr_t to = end - pc > ARCH_HOTSPOT_NEAR ? pc + ARCH_HOTSPOT_NEAR : end;

	*out = (struct arch_hotspot_code){bytes, (unsigned)(pc - from), (unsigned)(to - from)};
	return runtime_load(reader, from, bytes, to - from);
}

/* ---- the interpreter ------------------------------------------------------------------------- */

/* By the slots of a frame that is there. The innermost one has its bytecode in a register. */
static int leave_framed(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_stack *run)
{
	uintptr_t slots[2 - ARCH_HOTSPOT_BCP], *fp = slots - ARCH_HOTSPOT_BCP;
	uintptr_t method, sender_sp;
	struct runtime_frame frame;
	int error;

	if (!at->has_fp || at->fp & (WORD - 1) || at->fp < at->sp || at->fp - at->sp > FRAME_MAX ||
		runtime_load(
			reader, at->fp + ARCH_HOTSPOT_BCP * (intptr_t)WORD, slots, sizeof(slots)))
		return -EBADMSG;
	method = fp[ARCH_HOTSPOT_METHOD];
	sender_sp = fp[ARCH_HOTSPOT_SENDER_SP];
	/* A method handle's last argument is taken away from below it. */
	if (sender_sp < at->fp + WORD || hotspot_read_method(runtime, reader, method, -1, &frame))
		return -EBADMSG;
	run->frame = method;
	run->place = fp[ARCH_HOTSPOT_BCP];
	if (at->innermost &&
		hotspot_bci(runtime, reader, method, at->innermost->r[ARCH_HOTSPOT_BCP_REG]) >= 0)
		run->place = at->innermost->r[ARCH_HOTSPOT_BCP_REG];
	error = arrive(runtime, reader, at, fp[1], sender_sp, fp[0]);
	if (error < 0)
		run->frame = 0;
	return error;
}

static int leave_interpreter(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, uintptr_t start, uintptr_t end, struct runtime_stack *run)
{
	uint8_t bytes[2 * ARCH_HOTSPOT_NEAR];
	struct arch_hotspot_code code;
	struct arch_hotspot_edge edge;
	struct runtime_frame frame;

	/* It has subroutines, which return to it. */
	if (at->is_way_out) {
		at->is_way_out = leave_framed(runtime, reader, at, run) < 0;
		return 1;
	}
	if (at->innermost && !read_code(reader, at->pc, start, end, bytes, &code) &&
		arch_hotspot_interpreter_edge(&code, at->innermost, &edge)) {
		if (edge.method_at)
			edge.method = hotspot_load_pointer(reader, edge.method_at);
		if (!hotspot_read_method(runtime, reader, edge.method, -1, &frame))
			run->frame = edge.method;
		return arrive_by_edge(runtime, reader, at, &edge);
	}
	return leave_framed(runtime, reader, at, run);
}

/* ---- compiled methods ------------------------------------------------------------------------ */

/*
 * Where the code that makes the frame ends that the innermost @pc is in, 0: it is in none. A method
 * that C1 compiled to go on within a loop begins there, too, with the same code.
 */
static uintptr_t find_begun(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, uintptr_t pc)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t end = blob->code + (uintptr_t)(intptr_t)blob->complete, within, bytes;

	if (blob->complete < 0 || pc < end)
		return blob->complete < 0 ? 0 : end;
	if (blob->header_bytes != at->nmethod_size)
		return 0;
	within = hotspot_load_pointer(reader, blob->at + at->loop_entry);
	bytes = end - hotspot_load_pointer(reader, blob->at + at->entry);
	return within >= end && pc - within < bytes && bytes <= ENTRY_MAX ? within + bytes : 0;
}

/*
 * How much of the frame is yet to be made from @pc to @end. Returns 0, or -ENOENT: the code is not
 * understood.
 */
static int find_remaining(struct runtime_reader *reader, uintptr_t pc, uintptr_t end,
	uint32_t *remaining, int *is_fp_saved)
{
	uintptr_t bytes = end - pc;
	uint8_t code[ENTRY_MAX];

	if (bytes > sizeof(code) || runtime_load(reader, pc, code, bytes))
		return -ENOENT;
	for (unsigned at = 0; at < bytes;) {
		struct arch_instruction next = arch_decode(code + at, (unsigned)bytes - at);

		if (!next.bytes)
			return -ENOENT;
		if (next.effect == ARCH_EFFECT_SP)
			*remaining += (uint32_t)-next.value;
		else if (next.effect == ARCH_EFFECT_PUSH_FP)
			*remaining += WORD;
		if (next.effect == ARCH_EFFECT_PUSH_FP || next.effect == ARCH_EFFECT_SAVE_FP)
			*is_fp_saved = 0;
		at += next.bytes;
	}
	return 0;
}

/* To the caller of a blob that says how large its frames are; @begun as find_begun(), or 0. */
static int leave_sized(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, uintptr_t begun, struct unwind_activation *at)
{
	uint32_t remaining = 0;
	int is_saved = 1;

	if (begun && find_remaining(reader, at->pc, begun, &remaining, &is_saved))
		return -EBADMSG;
	if (remaining > blob->frame_bytes - WORD)
		return -EBADMSG;
	return arrive_at(runtime, reader, at, at->sp + blob->frame_bytes - remaining, is_saved);
}

static int32_t load_pc(const struct hotspot_offsets *at, struct runtime_reader *reader,
	uintptr_t pcs, uint32_t index)
{
	return (int32_t)hotspot_load_int(
		reader, pcs + (uintptr_t)index * at->pc_size + at->pc_offset);
}

/* The scope of the first known place at or behind @pc, which is that of @pc where it is known. */
static uint32_t find_scope(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, uintptr_t pc)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uint32_t begin = hotspot_load_int(reader, blob->at + at->pcs);
	uint32_t end = hotspot_load_int(reader, blob->at + at->pcs_end);
	uintptr_t pcs = blob->at + begin;
	uint32_t low = 0, high = (end - begin) / at->pc_size;
	int32_t wanted = (int32_t)(pc - blob->code);

	if (end < begin || high > PCS_MAX)
		return NO_SCOPE;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (load_pc(at, reader, pcs, middle) < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= (end - begin) / at->pc_size)
		return NO_SCOPE;
	return hotspot_load_int(reader, pcs + (uintptr_t)low * at->pc_size + at->pc_scope);
}

static int leave_compiled(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, struct unwind_activation *at, struct runtime_stack *run)
{
	const struct hotspot_offsets *offsets = hotspot_offsets_of(runtime);
	uintptr_t begun = at->innermost ? find_begun(runtime, reader, blob, at->pc) : 0;
	uintptr_t pc = at->pc;

	/* Behind its own code lie pieces that are jumped to; calls of others go by some of them. */
	if (at->innermost && pc >= blob->at + hotspot_load_int(reader, blob->at + offsets->stubs) &&
		!at->is_way_out)
		return leave_by_any_call(reader, at);
	/* Where it was is kept in the frame. */
	if (!at->innermost && is_given_up(runtime, reader, blob, pc))
		pc = hotspot_load_pointer(
			reader, at->sp + hotspot_load_int(reader, blob->at + offsets->original_pc));
	run->frame = hotspot_load_pointer(reader, blob->at + offsets->nmethod_method);
	run->activation = blob->at;
	if (!begun && !at->is_way_out)
		run->state = find_scope(runtime, reader, blob, pc);
	if (at->is_way_out)
		return 1;
	if (!blob->frame_bytes)
		return arrive_at(runtime, reader, at, at->sp + WORD, 0);
	return leave_sized(runtime, reader, blob, begun, at);
}

/* ---- stubs ----------------------------------------------------------------------------------- */

static int is_adapter(struct runtime_reader *reader, uintptr_t name)
{
	static const char adapter[] = "I2C/C2I";
	char text[sizeof(adapter) - 1];

	return !runtime_load(reader, name, text, sizeof(text)) &&
	       !memcmp(text, adapter, sizeof(text));
}

/* The record that @at->fp leads to, if the call that it returns to has led here. */
static int leave_by_fp(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, struct unwind_activation *at)
{
	uintptr_t words[3]; /* frame pointer, return address or a mark below it, that */
	unsigned marked;

	if (!at->has_fp || at->fp < at->sp || at->fp & (WORD - 1) ||
		runtime_load(reader, at->fp, words, sizeof(words)))
		return -EBADMSG;
	/* What compiled methods ask whether they are still good (gc/shared/barrierSetNMethod). */
	marked = words[1] == UINTPTR_MAX;
	if (!is_called_from(reader, blob, words[1 + marked]))
		return -EBADMSG;
	at->has_fp = 1;
	return arrive(
		runtime, reader, at, words[1 + marked], at->fp + (2 + marked) * WORD, words[0]);
}

/* What is called without a frame has the return address on top; the interpreter jumps there. */
static int leave_by_sp(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, struct unwind_activation *at)
{
	uintptr_t ra, start, end;

	if (runtime_load_word(reader, at->sp, &ra) ||
		(!is_interpreter(runtime, reader, ra, &start, &end) &&
			!is_called_from(reader, blob, ra)))
		return -EBADMSG;
	at->pc = ra;
	at->sp += WORD;
	return 1;
}

/* Java's outermost frame was called by the library: by this stub. */
static int leave_call_stub(struct runtime_reader *reader, struct unwind_activation *at)
{
	uintptr_t words[2];

	if (!at->has_fp || at->fp < at->sp || at->fp - at->sp > FRAME_MAX ||
		runtime_load(reader, at->fp, words, sizeof(words)))
		return -EBADMSG;
	at->sp = at->fp + sizeof(words);
	at->fp = words[0];
	at->pc = words[1];
	return 1;
}

static int leave_stub(const struct runtime *runtime, struct runtime_reader *reader,
	const struct blob *blob, struct unwind_activation *at, struct runtime_stack *run)
{
	const struct hotspot_offsets *offsets = hotspot_offsets_of(runtime);
	uintptr_t name = hotspot_load_pointer(reader, blob->at + offsets->blob_name);
	uint8_t bytes[2 * ARCH_HOTSPOT_NEAR];
	struct arch_hotspot_code code;
	struct arch_hotspot_edge edge;
	int left = -EBADMSG;

	run->frame = name | HOTSPOT_TEXT;
	if (at->pc == load_variable(runtime, reader, offsets->call_stub_return)) {
		run->frame = HOTSPOT_TEXT;
		return leave_call_stub(reader, at);
	}
	if (at->is_way_out)
		return 1;
	if (blob->frame_bytes && (!at->innermost || blob->complete >= 0))
		left = leave_sized(runtime, reader, blob,
			at->innermost ? find_begun(runtime, reader, blob, at->pc) : 0, at);
	if (left < 0 && at->innermost && is_adapter(reader, name) &&
		!read_code(reader, at->pc, blob->code, blob->code_end, bytes, &code) &&
		arch_hotspot_adapter_edge(&code, at->innermost, &edge))
		left = arrive_by_edge(runtime, reader, at, &edge);
	if (left < 0 && at->innermost)
		left = leave_by_sp(runtime, reader, blob, at);
	if (left < 0)
		left = leave_by_fp(runtime, reader, blob, at);
	if (left < 0 && at->innermost)
		left = leave_by_any_call(reader, at);
	return left;
}

/* ---- what the contract asks for -------------------------------------------------------------- */

static int leave_hotspot(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_stack *run)
{
	const struct hotspot_offsets *offsets = hotspot_offsets_of(runtime);
	uintptr_t start, end;
	struct blob blob;

	*run = (struct runtime_stack){0};
	if (!is_in_cache(runtime, reader, at->pc))
		return 0;
	if (is_interpreter(runtime, reader, at->pc, &start, &end))
		return leave_interpreter(runtime, reader, at, start, end, run);
	if (find_blob(runtime, reader, at->pc, &blob))
		return 0;
	if (blob.header_bytes == offsets->nmethod_size)
		return leave_compiled(runtime, reader, &blob, at, run);
	return leave_stub(runtime, reader, &blob, at, run);
}

/*
 * @run->state is where the next scope is described: where its caller's is, its method's number, its
 * place in the method and 1 (code/debugInfo.hpp).
 */
static int next_scope(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *run, struct runtime_frame *out)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uintptr_t next =
		hotspot_load_pointer(reader, run->activation + at->scopes_begin) + run->state;
	uint32_t values[3]; /* caller, method, place */
	uintptr_t metadata =
		run->activation + hotspot_load_int(reader, run->activation + at->metadata);

	for (unsigned i = 0; i < 3; i++)
		if (hotspot_read_number(reader, &next, &values[i]))
			return -EFAULT;
	/* Callers are described before. */
	if (values[0] >= run->state || !values[1] || values[1] > PCS_MAX)
		return -EBADMSG;
	run->state = values[0];
	if (!run->state)
		run->frame = 0;
	return hotspot_read_method(runtime, reader,
		       hotspot_load_pointer(reader, metadata + (values[1] - 1) * WORD),
		       (int32_t)values[2] - 1, out)
		       ? -EBADMSG
		       : 1;
}

static int next_hotspot(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *run, struct runtime_frame *out)
{
	uintptr_t method = run->frame;
	int32_t bci = -1;

	if (!method)
		return 0;
	if (run->state)
		return next_scope(runtime, reader, run, out);
	run->frame = 0;
	if (method & HOTSPOT_TEXT) {
		*out = (struct runtime_frame){.function = method,
			.identity = runtime_mix(method, runtime->base),
			.position = -1,
			.name = method};
		return 1;
	}
	if (!run->activation && run->place)
		bci = hotspot_bci(runtime, reader, method, run->place);
	return hotspot_read_method(runtime, reader, method, bci, out) ? -EBADMSG : 1;
}

const struct runtime_kind runtime_hotspot = {
	.name = "java",
	.find = hotspot_find,
	.leave = leave_hotspot,
	.next = next_hotspot,
	.first_line = hotspot_first_line,
	.line = hotspot_line,
	.text = hotspot_text,
};
