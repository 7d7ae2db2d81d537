/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * CPython 3.8 to 3.13. One C activation of the evaluator runs one frame (to 3.10) or a run of
 * frames that call each other (3.11 and later). What lies in the activation's stack frame, its
 * place, is the structure that the evaluator keeps as a local variable: struct CFrame (3.10 to
 * 3.12), or from 3.13 on a frame of its own, owned by the C stack, at which the run ends.
 *
 *	3.8    tstate ─▶ frame ─f_back─▶ frame …        one each, no place: they are counted
 *	3.10   tstate ─▶ cframe ─previous─▶ cframe …     one each
 *	              └▶ frame  ─f_back───▶ frame …
 *	3.11   tstate ─▶ cframe ─▶ current_frame ─previous─▶ … frame with is_entry; cframe->previous
 *	3.12   the same, up to a frame with owner FRAME_OWNED_BY_CSTACK
 *	3.13   tstate ─▶ current_frame ─previous─▶ … frame with that owner, then the next run's
 *
 * Offsets are what 3.13 publishes (struct _Py_DebugOffsets, in pycore_runtime.h), before that by
 * version. All of it is read while anything may change, so every step is held against something
 * else: a code object against its type, a run's end against the next activation.
 */
#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "libprof/runtime/cpython.h"

#define MINOR_MIN 8u
#define MINOR_MAX 13u

static const struct cpython_offsets offsets_by_minor[MINOR_MAX] = {
#include "libprof/runtime/cpython_offsets.inc"
};

#define INTERPRETERS_MAX 64u
#define THREADS_MAX	 1024u
#define RUN_MAX		 20000u /* frames of one, looked through for its end */
#define RUNS_MAX	 4096u
#define OWNED_BY_CSTACK	 3u
#define STATUS_ACTIVE	 (1u << 4) /* of PyThreadState._status, from 3.12 on */
#define NEAR_BYTES	 8192u	   /* what an activation's own variables lie apart */

/* Of code that is read at once, and of the longest instruction. */
#define SETUP_PIECE	  256u
#define INSTRUCTION_BYTES 16u

/* As much of a frame and of a code object as is looked at. */
#define FRAME_BYTES 112u
#define CODE_BYTES  144u

/* ---- finding it ------------------------------------------------------------------------------ */

/* As far as they are of use, from the beginning of _PyRuntime of 3.13. */
struct debug_offsets {
	char cookie[8];
	uint64_t version, free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
	struct {
		uint64_t size, id, next, threads_head, gc, imports, sysdict, builtins, ceval_gil,
			gil_state, gil_enabled, gil_locked, gil_holder;
	} interpreter;
	struct {
		uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id,
			datastack_chunk, status;
	} thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount,
			localsplusnames, localspluskinds, co_code_adaptive;
	} code;
	struct {
		uint64_t size, ob_type;
	} object;
	struct {
		uint64_t size, tp_name, tp_repr, tp_flags;
	} type;
	struct {
		uint64_t size, ob_item, ob_size;
	} tuple, list;
	struct {
		uint64_t size, ma_keys, ma_values;
	} dict;
	struct {
		uint64_t size, ob_fval;
	} floating;
	struct {
		uint64_t size, lv_tag, ob_digit;
	} integer;
	struct {
		uint64_t size, ob_size, ob_sval;
	} bytes;
	struct {
		uint64_t size, state, length, asciiobject_size;
	} unicode;
};
_Static_assert(sizeof(struct debug_offsets) <= 2 * RUNTIME_WINDOW_BYTES, "two loads");

/* Do all fields lie in what is read of a frame and of a code object? */
static int is_within(const struct cpython_offsets *at)
{
	const uint32_t of_frame[] = {at->previous, at->code, at->instruction, at->owner};
	const uint32_t of_code[] = {at->first_line, at->file, at->name, at->lines};
	int is_so = 1;

	for (unsigned i = 0; i < 4; i++)
		is_so &= of_frame[i] <= FRAME_BYTES - sizeof(uintptr_t) &&
			 of_code[i] <= CODE_BYTES - sizeof(uintptr_t);
	return is_so;
}

