/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Unwind Java frames: those of HotSpot's interpreter, of compiled methods and of HotSpot's stubs.
 * All of this code lies in the code cache, as blobs. Only the interpreter keeps frame pointers. For
 * other code, the blob has the size of its frames. Results were compared with Java's traceback, for
 * JDK 17, 21, 25 and 26, and for early access builds of 27 and 28.
 *
 *	interpreter	method, bytecode, caller in slots below the frame pointer (arch/hotspot.h)
 *	nmethod		return address above the frame, the caller's frame pointer below that;
 *			by return address: scopes, from the innermost inlined method outward
 *	stub		frame as of an nmethod, named by its blob; if a blob has several functions,
 *			the call before the return address must lead into the blob
 *
 * The innermost frame may be incomplete. In that case, its code is decoded to find the size of the
 * part that exists. Every return address in a Java frame is in the code cache, except that of the
 * call stub, so other words are rejected. HotSpot does not move code, and does not free code to
 * which a thread is about to return.
 */
#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "arch/hotspot.h"
#include "libprof/runtime/hotspot.h"

#define WORD sizeof(uintptr_t)
/* words that identify a Method */
#define METHOD_WORDS 4u
/* The largest number of bytes of code that a method executes before its frame is complete. */
#define ENTRY_MAX 256u
/* The largest number of bytes that a compiled method pushes below its frame. */
#define PUSHED_MAX	16u
#define BLOB_NAME_BYTES 40u /* bytes that are compared */

/* ---- callers ------------------------------------------------------------------------------- */

/* Returns 1 if @ra is a deoptimisation handler of @compiled, to which deoptimised code returns. */
static int is_given_up(const struct hotspot_compiled *compiled, uintptr_t ra)
{
	return ra == compiled->deopt || ra == compiled->deopt_handle;
}

static uintptr_t load_blob_name(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob)
{
	return hotspot_load_pointer(reader, blob->at + hotspot_offsets_of(runtime)->blob_name);
}

/* Returns 1 if the C string at @name begins with the @length bytes at @wanted. */
static int begins_with(
	struct runtime_reader *reader, uintptr_t name, const char *wanted, size_t length)
{
	char text[BLOB_NAME_BYTES];

	return !runtime_load(reader, name, text, length) && !memcmp(text, wanted, length);
}

/* Returns 1 if a call instruction in @blob ends at @ra, so that @ra may be a return address. */
static int follows_call(
	struct runtime_reader *reader, const struct hotspot_blob *blob, uintptr_t ra)
{
	const uint8_t *before;
	uintptr_t target;

	if (ra - blob->code < ARCH_HOTSPOT_CALL_BYTES)
		return 0;
	before = runtime_view(reader, ra - ARCH_HOTSPOT_CALL_BYTES, ARCH_HOTSPOT_CALL_BYTES);
	return before && arch_hotspot_call(before, ra, &target);
}

/*
 * Returns 1 if @ra, an address in @blob, is in the barrier stub. The outermost frame that a virtual
 * thread has on the stack returns to this stub, which copies more frames from the heap to the
 * stack: see leave_barrier().
 */
static int is_barrier(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, uintptr_t ra)
{
	static const char name[] = "StubRoutines (continuation";

	return !blob->frame_bytes && !follows_call(reader, blob, ra) &&
	       begins_with(reader, load_blob_name(runtime, reader, blob), name, sizeof(name) - 1);
}

/* Returns 1 if Java code can return to @ra. */
static int is_return(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t ra)
{
	struct hotspot_compiled compiled;
	struct hotspot_blob blob;

	if (hotspot_is_interpreter(hotspot_cache(runtime, reader), ra))
		return 1;
	if (hotspot_find_blob(runtime, reader, ra, &blob))
		return 0;
	if (follows_call(reader, &blob, ra))
		return 1;
	return hotspot_read_compiled(hotspot_offsets_of(runtime), reader, &blob, &compiled)
		       ? is_barrier(runtime, reader, &blob, ra)
		       : is_given_up(&compiled, ra);
}

/*
 * Set @at to the caller, which has return address @ra, stack pointer @sp and frame pointer @fp.
 * Returns 1, or -EBADMSG if @ra or @sp is not valid.
 */
