/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the Python frames of a thread, for CPython 3.8 to 3.15 with a global lock. Free-threaded
 * builds are not supported. Every supported version was checked against a running process.
 *
 * One C frame of the evaluator _PyEval_EvalFrameDefault() executes one Python frame (up to 3.10) or
 * several Python frames that call each other (from 3.11 on). These Python frames are called a run.
 * The `place` of a run is an address in the evaluator's C frame: that of its local variable struct
 * CFrame (3.10 to 3.12) or, from 3.13 on, of an interpreter frame that is a local variable of the
 * evaluator and ends the run.
 *
 *	3.8    tstate ─▶ frame ─f_back─▶ frame …        one per C frame, no `place`: counted
 *	3.10   tstate ─▶ cframe ─previous─▶ cframe …     one per C frame, but linked at
 *	              └▶ frame  ─f_back───▶ frame …      different moments: paired
 *	3.11   tstate ─▶ cframe ─▶ current_frame ─previous─▶ … frame with is_entry; cframe->previous
 *	3.12   as 3.11, up to a frame with owner FRAME_OWNED_BY_CSTACK
 *	3.13   tstate ─▶ current_frame ─previous─▶ … frame with that owner, then the next run's
 *	3.15   as 3.13; after the last run a frame in the tstate with that owner
 *
 * runtime.h explains counted and paired runs. From 3.13 on, the offsets of fields are those that
 * the process publishes in struct _Py_DebugOffsets. For earlier releases, `layouts` has them. The
 * interpreter may change anything while this code reads it, so every step is checked: a code object
 * by its type, the end of a run by the next C frame.
 */
#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "libprof/runtime/cpython.h"

static const struct cpython_offsets layouts[] = {
#include "libprof/runtime/cpython_layouts.inc"
};
#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))
/* The first release that has _Py_DebugOffsets, as major * 100 + minor. */
#define PUBLISHED_FROM 313u

#define INTERPRETERS_MAX 64u
#define THREADS_MAX	 1024u
/* The largest number of Python frames in which the end of a run of frames is searched. */
#define RUN_MAX	 20000u
#define RUNS_MAX 4096u
/* The value of FRAME_OWNED_BY_CSTACK, which is named FRAME_OWNED_BY_INTERPRETER from 3.14 on. */
#define OWNED_BY_CSTACK 3u
/* From 3.14 on, these low bits of a pointer in a frame (_PyStackRef) are flags. */
#define REFERENCE_TAGS 3u
#define STATUS_ACTIVE  (1u << 4) /* of PyThreadState._status, from 3.12 on */
/* The largest distance, in bytes, between two local variables of one C frame of the evaluator. */
#define NEAR_BYTES 8192u

/* Bytes of code that are read at once, and bytes of the longest instruction. */
#define SETUP_PIECE	  256u
#define INSTRUCTION_BYTES 16u

/* Index in runtime_stack.own of the number of the thread's interpreter. The main one has 0. */
#define OWN_INTERPRETER 0

/* Bytes that are read of an interpreter frame and of a code object. */
#define FRAME_BYTES 112u
#define CODE_BYTES  144u

/* ---- finding the runtime --------------------------------------------------------------------- */

/* The start of struct _Py_DebugOffsets, which is the start of _PyRuntime from 3.13 on. */
struct published {
	char cookie[8];
	uint64_t version; /* encoded as Py_Version */
	uint64_t is_free_threaded;
};
#define OFFSET_MAX	(1u << 20)
#define THREAD_BYTES	4096u
#define IS_CANDIDATE(v) (((v) >> 4 & 0xf) >= 0xc) /* not alpha or beta: layouts change */

/* Returns 1 if all fields lie within the bytes that are read of a frame and of a code object. */
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

/* Convert PY_VERSION_HEX, to 313 for 3.13. */
static uint32_t version_of(uint64_t hex)
{
	return hex >> 32 ? 0 : (uint32_t)(hex >> 24) * 100 + ((uint32_t)(hex >> 16) & 0xff);
}

/*
 * Determine the release of CPython. From 3.11 on, the variable Py_Version contains it. Before 3.11,
 * the release is identified by the newest function that the module has. Returns 0 for any other
 * release.
 */