/* What it says has to be what a structure of that size can be. */
static int take_published(const struct debug_offsets *said, struct cpython_offsets *out)
{
	if (memcmp(said->cookie, "xdebugpy", sizeof(said->cookie)) || said->free_threaded ||
		said->object.ob_type != TYPE_OFFSET || said->bytes.ob_size != SIZE_OFFSET ||
		said->bytes.ob_sval != BYTES_OFFSET || said->thread.size > 4096 ||
		said->frame.size > 256 || said->code.size > 512)
		return -ENOTSUP;
	*out = (struct cpython_offsets){
		.finalizing = (uint32_t)said->runtime.finalizing,
		.interpreters = (uint32_t)said->runtime.interpreters_head,
		.interpreter_next = (uint32_t)said->interpreter.next,
		.threads = (uint32_t)said->interpreter.threads_head,
		.locked = (uint32_t)said->interpreter.gil_locked,
		.holder = (uint32_t)said->interpreter.gil_holder,
		.thread_next = (uint32_t)said->thread.next,
		.thread_id = (uint32_t)said->thread.thread_id,
		.native_id = (uint32_t)said->thread.native_thread_id,
		.status = (uint32_t)said->thread.status,
		.innermost = (uint32_t)said->thread.current_frame,
		.previous = (uint32_t)said->frame.previous,
		.code = (uint32_t)said->frame.executable,
		.instruction = (uint32_t)said->frame.instr_ptr,
		.owner = (uint32_t)said->frame.owner,
		.first_line = (uint32_t)said->code.firstlineno,
		.file = (uint32_t)said->code.filename,
		.name = (uint32_t)said->code.qualname,
		.lines = (uint32_t)said->code.linetable,
		.bytecode = (uint32_t)said->code.co_code_adaptive,
		.text_state = (uint32_t)said->unicode.state,
		.ascii = (uint32_t)said->unicode.asciiobject_size,
		/* It adds the length and place of a text in UTF-8. */
		.wide = (uint32_t)said->unicode.asciiobject_size + 16,
	};
	return is_within(out) ? 0 : -ENOTSUP;
}

static int read_published(struct runtime *out, struct runtime_reader *reader)
{
	struct debug_offsets said;
	const size_t half = sizeof(said) / 2;

	if (runtime_load(reader, out->base, &said, half) ||
		runtime_load(reader, out->base + half, (char *)&said + half, sizeof(said) - half))
		return -EFAULT;
	return take_published(&said, (struct cpython_offsets *)out->offsets);
}

/* From 3.11 on it says so; before, by what came when. */
static uint32_t minor_of(struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t at = runtime_symbol(symbols, reader, "Py_Version", NULL), version;

	if (at)
		return !runtime_load_word(reader, at, &version) && version >> 24 == 3
			       ? (uint32_t)(version >> 16) & 0xff
			       : 0;
	if (runtime_symbol(symbols, reader, "PyIter_Send", NULL))
		return 10;
	if (runtime_symbol(symbols, reader, "PyObject_CallNoArgs", NULL))
		return 9;
	return runtime_symbol(symbols, reader, "PyCode_NewWithPosOnlyArgs", NULL) ? 8 : 0;
}

/*
 * An activation is set up, and linked, before the first instruction of its own is gone to: by a
 * jump to where a table says.
 */
static uintptr_t find_setup_end(struct runtime_reader *reader, uintptr_t entry)
{
	uint8_t code[SETUP_PIECE];
	uintptr_t at = entry, piece = 0;

	while (at - entry < RUNTIME_SETUP_MAX) {
		struct arch_instruction one;

		if (!piece || at - piece > sizeof(code) - INSTRUCTION_BYTES) {
			if (runtime_load(reader, at, code, sizeof(code)))
				break;
			piece = at;
		}
		one = arch_decode(code + (at - piece), INSTRUCTION_BYTES);
		if (!one.bytes)
			break;
		at += one.bytes;
		if (one.effect == ARCH_EFFECT_JUMP_ANYWHERE)
			return at;
	}
	return entry + RUNTIME_SETUP_MAX;
}

static int find_cpython(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uint64_t bytes = 0;

	out->base = runtime_symbol(symbols, reader, "_PyRuntime", &bytes);
	if (!out->base)
		return -ENOENT;
	out->base_bytes = bytes;
	out->code_type = runtime_symbol(symbols, reader, "PyCode_Type", NULL);
	out->entry = runtime_symbol(symbols, reader, "_PyEval_EvalFrameDefault", &bytes);
	out->entry_end = out->entry + bytes;
	out->setup_end = out->entry ? find_setup_end(reader, out->entry) : 0;
	out->version = minor_of(reader, symbols);
	if (!out->code_type || !out->entry || out->version < MINOR_MIN || out->version > MINOR_MAX)
		return -ENOTSUP;
	if (out->version == MINOR_MAX)
		return read_published(out, reader);
	memcpy(out->offsets, &offsets_by_minor[out->version], sizeof(struct cpython_offsets));
	out->is_counted = out->version < 10;
	return 0;
}

/* ---- a thread's innermost run ---------------------------------------------------------------- */