static int arrive(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, uintptr_t ra, uintptr_t sp, uintptr_t fp)
{
	if (sp <= at->sp - WORD || sp - at->sp > HOTSPOT_FRAME_MAX || sp & (WORD - 1) ||
		!is_return(runtime, reader, ra))
		return -EBADMSG;
	at->pc = ra;
	at->sp = sp;
	at->fp = fp;
	return 1;
}

/*
 * Step to the caller, whose return address is in the word below @sp and, if @is_saved, whose frame
 * pointer is in the word below the return address.
 */
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

/*
 * Returns 1 if the call before return address @ra may lead into @blob: it is an indirect call, or
 * its target is in @blob.
 */
static int is_called_from(
	struct runtime_reader *reader, const struct hotspot_blob *blob, uintptr_t ra)
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

/* Step from frameless code that any code may call: the return address is at *sp. */
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

/* Read the code around @pc within [@start, @end). Returns 0 or -errno. */
static int read_code(struct runtime_reader *reader, uintptr_t pc, uintptr_t start, uintptr_t end,
	uint8_t bytes[2 * ARCH_HOTSPOT_NEAR], struct arch_hotspot_code *out)
{
	uintptr_t from = pc - start > ARCH_HOTSPOT_NEAR ? pc - ARCH_HOTSPOT_NEAR : start;
	uintptr_t to = end - pc > ARCH_HOTSPOT_NEAR ? pc + ARCH_HOTSPOT_NEAR : end;

	*out = (struct arch_hotspot_code){bytes, (unsigned)(pc - from), (unsigned)(to - from)};
	return runtime_load(reader, from, bytes, to - from);
}

/*
 * Step from an innermost frame whose code runs straight to its return instruction. Returns 1, or
 * -ENOENT if the code does anything else or cannot be read.
 */
static int leave_by_epilogue(struct runtime_reader *reader, struct unwind_activation *at)
{
	uintptr_t start = (at->pc - ARCH_CODE_BEFORE) & ~(WORD - 1), sp, ra, fp = at->fp;
	struct arch_code code = {
		.end = ARCH_CODE_BYTES, .at = (unsigned)(at->pc - start), .exact = true};
	struct arch_epilogue epilogue;

	if (runtime_load(reader, start, code.bytes, sizeof(code.bytes)) ||
		arch_find_epilogue(&code, &epilogue) || !epilogue.ra)
		return -ENOENT;
	sp = at->sp + epilogue.cfa;
	if (sp & (WORD - 1) || runtime_load_word(reader, sp - epilogue.ra, &ra) ||
		(epilogue.fp && runtime_load_word(reader, sp - epilogue.fp, &fp)))
		return -ENOENT;
	at->pc = ra;
	at->sp = sp;
	at->fp = fp;
	return 1;
}

/* ---- the interpreter ------------------------------------------------------------------------- */
/*
 * HotSpot frees a Method when its class is unloaded, and may reuse the address. So a method is
 * identified by the addresses of its Method and of its constant pool cache only as long as the
 * number of unloaded classes does not change. (If a class is redefined, it gets another constant
 * pool cache.) If HotSpot does not count unloaded classes, a method is identified by the pointers
 * in the Method instead, and only for RUNTIME_AN_AGE walks.
 */

/* Returns the cache key of @method, or 0 if the method cannot be read. */
static uint64_t key_of(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_cache *cache, uintptr_t method)
{
	uint64_t hash = runtime_mix(runtime->base, method), words[METHOD_WORDS];

	if (runtime->objects[HOTSPOT_UNLOADED])
		return runtime_mix(hash, cache->unloaded);
	if (runtime_load(reader, method, words, sizeof(words)))
		return 0;
	for (unsigned i = 0; i < METHOD_WORDS; i++)
		hash = runtime_mix(hash, words[i]);
	return runtime_mix(hash, reader->age);
}

/*
 * Complete @frame, which find_interpreted() has begun; @known is the key of its method. Returns 0,
 * or -EBADMSG if frame->function is not a method.
 */