static uint32_t find_version(struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uintptr_t at = runtime_symbol(symbols, reader, "Py_Version", NULL), hex;

	if (at)
		return runtime_load_word(reader, at, &hex) ? 0 : version_of(hex);
	if (runtime_symbol(symbols, reader, "PyIter_Send", NULL))
		return 310;
	if (runtime_symbol(symbols, reader, "PyObject_CallNoArgs", NULL))
		return 309;
	return runtime_symbol(symbols, reader, "PyCode_NewWithPosOnlyArgs", NULL) ? 308 : 0;
}

static const struct cpython_offsets *find_layout(uint32_t version)
{
	for (unsigned i = 0; i < LAYOUTS; i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

/* Check the published offsets against each other and against constants of all releases. */
static int is_plausible(const struct cpython_offsets *at)
{
	const uint32_t of_thread[] = {
		at->thread_next, at->thread_id, at->native_id, at->status, at->innermost};
	int is_so = is_within(at) && at->type == TYPE_OFFSET && at->bytes_size == SIZE_OFFSET &&
		    at->bytes_start == BYTES_OFFSET;

	for (unsigned i = 0; i < sizeof(of_thread) / sizeof(of_thread[0]); i++)
		is_so &= of_thread[i] <= THREAD_BYTES;
	return is_so;
}

/*
 * Read out->offsets from the process's _Py_DebugOffsets, which has them at the positions in @row.
 */
static int read_published(
	struct runtime *out, struct runtime_reader *reader, const struct cpython_offsets *row)
{
	struct cpython_offsets *at = (struct cpython_offsets *)out->offsets;
	uint32_t positions[sizeof(*row) / sizeof(uint32_t)];
	struct published head;
	uintptr_t offset;

	if (runtime_load(reader, out->base, &head, sizeof(head)))
		return -EFAULT;
	if (memcmp(head.cookie, "xdebugpy", sizeof(head.cookie)) || head.is_free_threaded ||
		!IS_CANDIDATE(head.version) || version_of(head.version) != row->version)
		return -ENOTSUP;
	memcpy(positions, row, sizeof(*row));
	for (unsigned i = 1; i < sizeof(positions) / sizeof(positions[0]); i++) {
		if (!positions[i])
			continue;
		if (runtime_load_word(reader, out->base + positions[i], &offset))
			return -EFAULT;
		if (offset > OFFSET_MAX)
			return -ENOTSUP;
		out->offsets[i] = (uint32_t)offset;
	}
	/* PyCompactUnicodeObject is PyASCIIObject, the length of the UTF-8 text and its address. */
	at->wide = at->ascii + 2 * (uint32_t)sizeof(uintptr_t);
	return is_plausible(at) ? 0 : -ENOTSUP;
}

/*
 * Returns the address after the evaluator's setup code, i.e. after its first indirect jump. This
 * jump goes to the code of the first bytecode instruction. When it is executed, the thread state
 * already links the evaluator's C frame.
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
		if (one.effect == ARCH_EFFECT_JUMP_INDIRECT)
			return at;
	}
	return entry + RUNTIME_SETUP_MAX;
}

static int find_cpython(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	const struct cpython_offsets *row;
	uint64_t bytes = 0;

	out->base = runtime_symbol(symbols, reader, "_PyRuntime", &bytes);
	out->base_bytes = bytes;
	out->code_type = runtime_symbol(symbols, reader, "PyCode_Type", NULL);
	/* Up to 3.6 there is no _PyRuntime. */
	if (!out->base)
		return out->code_type && runtime_symbol(symbols, reader, "PyEval_EvalFrameEx", NULL)
			       ? -ENOTSUP
			       : -ENOENT;
	out->entry = runtime_symbol(symbols, reader, "_PyEval_EvalFrameDefault", &bytes);
	out->entry_end = out->entry + bytes;
	out->setup_end = out->entry ? find_setup_end(reader, out->entry) : 0;
	out->version = find_version(reader, symbols);
	row = find_layout(out->version);
	if (!out->code_type || !out->entry || !row)
		return -ENOTSUP;
	if (out->version >= PUBLISHED_FROM)
		return read_published(out, reader, row);
	memcpy(out->offsets, row, sizeof(*row));
	out->is_counted = out->version < 310;
	out->is_paired = out->version == 310;
	return 0;
}

/* ---- the position in a frame ----------------------------------------------------------------- */

static uintptr_t code_of(const struct cpython_offsets *at, const char *frame)
{
	return runtime_word_in(frame, at->code) & ~(uintptr_t)REFERENCE_TAGS;
}

/* Returns the instruction that @frame executes, in the units of cpython_line(), or -1. */
static int32_t position_of(const struct cpython_offsets *at, const char *frame, uintptr_t code)
{
	uintptr_t offset;

	if (!at->bytecode)
		return (int32_t)runtime_int_in(frame, at->instruction);
	offset = runtime_word_in(frame, at->instruction) - (code + at->bytecode);
	return offset < 1u << 30 ? (int32_t)(offset / 2) : -1;
}

/*
 * Clear reader->may_trust if @position is at or before the frame's first instruction. The link from
 * a new frame to its caller may not be valid: compilers reorder the stores of a call, so the thread
 * state may point to the frame before the link is stored.
 */
static void distrust_new_frame(struct runtime_reader *reader, int32_t position)
{
	if (position <= 0)
		reader->may_trust = 0;
}

/* ---- a thread's innermost run ---------------------------------------------------------------- */

/* Record in @stack that the thread has no more Python frames. */
static void end_runs(struct runtime_stack *stack)
{
	stack->frame = stack->activation = 0;
	stack->place = UINTPTR_MAX;
}

/*
 * From 3.13 on: find the last frame of the run of Python frames that begins at stack->frame. It is
 * the frame with the owner OWNED_BY_CSTACK. Set stack->place to its address. In the innermost run,
 * it may be the only frame. From 3.15 on, a frame with the same owner but without a caller follows
 * the last run; it is a part of the thread state.
 */
static int find_activation_address(const struct cpython_offsets *at, struct runtime_reader *reader,
	struct runtime_stack *stack)
{
	uintptr_t frame = stack->frame, previous;
	int was_trusted = reader->is_trusted, error = 0;
	char bytes[FRAME_BYTES];

	stack->place = 0;
	for (unsigned n = 0; n < RUN_MAX && frame; n++) {
		error = runtime_load(reader, frame, bytes, at->owner + 1);
		if (error)
			break;
		previous = runtime_word_in(bytes, at->previous);
		if (bytes[at->owner] == OWNED_BY_CSTACK) {
			if (n || previous)
				stack->place = frame;
			else
				stack->frame = 0;
			break;
		}
		distrust_new_frame(reader, position_of(at, bytes, code_of(at, bytes)));
		frame = previous;
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

/*
 * Set @stack to the Python frames of @activation, a struct CFrame in one C frame of the evaluator.
 * The last CFrame is a part of the thread state; it has no Python frames and no valid `previous`.
 * Returns -EBADMSG if a thread of 3.10 has a Python frame left at the last CFrame, because every
 * Python frame of 3.10 must have a CFrame.
 */
static int enter_cframe(const struct cpython_offsets *at, struct runtime_reader *reader,
	uintptr_t activation, struct runtime_stack *stack)
{
	if (activation == stack->state + at->root) {
		int is_left = !at->bytecode && stack->frame;

		end_runs(stack);
		return is_left ? -EBADMSG : 0;
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
		out->place = innermost ? RUNTIME_AT_COUNTED : UINTPTR_MAX;
	if (runtime->is_counted)
		return 0;
	if (!at->cframe) {
		reader->is_trusted = 0;
		return find_activation_address(at, reader, out);
	}
	if (runtime_load_word(reader, state + at->cframe, &cframe))
		return -EFAULT;
	return enter_cframe(at, reader, cframe, out);
}

/*
 * Returns 1 if @state belongs to @thread, by the pthread_self() or the tid that both contain. Also
 * returns 1 if neither can be compared.
 */
static int is_of(const struct cpython_offsets *at, struct runtime_reader *reader, uintptr_t state,
	const struct runtime_thread *thread)
{
	uintptr_t id;

	if (thread->self)
		return !runtime_load_word(reader, state + at->thread_id, &id) && id == thread->self;
	return !thread->tid || !at->native_id ||
	       (!runtime_load_word(reader, state + at->native_id, &id) && id == thread->tid);
}

/*
 * Set @stack to the next run (the Python frames of the next C frame of the evaluator), without
 * reading the Python frames of the current run.
 */
static int skip_run(
	const struct runtime *runtime, struct runtime_reader *reader, struct runtime_stack *stack)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t previous;

	if (!at->cframe) {
		if (runtime_load_word(reader, stack->place + at->previous, &stack->frame))
			return -EFAULT;
		return find_activation_address(at, reader, stack);
	}
	if (!at->bytecode && runtime_load_word(reader, stack->frame + at->previous, &stack->frame))
		return -EFAULT;
	if (runtime_load_word(reader, stack->activation + at->cframe_previous, &previous))
		return -EFAULT;
	return enter_cframe(at, reader, previous, stack);
}

/*
 * Set @out to the innermost run of Python frames of @state whose `place`, an address on the stack,
 * is at or above @sp; or to no run.
 */
static int enter_above(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t state, uintptr_t sp, struct runtime_stack *out)
{
	int error = enter_state(runtime, reader, state, out);

	for (unsigned n = 0; n < RUNS_MAX && !error && out->place < sp; n++)
		error = skip_run(runtime, reader, out);
	return error;
}

typedef void state_fn(void *context, uintptr_t interpreter, uintptr_t state);

/* Call @fn for the thread states of all interpreters. Returns 0; -EFAULT: not all were read. */
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
			fn(context, interpreter, state);
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

static void take_nearer(void *context, uintptr_t interpreter, uintptr_t state)
{
	const struct nearest *nearest = context;
	const struct cpython_offsets *at = cpython_offsets_of(nearest->runtime);
	struct runtime_stack stack;

	if (is_of(at, nearest->reader, state, nearest->thread) &&
		!enter_above(nearest->runtime, nearest->reader, state, nearest->sp, &stack) &&
		stack.place >= nearest->sp && stack.place < nearest->out->place &&
		!runtime_load_word(nearest->reader, interpreter + at->interpreter_id,
			&stack.own[OWN_INTERPRETER]))
		*nearest->out = stack;
}

/*
 * Among all states that may belong to @thread, find the run of Python frames whose `place`, an
 * address on the stack, is the nearest one at or above @sp.
 */
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

static void add_state(void *context, uintptr_t interpreter, uintptr_t state)
{
	struct state_list *list = context;
	uintptr_t tid;

	(void)interpreter;
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

/* Returns the only interpreter of the process, or 0 if there are several or none. */
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
 * Returns 1 if the thread of @state holds its interpreter's lock. While it does, no other thread
 * frees the state or its frames. If the process has only one interpreter, @interpreter, the
 * function reads nothing from @state itself, which may have been freed.
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
 * Set @out to the innermost run of Python frames of @known, the thread state that the last walk of
 * @thread found. Returns -ENOENT if the state no longer belongs to @thread. If pthread_self() of
 * the thread is not known, this is judged by whether a run has its `place` on the walked stack, at
 * or above @sp.
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

	/* After a fork, the child's states still have the parent's tids, so ignore tids. */
	if (error && !thread->self && thread->tid)
		error = find_nearest(runtime, reader, &nobody, sp, out);
	return error;
}

/*
 * Call enter_known() and let it read memory by plain loads. The caller has checked that the thread
 * of state @known holds the lock, so the state cannot be freed.
 */
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
	/*
	 * If runs of Python frames are counted (runtime.is_counted), no address on the C stack
	 * shows that a thread state belongs to this thread. So find the state by pthread_self()
	 * only, and only in a process with one interpreter.
	 */
	if (runtime->is_counted && (!interpreter || !thread->self))
		return -ENOTSUP;
	if (interpreter && known && thread->self && has_lock(runtime, reader, interpreter, known) &&
		!begin_trusted(runtime, reader, thread, sp, known, out))
		return out->frame ? 0 : -ENOENT;
	reader->may_trust = 0;
	/*
	 * With several interpreters, a thread may enter an interpreter with a state that another
	 * thread has created, so ignore the identity of the thread.
	 */
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

static int read_code(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t interpreter, struct runtime_frame *out)
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
	/*
	 * When an interpreter ends, all of its objects are freed, and the next interpreter may
	 * allocate objects of equal sizes at the same addresses. So the addresses of a code object,
	 * its name and its file do not identify a function. Add the interpreter's number, which is
	 * never reused.
	 */
	if (interpreter)
		out->identity = runtime_mix(out->identity, interpreter);
	return 0;
}

/*
 * Set @stack to the next run of Python frames, which the next outer C frame of the evaluator
 * executes. @frame is the innermost Python frame of that run.
 */
static int leave_run(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, uintptr_t frame)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	uintptr_t previous;
	int error;

	if (runtime->is_counted) {
		stack->place = frame ? RUNTIME_AT_COUNTED : UINTPTR_MAX;
		return 0;
	}
	if (!at->cframe) {
		stack->frame = frame;
		return find_activation_address(at, reader, stack);
	}
	if (runtime_load_word(reader, stack->activation + at->cframe_previous, &previous))
		return -EFAULT;
	stack->frame = frame;
	error = enter_cframe(at, reader, previous, stack);
	return error || stack->frame == frame ? error : -EBADMSG;
}

/*
 * In 3.11, returns 1 if the run of Python frames ends at a frame that has is_entry and the caller
 * @previous. It ends there if @previous is the current frame of the next CFrame. The flag is_entry
 * alone is not enough: a generator that delegates to another generator keeps the flag from its last
 * resume. When generator.throw() enters the other generator without a new C frame of the evaluator,
 * the run continues with the caller of throw().
 */
static int ends_run(const struct cpython_offsets *at, struct runtime_reader *reader,
	const struct runtime_stack *stack, uintptr_t previous)
{
	uintptr_t before, current;

	return !runtime_load_word(reader, stack->activation + at->cframe_previous, &before) &&
	       !runtime_load_word(reader, before + at->cframe_frame, &current) &&
	       current == previous;
}

/*
 * Returns 1 if @frame is a shim. From 3.12 on, the interpreter inserts shims between the call of a
 * class and its __init__(). The name and the file of a shim's code are the same text. Python's
 * tracebacks omit shims.
 */
static int is_shim(const struct runtime_frame *frame)
{
	return frame->name == frame->file && !frame->first_line;
}

/*
 * Returns 1 if @frame is a C frame of the evaluator. A C frame that contains a struct CFrame may
 * also be one of the greenlet module, which links a CFrame without a Python frame.
 */
static int is_evaluator(const struct runtime *runtime, const struct unwind_frame *frame)
{
	return frame && frame->pc - runtime->entry < runtime->entry_end - runtime->entry;
}

static int next_cpython(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	const struct cpython_offsets *at = cpython_offsets_of(runtime);
	char frame[FRAME_BYTES];
	int error;

	(void)room;
	if (stack->is_over) {
		stack->is_over = 0;
		return leave_run(runtime, reader, stack, stack->frame);
	}
	if (at->cframe && !stack->frame && !is_evaluator(runtime, stack->run_by))
		return leave_run(runtime, reader, stack, 0);
	/*
	 * Skip a shim frame. A second iteration is enough, because a shim never calls another shim.
	 */
	for (unsigned n = 0; n < 2; n++) {
		if (runtime_load(reader, stack->frame, frame,
			    at->owner ? at->owner + 1 : at->instruction + sizeof(int32_t)))
			return -EFAULT;
		if (runtime->version >= 312 && frame[at->owner] == OWNED_BY_CSTACK) {
			if (stack->frame - stack->place + NEAR_BYTES > 2 * NEAR_BYTES)
				return -EBADMSG;
			return leave_run(
				runtime, reader, stack, runtime_word_in(frame, at->previous));
		}
		out->function = code_of(at, frame);
		error = read_code(runtime, reader, stack->own[OWN_INTERPRETER], out);
		if (error)
			return error;
		out->position = position_of(at, frame, out->function);
		distrust_new_frame(reader, out->position);
		stack->frame = runtime_word_in(frame, at->previous);
		stack->is_over = !at->owner || (runtime->version == 311 && frame[at->owner] &&
						       ends_run(at, reader, stack, stack->frame));
		if (!is_shim(out))
			break;
	}
	return 1;
}

const struct runtime_kind runtime_cpython = {
	.name = "python",
	.known = "3.8 to 3.15",
	.find = find_cpython,
	.begin = begin_cpython,
	.states = states_of_cpython,
	.next = next_cpython,
	.line = cpython_line,
	.text = cpython_text,
};