/* No run is left. */
static void end_runs(struct runtime_stack *stack)
{
	stack->frame = stack->activation = 0;
	stack->place = UINTPTR_MAX;
}

/*
 * 3.13: the place of the run that begins at stack->frame is the frame at its end. The innermost one
 * may be just begun.
 */
static int find_place(const struct cpython_offsets *at, struct runtime_reader *reader,
	struct runtime_stack *stack)
{
	uintptr_t frame = stack->frame;
	int was_trusted = reader->is_trusted, error = 0;
	char bytes[FRAME_BYTES];

	stack->place = 0;
	for (unsigned n = 0; n < RUN_MAX && frame && !error; n++) {
		error = runtime_load(reader, frame, bytes, at->owner + 1);
		if (!error && bytes[at->owner] == OWNED_BY_CSTACK) {
			stack->place = frame;
			break;
		}
		frame = runtime_word_in(bytes, at->previous);
		reader->is_trusted = reader->may_trust;
	}
	reader->is_trusted = was_trusted;
	if (error)
		return -EFAULT;
	if (stack->place)
		return 0;
	if (!stack->frame)
		end_runs(stack);
	return stack->frame ? -EBADMSG : 0;
}

/* Stand at the run of @activation, a cframe. The last one is part of the thread state, and none. */
static int enter_cframe(const struct cpython_offsets *at, struct runtime_reader *reader,
	uintptr_t activation, struct runtime_stack *stack)
{
	uintptr_t previous;

	if (runtime_load_word(reader, activation + at->cframe_previous, &previous))
		return -EFAULT;
	if (!previous) {
		end_runs(stack);
		return 0;
	}
	stack->activation = stack->place = activation;
	return at->bytecode
		       ? runtime_load_word(reader, activation + at->cframe_frame, &stack->frame)
		       : 0;
}

static int enter_state(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t state, struct runtime_stack *out)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t innermost, cframe;

	*out = (struct runtime_stack){.state = state};
	runtime_expect(reader, state, at->thread_id + 2 * sizeof(uintptr_t));
	if (runtime_load_word(reader, state + at->innermost, &innermost))
		return -EFAULT;
	out->frame = innermost;
	if (runtime->is_counted)
		out->place = innermost ? RUNTIME_PLACE_COUNTED : UINTPTR_MAX;
	if (runtime->is_counted)
		return 0;
	if (!at->cframe) {
		reader->is_trusted = 0;
		return find_place(at, reader, out);
	}
	if (runtime_load_word(reader, state + at->cframe, &cframe))
		return -EFAULT;
	return enter_cframe(at, reader, cframe, out);
}

/* Is @state that of @thread? Of one of which nothing is known any may be. */
static int is_of(const struct cpython_offsets *at, struct runtime_reader *reader, uintptr_t state,
	const struct runtime_thread *thread)
{
	uintptr_t id;

	if (thread->self)
		return !runtime_load_word(reader, state + at->thread_id, &id) && id == thread->self;
	return !thread->tid || !at->native_id ||
	       (!runtime_load_word(reader, state + at->native_id, &id) && id == thread->tid);
}

/* Stand at the next run without telling this one. */
static int skip_run(
	const struct runtime *runtime, struct runtime_reader *reader, struct runtime_stack *stack)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t previous;

	if (!at->cframe) {
		if (runtime_load_word(reader, stack->place + at->previous, &stack->frame))
			return -EFAULT;
		return find_place(at, reader, stack);
	}
	if (!at->bytecode && runtime_load_word(reader, stack->frame + at->previous, &stack->frame))
		return -EFAULT;
	if (runtime_load_word(reader, stack->activation + at->cframe_previous, &previous))
		return -EFAULT;
	return enter_cframe(at, reader, previous, stack);
}

/* As enter_state(), at the first run that has its place from @sp on, if one has. */
static int enter_above(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t state, uintptr_t sp, struct runtime_stack *out)
{
	int error = enter_state(runtime, reader, state, out);

	for (unsigned n = 0; n < RUNS_MAX && !error && out->place < sp; n++)
		error = skip_run(runtime, reader, out);
	return error;
}

typedef void state_fn(void *context, uintptr_t state);