static int read_interpreted(const struct runtime *runtime, struct runtime_reader *reader,
	uint64_t known, struct runtime_frame *frame)
{
	uintptr_t places[2] = {frame->name, frame->lines}, method = frame->function;
	uint64_t key = frame->key, of_method = runtime_mix(known, frame->file);

	if (!hotspot_find_method(runtime, reader, of_method, method, frame)) {
		if (hotspot_read_method(runtime, reader, method, frame))
			return -EBADMSG;
		/*
		 * The memory of another process is cached. Discard the cache, so that the number of
		 * unloaded classes is read again.
		 */
		if (!reader->is_own)
			runtime_forget(reader);
		if (hotspot_load_unloaded(runtime, reader) !=
			hotspot_cache(runtime, reader)->unloaded)
			key = 0;
		else
			hotspot_keep_method(runtime, reader, of_method, frame);
	}
	for (unsigned i = 0; i < 2 && frame->position < 0; i++)
		if (places[i] - frame->code < frame->start)
			hotspot_set_position(frame, (int64_t)(places[i] - frame->code));
	if (key)
		runtime_cache_keep_number(reader, known, 1);
	frame->key = key;
	return 0;
}

/*
 * Set @out to the frame of @method. The current bytecode is at @nearer if that address is in the
 * method, otherwise at @bcp. Returns 0, or -EBADMSG if @method is not a method.
 */
static int find_interpreted(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t method, uintptr_t constants, uintptr_t nearer, uintptr_t bcp,
	struct runtime_frame *out)
{
	uint64_t known = key_of(runtime, reader, hotspot_cache(runtime, reader), method);
	uint32_t unused;

	*out = (struct runtime_frame){
		.function = method, .name = nearer, .lines = bcp, .file = constants};
	out->key = runtime_mix(runtime_mix(runtime_mix(known, constants), nearer), bcp);
	if (known && (runtime_cache_find_number(reader, known, &unused) ||
			     !read_interpreted(runtime, reader, known, out)))
		return 0;
	out->function = 0;
	return -EBADMSG;
}

/*
 * Step from a complete frame of the interpreter to its caller, which the words below the frame
 * pointer give. If the frame is the innermost one, the address of its bytecode is in a register.
 */
static int leave_framed(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_frame *out)
{
	uintptr_t slots[2 - ARCH_HOTSPOT_BCP], *fp = slots - ARCH_HOTSPOT_BCP;
	uintptr_t sender_sp;
	int error;

	if (!at->has_fp || at->fp & (WORD - 1) || at->fp < at->sp ||
		at->fp - at->sp > HOTSPOT_FRAME_MAX ||
		runtime_load(
			reader, at->fp + ARCH_HOTSPOT_BCP * (intptr_t)WORD, slots, sizeof(slots)))
		return -EBADMSG;
	sender_sp = fp[ARCH_HOTSPOT_SENDER_SP];
	/*
	 * sender_sp is usually at least fp + 2 words. It may be one word lower, because the call of
	 * a method handle removes its last argument.
	 */
	if (sender_sp < at->fp + WORD ||
		find_interpreted(runtime, reader, fp[ARCH_HOTSPOT_METHOD], fp[ARCH_HOTSPOT_CACHE],
			at->innermost ? at->innermost->r[ARCH_HOTSPOT_BCP_REG] : 0,
			fp[ARCH_HOTSPOT_BCP], out))
		return -EBADMSG;
	error = arrive(runtime, reader, at, fp[1], sender_sp, fp[0]);
	if (error < 0)
		out->function = 0;
	return error;
}

static int leave_interpreter(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_frame *out)
{
	const struct hotspot_cache *cache = hotspot_cache(runtime, reader);
	uint8_t bytes[2 * ARCH_HOTSPOT_NEAR];
	struct arch_hotspot_code code;
	struct arch_hotspot_edge edge;

	if (at->innermost &&
		!read_code(
			reader, at->pc, cache->interpreter, cache->interpreter_end, bytes, &code) &&
		arch_hotspot_interpreter_edge(&code, at->innermost, &edge)) {
		if (edge.method_at)
			edge.method = hotspot_load_pointer(reader, edge.method_at);
		find_interpreted(runtime, reader, edge.method, 0, 0, 0, out);
		return arrive_by_edge(runtime, reader, at, &edge);
	}
	return leave_framed(runtime, reader, at, out);
}

/* ---- compiled methods ------------------------------------------------------------------------ */

/*
 * Returns the end of the prologue that contains the innermost @pc, or 0 if @pc is in no prologue.
 * In OSR compilations of C1, the code at the loop entry starts with a copy of the prologue.
 */
static uintptr_t find_begun(
	const struct hotspot_blob *blob, const struct hotspot_compiled *compiled, uintptr_t pc)
{
	uintptr_t end = blob->code + (uintptr_t)(intptr_t)blob->complete, within, bytes;

	if (blob->complete < 0 || pc < end)
		return blob->complete < 0 ? 0 : end;
	if (!compiled)
		return 0;
	within = compiled->loop_entry;
	bytes = end - compiled->entry;
	return within >= end && pc - within < bytes && bytes <= ENTRY_MAX ? within + bytes : 0;
}

/*
 * Add to *@remaining the bytes of the frame that the code from @pc to @end will allocate. Clear
 * *@is_fp_saved if this code will save the frame pointer. Returns 0, or -ENOENT if the code cannot
 * be decoded.
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

/*
 * Step to the caller of a frame of @blob, whose frame size is known. @begun is the result of
 * find_begun(); 0 for a complete frame.
 */
static int leave_sized(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, uintptr_t begun, struct unwind_activation *at)
{
	uint32_t remaining = 0;
	int is_saved = 1;

	if (begun && find_remaining(reader, at->pc, begun, &remaining, &is_saved))
		return -EBADMSG;
	if (remaining > blob->frame_bytes - WORD)
		return -EBADMSG;
	return arrive_at(runtime, reader, at, at->sp + blob->frame_bytes - remaining, is_saved);
}

/*
 * Step by decoding the code up to its return. String comparison compiled by C2 pushes a register
 * around its loop, so the stack has more bytes than the frame size of the blob.
 */
static int leave_pushed(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct unwind_activation *at)
{
	const struct arch_text text = {blob->code, blob->code_end, load_code, reader};
	struct arch_epilogue out;

	if (arch_follow_code(&text, at->pc, &out) || out.cfa <= blob->frame_bytes ||
		out.cfa - blob->frame_bytes > PUSHED_MAX)
		return -EBADMSG;
	return arrive_at(runtime, reader, at, at->sp + out.cfa, 1);
}

/*
 * Returns a key for @compiled. Compile ids are unique, except that an OSR compilation may share its
 * id with another compilation, so the key also contains the loop entry.
 */
static uint64_t key_of_compiled(
	const struct hotspot_blob *blob, const struct hotspot_compiled *compiled)
{
	return runtime_mix(
		runtime_mix(runtime_mix(0, blob->at), compiled->number), compiled->loop_entry);
}

/*
 * Set @out to the compiled method at @pc, with a cache key that has few values. The frame of a
 * caller has one of few return addresses, so its key contains the pc. An innermost frame may be at
 * any pc, so its key contains the scope at the pc instead.
 */
static void fill_compiled(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, const struct hotspot_compiled *compiled, uintptr_t pc,
	int is_innermost, struct runtime_frame *out)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uint64_t key = key_of_compiled(blob, compiled);

	out->function = compiled->method;
	out->code = blob->at;
	out->position = -1;
	if (!pc)
		out->start = HOTSPOT_NO_SCOPE;
	else if (is_innermost)
		out->start = hotspot_find_scope(at, reader, compiled, pc);
	else
		out->position = (int32_t)(pc - blob->code);
	out->key = runtime_mix(runtime_mix(key, compiled->method),
		(uint64_t)out->start << 32 | (uint32_t)out->position);
}

static int leave_compiled(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, const struct hotspot_compiled *compiled,
	struct unwind_activation *at, struct runtime_frame *out)
{
	uintptr_t begun = at->innermost ? find_begun(blob, compiled, at->pc) : 0, pc = at->pc;
	int left;