/* @fn for the states of all interpreters. Returns 0 or -EFAULT, after some. */
static int for_each_state(
	const struct runtime *runtime, struct runtime_reader *reader, state_fn *fn, void *context)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t interpreter, state;
	unsigned states = 0;

	if (runtime_load_word(reader, runtime->base + at->interpreters, &interpreter))
		return -EFAULT;
	for (unsigned n = 0; n < INTERPRETERS_MAX && interpreter; n++) {
		if (runtime_load_word(reader, interpreter + at->threads, &state))
			return -EFAULT;
		while (state && states++ < THREADS_MAX) {
			fn(context, state);
			if (runtime_load_word(reader, state + at->thread_next, &state))
				return -EFAULT;
		}
		if (runtime_load_word(reader, interpreter + at->interpreter_next, &interpreter))
			return -EFAULT;
	}
	return 0;
}

struct nearest {
	const struct runtime *runtime;
	struct runtime_reader *reader;
	const struct runtime_thread *thread;
	uintptr_t sp;
	struct runtime_stack *out;
};

static void take_nearer(void *context, uintptr_t state)
{
	const struct nearest *nearest = context;
	struct runtime_stack stack;

	if (is_of(cpython_offsets_of(nearest->runtime), nearest->reader, state, nearest->thread) &&
		!enter_above(nearest->runtime, nearest->reader, state, nearest->sp, &stack) &&
		stack.place >= nearest->sp && stack.place < nearest->out->place)
		*nearest->out = stack;
}

/* The nearest place from @sp on, among the states of all interpreters that may be @thread's. */
static int find_nearest(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, struct runtime_stack *out)
{
	struct nearest nearest = {runtime, reader, thread, sp, out};
	int error;

	end_runs(out);
	error = for_each_state(runtime, reader, take_nearer, &nearest);
	return error || out->frame ? error : -ENOENT;
}

struct state_list {
	const struct cpython_offsets *at;
	struct runtime_reader *reader;
	struct runtime_state *out;
	unsigned count, room;
};

static void add_state(void *context, uintptr_t state)
{
	struct state_list *list = context;
	uintptr_t tid;

	runtime_expect(list->reader, state, list->at->native_id + sizeof(tid));
	if (list->count < list->room &&
		!runtime_load_word(list->reader, state + list->at->native_id, &tid))
		list->out[list->count++] = (struct runtime_state){(uint32_t)tid, state};
}

static unsigned states_of_cpython(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_state *out, unsigned room)
{
	struct state_list list = {cpython_offsets_of(runtime), reader, out, 0, room};

	if (list.at->native_id)
		for_each_state(runtime, reader, add_state, &list);
	return list.count;
}

/* The only interpreter of the process; 0: there are several, or none. */
static uintptr_t find_interpreter(const struct runtime *runtime, struct runtime_reader *reader)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t interpreter, next;

	return !runtime_load_word(reader, runtime->base + at->interpreters, &interpreter) &&
			       interpreter &&
			       !runtime_load_word(
				       reader, interpreter + at->interpreter_next, &next) &&
			       !next
		       ? interpreter
		       : 0;
}

/*
 * Does the thread of @state hold its interpreter's lock? Then nobody ends it, nor frees what it
 * runs. Nothing of @state is read where @interpreter, the only one, is known.
 */
static int has_lock(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t interpreter, uintptr_t state)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t current;
	uint32_t word;

	if (at->current)
		return !runtime_load_word(reader, runtime->base + at->current, &current) &&
		       current == state;
	if (interpreter)
		return !runtime_load(reader, interpreter + at->locked, &word, sizeof(word)) &&
		       word && !runtime_load_word(reader, interpreter + at->holder, &current) &&
		       current == state;
	return !runtime_load(reader, state + at->status, &word, sizeof(word)) &&
	       word & STATUS_ACTIVE;
}

/*
 * Where the last walk found the thread's state it may still be. Of who is not known by its number
 * nothing proves that but a place on its stack, which the walk has to come to.
 */
static int enter_known(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
	struct runtime_stack *out)
{
	if (!thread->self)
		return enter_above(runtime, reader, known, sp, out) || !out->frame ? -ENOENT : 0;
	if (!is_of(cpython_offsets_of(runtime), reader, known, thread))
		return -ENOENT;
	return enter_state(runtime, reader, known, out);
}

static int find_state(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, struct runtime_stack *out)
{
	const struct runtime_thread nobody = {0, 0};
	int error = find_nearest(runtime, reader, thread, sp, out);

	/* After a fork states have the tids of their parents. */
	if (error && !thread->self && thread->tid)
		error = find_nearest(runtime, reader, &nobody, sp, out);
	return error;
}

/* As begin(), where the thread is known to be alive and to stay so: its state is read plainly. */
static int begin_trusted(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
	struct runtime_stack *out)
{
	int error;

	reader->is_trusted = reader->is_own;
	error = enter_known(runtime, reader, thread, sp, known, out);
	reader->is_trusted = 0;
	return error;
}