	/*
	 * Stubs follow the method's own code. Some of them are reached by a call and have no frame.
	 */
	if (at->innermost && pc >= compiled->stubs)
		return leave_by_any_call(reader, at);
	/*
	 * The return address of a deoptimised frame was replaced. The frame contains the original
	 * one.
	 */
	if (!at->innermost && is_given_up(compiled, pc))
		pc = hotspot_load_pointer(reader, at->sp + compiled->original_pc);
	fill_compiled(runtime, reader, blob, compiled, begun ? 0 : pc, at->innermost != NULL, out);
	if (!blob->frame_bytes)
		return arrive_at(runtime, reader, at, at->sp + WORD, 0);
	left = leave_sized(runtime, reader, blob, begun, at);
	return left < 0 && at->innermost && !begun ? leave_pushed(runtime, reader, blob, at) : left;
}

/* ---- stubs ----------------------------------------------------------------------------------- */

/* Set @out to a frame without a method. @name is a value that hotspot_text() accepts. */
static void set_text(const struct runtime *runtime, uintptr_t name, struct runtime_frame *out)
{
	*out = (struct runtime_frame){
		.function = name,
		.identity = runtime_mix(name, runtime->base),
		.position = -1,
		.name = name,
	};
	out->key = out->identity;
}

static int is_adapter(struct runtime_reader *reader, uintptr_t name)
{
	static const char adapter[] = "I2C/C2I";

	return begins_with(reader, name, adapter, sizeof(adapter) - 1);
}

/*
 * Step by the frame record at @at->fp, if the call before its return address may lead into @blob.
 */
static int leave_by_fp(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct unwind_activation *at)
{
	/* Frame pointer and return address, or frame pointer, mark and return address. */
	uintptr_t words[3];
	unsigned marked;

	if (!at->has_fp || at->fp < at->sp || at->fp & (WORD - 1) ||
		runtime_load(reader, at->fp, words, sizeof(words)))
		return -EBADMSG;
	/* The entry barrier of compiled methods pushes a mark (gc/shared/barrierSetNMethod). */
	marked = words[1] == UINTPTR_MAX;
	if (!is_called_from(reader, blob, words[1 + marked]))
		return -EBADMSG;
	at->has_fp = 1;
	return arrive(
		runtime, reader, at, words[1 + marked], at->fp + (2 + marked) * WORD, words[0]);
}

/* Step from frameless code that the interpreter calls or jumps to: the return address is at *sp. */
static int leave_by_sp(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct unwind_activation *at)
{
	uintptr_t ra;

	if (runtime_load_word(reader, at->sp, &ra) ||
		(!hotspot_is_interpreter(hotspot_cache(runtime, reader), ra) &&
			!is_called_from(reader, blob, ra)))
		return -EBADMSG;
	at->pc = ra;
	at->sp += WORD;
	return 1;
}

/* Step from the call stub, through which libjvm calls Java, to libjvm. */
static int leave_call_stub(struct runtime_reader *reader, struct unwind_activation *at)
{
	uintptr_t words[2];

	if (!at->has_fp || at->fp < at->sp || at->fp - at->sp > HOTSPOT_FRAME_MAX ||
		runtime_load(reader, at->fp, words, sizeof(words)))
		return -EBADMSG;
	at->sp = at->fp + sizeof(words);
	at->fp = words[0];
	at->pc = words[1];
	return 1;
}

/*
 * A virtual thread runs on the stack of a carrier thread, above a frame of
 * Continuation.enterSpecial. While the virtual thread waits, its frames lie in the JVM's heap. When
 * it resumes, the JVM may copy only the innermost frames back to the stack:
 *
 *	Continuation.run		of the carrier
 *	Continuation.enterSpecial
 *	[frozen frames]			all of them in the heap
 *	outermost frame on the stack	returns to a stub that copies more of them (the barrier)
 *	…
 *
 * HotSpot's tables do not describe the frames in the heap, so they are reported as "[frozen
 * frames]". If the tables have the return address in enterSpecial, the walk continues there.
 * Otherwise, the stack ends here and is marked as incomplete.
 */
static int leave_barrier(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_frame *out)
{
	uint32_t entered = hotspot_offsets_of(runtime)->entered;
	struct hotspot_compiled compiled;
	struct hotspot_blob blob;
	uintptr_t ra;

	set_text(runtime, HOTSPOT_FROZEN, out);
	ra = entered ? hotspot_load_pointer(reader, runtime->base + entered) : 0;
	if (!ra || hotspot_find_blob(runtime, reader, ra, &blob) ||
		hotspot_read_compiled(hotspot_offsets_of(runtime), reader, &blob, &compiled))
		return -EBADMSG;
	at->pc = ra;
	return 1;
}

static int leave_stub(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, struct unwind_activation *at, struct runtime_frame *out)
{
	uintptr_t name = load_blob_name(runtime, reader, blob);
	uint8_t bytes[2 * ARCH_HOTSPOT_NEAR];
	struct arch_hotspot_code code;
	struct arch_hotspot_edge edge;
	int left = -EBADMSG;

	if (!at->innermost && is_barrier(runtime, reader, blob, at->pc))
		return leave_barrier(runtime, reader, at, out);
	set_text(runtime, name | HOTSPOT_TEXT, out);
	if (at->pc == runtime->objects[HOTSPOT_CALL_STUB]) {
		set_text(runtime, HOTSPOT_TEXT, out);
		return leave_call_stub(reader, at);
	}
	if (blob->frame_bytes && (!at->innermost || blob->complete >= 0))
		left = leave_sized(runtime, reader, blob,
			at->innermost ? find_begun(blob, NULL, at->pc) : 0, at);
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

/* ---- functions of the reader ----------------------------------------------------------------- */

/*
 * Step from an innermost frame to @caller, which leave_by_epilogue() found. Set @out to the method.
 */
static int leave_straight(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, const struct unwind_activation *caller,
	struct runtime_frame *out)
{
	struct hotspot_compiled compiled;
	struct hotspot_blob blob;

	if (hotspot_is_interpreter(hotspot_cache(runtime, reader), at->pc)) {
		/*
		 * Find the caller by the slots of the interpreter's frame, if they are valid. @at
		 * may be in a subroutine of the interpreter. Then @caller, to which it returns, is
		 * in the code of the interpreter and belongs to the same Java frame.
		 */
		if (leave_framed(runtime, reader, at, out) > 0)
			return 1;
	} else if (hotspot_find_blob(runtime, reader, at->pc, &blob)) {
		return 0;
	} else if (hotspot_read_compiled(hotspot_offsets_of(runtime), reader, &blob, &compiled)) {
		set_text(runtime, load_blob_name(runtime, reader, &blob) | HOTSPOT_TEXT, out);
	} else {
		fill_compiled(runtime, reader, &blob, &compiled, at->pc, 1, out);
	}
	*at = *caller;
	return 1;
}

/* Step from a frame of generated code, and set @out to the method that the frame executes. */
static int leave_code(const struct runtime *runtime, struct runtime_reader *reader,
	struct unwind_activation *at, struct runtime_frame *out)
{
	const struct hotspot_cache *cache = hotspot_cache(runtime, reader);
	struct unwind_activation caller = *at;
	struct hotspot_compiled compiled;
	struct hotspot_blob blob;

	*out = (struct runtime_frame){0};
	if (!hotspot_find_heap(cache, reader, at->pc))
		return 0;
	if (at->innermost && leave_by_epilogue(reader, &caller) > 0)
		return leave_straight(runtime, reader, at, &caller, out);
	if (hotspot_is_interpreter(cache, at->pc))
		return leave_interpreter(runtime, reader, at, out);
	if (hotspot_find_blob(runtime, reader, at->pc, &blob))
		return 0;
	if (!hotspot_read_compiled(hotspot_offsets_of(runtime), reader, &blob, &compiled))
		return leave_compiled(runtime, reader, &blob, &compiled, at, out);
	return leave_stub(runtime, reader, &blob, at, out);
}

/* Read @method, of which @blob has code. The method lives as long as @blob. Returns 0 or -errno. */
static int read_compiled_method(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, const struct hotspot_compiled *compiled, uintptr_t method,
	struct runtime_frame *out)
{
	uint64_t key = key_of_compiled(blob, compiled);
	int error;

	if (hotspot_find_method(runtime, reader, key, method, out))
		return 0;
	error = hotspot_read_method(runtime, reader, method, out);
	if (!error)
		hotspot_keep_method(runtime, reader, key, out);
	return error;
}

/*
 * Read the scope at *@scope, and set *@scope to the caller's scope. A scope consists of three
 * numbers (code/debugInfo.hpp): the caller's scope, the index of the method, and the bytecode index
 * + 1. Returns 0 or -errno.
 */
static int read_scope(const struct runtime *runtime, struct runtime_reader *reader,
	const struct hotspot_blob *blob, const struct hotspot_compiled *compiled, uint32_t *scope,
	struct runtime_frame *out)
{
	int error;
	uintptr_t next = compiled->scopes + *scope;
	uint32_t values[3]; /* caller, method, bytecode index + 1 */

	for (unsigned i = 0; i < 3; i++)
		if (hotspot_read_number(hotspot_offsets_of(runtime), reader, &next, &values[i]))
			return -EFAULT;
	/*
	 * Reject a scope that does not lie after its caller's scope, to end loops in invalid data.
	 */
	if (values[0] >= *scope || !values[1] || values[1] > HOTSPOT_PCS_MAX)
		return -EBADMSG;
	*scope = values[0];
	error = read_compiled_method(runtime, reader, blob, compiled,
		hotspot_load_pointer(reader, compiled->metadata + (values[1] - 1) * WORD), out);
	if (!error)
		hotspot_set_position(out, (int32_t)values[2] - 1);
	return error;
}

static int frames_of_compiled(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame, struct runtime_frame *out, unsigned room)
{
	const struct hotspot_offsets *at = hotspot_offsets_of(runtime);
	uint32_t scope = frame->start;
	struct hotspot_compiled compiled;
	struct hotspot_blob blob;
	unsigned count = 0;

	/*
	 * After hotspot_find_heap(), the blob's header is read by plain loads, because it lies in
	 * the same heap as the blob's code.
	 */
	if (!hotspot_find_heap(hotspot_cache(runtime, reader), reader, frame->code))
		return -EBADMSG;
	blob = (struct hotspot_blob){.at = frame->code, .header_bytes = at->nmethod_size};
	if (hotspot_read_compiled(at, reader, &blob, &compiled))
		return -EBADMSG;
	if (frame->position >= 0)
		scope = hotspot_find_scope(
			at, reader, &compiled, compiled.code + (uint32_t)frame->position);
	for (; scope != HOTSPOT_NO_SCOPE && count < room; count++)
		if (read_scope(runtime, reader, &blob, &compiled, &scope, &out[count]))
			return -EBADMSG;
	/*
	 * Report all inlined methods; or, if they do not fit into @room, only the outermost method.
	 */
	if (count && scope == HOTSPOT_NO_SCOPE)
		return (int)count;
	return read_compiled_method(runtime, reader, &blob, &compiled, frame->function, out)
		       ? -EBADMSG
		       : 1;
}

static int frames_of_hotspot(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_frame *frame, struct runtime_frame *out, unsigned room)
{
	if (!room)
		return 0;
	if (!(frame->function & HOTSPOT_TEXT) && !frame->identity && frame->code)
		return frames_of_compiled(runtime, reader, frame, out, room);
	if (!frame->identity &&
		read_interpreted(runtime, reader,
			key_of(runtime, reader, hotspot_cache(runtime, reader), frame->function),
			frame))
		return -EBADMSG;
	out[0] = *frame;
	return 1;
}

static int step_hotspot(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct unwind_activation *at)
{
	return at->question == UNWIND_GENERATED ? leave_code(runtime, reader, at, &stack->found)
						: 0;
}

/* step_hotspot() has already found the method of the frame. */
static int enter_hotspot(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, const struct unwind_frame *frame)
{
	(void)runtime, (void)reader;
	stack->key = stack->found.key;
	return frame->is_generated && stack->found.function;
}

static int next_hotspot(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	int count = frames_of_hotspot(runtime, reader, &stack->found, out, room);

	stack->key = stack->found.key;
	return count;
}

const struct runtime_kind runtime_hotspot = {
	.name = "java",
	.known = "17, 21, 25 and 26",
	.find = hotspot_find,
	.enter = enter_hotspot,
	.next = next_hotspot,
	.step = step_hotspot,
	.line = hotspot_line,
	.text = hotspot_text,
};