static int begin_cpython(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
	struct runtime_stack *out)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	const struct runtime_thread nobody = {0, 0};
	int may_trust = reader->may_trust, error;
	uintptr_t finalizing, interpreter;

	runtime_expect(reader, runtime->base + at->finalizing,
		at->interpreters + sizeof(uintptr_t) - at->finalizing);
	if (runtime_load_word(reader, runtime->base + at->finalizing, &finalizing) || finalizing)
		return -EBUSY;
	interpreter = find_interpreter(runtime, reader);
	/* Who is to be counted has to be known. */
	if (runtime->is_counted && (!interpreter || !thread->self))
		return -ENOTSUP;
	if (interpreter && known && thread->self && has_lock(runtime, reader, interpreter, known) &&
		!begin_trusted(runtime, reader, thread, sp, known, out))
		return out->frame ? 0 : -ENOENT;
	reader->may_trust = 0;
	/* Where there are several, a state runs in any thread that enters its interpreter. */
	if (!interpreter) {
		error = find_nearest(runtime, reader, &nobody, sp, out);
		out->is_shared = 1;
	} else if (known && !enter_known(runtime, reader, thread, sp, known, out)) {
		error = out->frame ? 0 : -ENOENT;
	} else {
		error = find_state(runtime, reader, thread, sp, out);
	}
	reader->may_trust =
		may_trust && !error && has_lock(runtime, reader, interpreter, out->state);
	return error;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int read_code(
	const struct runtime *runtime, struct runtime_reader *reader, struct runtime_frame *out)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	char code[CODE_BYTES];

	if (runtime_load(reader, out->function, code, sizeof(code)))
		return -EFAULT;
	if (runtime_word_in(code, TYPE_OFFSET) != runtime->code_type)
		return -EBADMSG;
	out->name = runtime_word_in(code, at->name);
	out->file = runtime_word_in(code, at->file);
	out->lines = runtime_word_in(code, at->lines);
	out->first_line = runtime_int_in(code, at->first_line);
	out->identity = runtime_mix(runtime_mix(out->function, out->first_line), out->name);
	out->identity = runtime_mix(out->identity, out->file);
	return 0;
}

/* The run is over: the next one is that of the activation before. @frame is its innermost. */
static int leave_run(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, uintptr_t frame)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t previous;
	int error;

	if (runtime->is_counted) {
		stack->place = frame ? RUNTIME_PLACE_COUNTED : UINTPTR_MAX;
		return 0;
	}
	if (!at->cframe) {
		stack->frame = frame;
		return find_place(at, reader, stack);
	}
	if (runtime_load_word(reader, stack->activation + at->cframe_previous, &previous))
		return -EFAULT;
	stack->frame = frame;
	error = enter_cframe(at, reader, previous, stack);
	return error || stack->frame == frame || stack->place == UINTPTR_MAX ? error : -EBADMSG;
}

/* What @frame holds of the instruction that it is at. */
static int32_t position_of(const struct cpython_offsets *at, const char *frame, uintptr_t code)
{
	uintptr_t offset;

	if (!at->bytecode)
		return (int32_t)runtime_int_in(frame, at->instruction);
	offset = runtime_word_in(frame, at->instruction) - (code + at->bytecode);
	return offset < 1u << 30 ? (int32_t)(offset / 2) : -1;
}

static int next_cpython(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	char frame[FRAME_BYTES];
	int error;

	if (stack->is_over) {
		stack->is_over = 0;
		return leave_run(runtime, reader, stack, stack->frame);
	}
	if (runtime_load(reader, stack->frame, frame,
		    at->owner ? at->owner + 1 : at->instruction + sizeof(int32_t)))
		return -EFAULT;
	if (runtime->version >= 12 && frame[at->owner] == OWNED_BY_CSTACK) {
		if (stack->frame - stack->place + NEAR_BYTES > 2 * NEAR_BYTES)
			return -EBADMSG;
		return leave_run(runtime, reader, stack, runtime_word_in(frame, at->previous));
	}
	out->function = runtime_word_in(frame, at->code);
	error = read_code(runtime, reader, out);
	if (error)
		return error;
	out->position = position_of(at, frame, out->function);
	stack->frame = runtime_word_in(frame, at->previous);
	stack->is_over = !at->owner || (runtime->version == 11 && frame[at->owner]);
	return 1;
}

const struct runtime_kind runtime_cpython = {
	.name = "python",
	.known = "3.8 to 3.13",
	.find = find_cpython,
	.begin = begin_cpython,
	.states = states_of_cpython,
	.next = next_cpython,
	.line = cpython_line,
	.text = cpython_text,
};
