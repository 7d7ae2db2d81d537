/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the Lua functions of a thread that runs LuaJIT. LuaJIT's interpreter is one piece of
 * assembly. C code enters it each time that C calls Lua or resumes a coroutine. Each such entry has
 * one C frame of the interpreter, called an activation below. The interpreter's C frame contains
 * the Lua state and a link to the state's next outer interpreter frame:
 *
 *	C stack				the state's stack
 *
 *	interpreter   state ──────▶ base ─▶ f ─call─▶ g ─native─▶ sort
 *	lj_cf_table_sort
 *	interpreter   state		sort ─call─▶ h ─call─▶ main chunk ─native─▶
 *	lua_pcall
 *
 * So each activation identifies its functions, and they are not matched by counting. The functions
 * are accepted only if the walk's interpreter frames are those in the state's list, and if the
 * outermost function ends at the bottom of the state's stack.
 *
 * While the interpreter runs, the innermost function's base and instruction are in registers. When
 * the interpreter calls C, the state or another register has the base.
 *
 * Compiled code, a *trace*, runs in the interpreter's stack frame. The state's stack is as it was
 * when the trace was entered, so all functions on it are correct. Only the compiler knows which
 * inlined function a trace executes, and the trace stores this only when it is left. So the
 * function that runs the trace is reported as the innermost one, without a line, and gets the
 * trace's time. The function from which the trace was recorded is not reported: if the trace was
 * entered from another trace, this function need not be on the stack.
 *
 * A call or return updates several words one after another. If a thread is interrupted at such an
 * instruction, only native frames are reported.
 *
 * While the interpreter or a trace runs, and no C function, the state's stack can be read by plain
 * loads.
 */
#include "libprof/runtime/luajit.h"

#include <errno.h>
#include <string.h>

#include "arch/epilogue.h"
#include "arch/luajit.h"

#define STATE_BYTES 88u
/* Offset of the first base in a state's stack. The frame at this base has no function. */
#define STATE_FIRST 16u
/* These bits of an address of an interpreter frame are flags. */
#define FRAME_FLAGS 3u

#define CODE_AT_ONCE 16u
/* Words that a subroutine of the interpreter may push: its return address and padding. */
#define SUBROUTINE_WORDS 2u
/* Limit of the words that a trace spills plus the registers that are saved on leaving it. */
#define SPILLED_WORDS 192u
#define AREAS_MAX     256u
#define FRAMES_MAX    4096u /* C frames of one state */
#define SKIPPED_MAX   (1u << 18)

/* Indices in runtime_stack.own. runtime_stack.activation is the next frame of the interpreter. */
/* The instruction of the function at the base; 0: not known. */
#define OWN_PC	   0
#define OWN_BOTTOM 1
/* The state before the current one, if it has calls left, or 0; then the base of its next call. */
#define OWN_OTHER      2
#define OWN_OTHER_BASE 3

/* ---- states ---------------------------------------------------------------------------------- */

struct state {
	uintptr_t at, global, base, bottom, end;
	uintptr_t frame;  /* the latest C frame */
	uintptr_t traced; /* 0: no trace runs */
	int32_t runs;
};

/* Is there a lua_State of the global state @global at @at? */
static int is_state(struct runtime_reader *reader, uintptr_t at, uintptr_t global)
{
	char content[STATE_GLOBAL + sizeof(uintptr_t)];

	return at % VALUE_BYTES == 0 && !runtime_load(reader, at, content, sizeof(content)) &&
	       content[OBJECT_KIND] == KIND_STATE &&
	       runtime_word_in(content, STATE_GLOBAL) == global;
}

/* Read the lua_State at @at. Returns 0, or -ENOENT if there is no lua_State at @at. */
static int read_state(struct runtime_reader *reader, uintptr_t at, struct state *out)
{
	uintptr_t main, current;
	char content[STATE_BYTES];

	if (!at || at % VALUE_BYTES || at >> VALUE_SHIFT ||
		at - reader->stack_start < reader->stack_bytes ||
		runtime_load(reader, at, content, sizeof(content)) ||
		content[OBJECT_KIND] != KIND_STATE)
		return -ENOENT;
	out->at = at;
	out->global = runtime_word_in(content, STATE_GLOBAL);
	out->base = runtime_word_in(content, STATE_BASE);
	out->bottom = runtime_word_in(content, STATE_STACK) + STATE_FIRST;
	out->end = runtime_word_in(content, STATE_END);
	out->frame = runtime_word_in(content, STATE_FRAME) & ~(uintptr_t)FRAME_FLAGS;
	if (out->global % VALUE_BYTES || out->bottom % VALUE_BYTES || out->bottom >= out->end ||
		runtime_load_word(reader, out->global + GLOBAL_MAIN, &main) ||
		runtime_load_word(reader, out->global + GLOBAL_CURRENT, &current) ||
		runtime_load_word(reader, out->global + GLOBAL_TRACED, &out->traced) ||
		runtime_load(reader, out->global + GLOBAL_RUNS, &out->runs, sizeof(out->runs)) ||
		(main != at && !is_state(reader, main, out->global)) ||
		(current != at && current != main && !is_state(reader, current, out->global)))
		return -ENOENT;
	return 0;
}

static int is_on_stack(const struct state *state, uintptr_t base)
{
	/* While a function is being called, its base may lie a little above the end. */
	return base % VALUE_BYTES == 0 && base >= state->bottom && base <= state->end + 512;
}

/* Is the interpreter frame at @frame in the state's list of such frames? */
static int has_frame(struct runtime_reader *reader, const struct state *state, uintptr_t frame)
{
	uintptr_t at = state->frame;

	for (unsigned n = 0; at && at < frame && n < FRAMES_MAX; n++) {
		if (runtime_load_word(reader, at + ARCH_LUAJIT_PREVIOUS, &at))
			return 0;
		at &= ~(uintptr_t)FRAME_FLAGS;
	}
	return at == frame;
}

/* ---- the interpreter's stack frame ----------------------------------------------------------- */

static int is_evaluator(const struct runtime *runtime, uintptr_t pc)
{
	return pc - runtime->entry < runtime->entry_end - runtime->entry;
}

/* Is @pc in the code of a trace that belongs to @state? */
static int is_compiled(const struct runtime *runtime, struct runtime_reader *reader,
	const struct state *state, uintptr_t pc)
{
	uintptr_t area[2]; /* next area, its bytes */

	if (runtime_load_word(reader, state->global + luajit_layout(runtime)->area, &area[0]))
		return 0;
	for (unsigned n = 0; area[0] && n < AREAS_MAX; n++) {
		uintptr_t start = area[0];

		if (runtime_load(reader, start, area, sizeof(area)))
			return 0;
		if (pc - start < area[1])
			return 1;
	}
	return 0;
}

/*
 * Find the lua_State of a thread interrupted in a trace, by its dispatch register. Returns 1 or 0.
 */
static int find_traced(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_activation *at, struct state *out)
{
	uintptr_t current;

	return at->innermost &&
	       !runtime_load_word(reader,
		       at->innermost->r[ARCH_LUAJIT_DISPATCH] - luajit_layout(runtime)->dispatch +
			       GLOBAL_CURRENT,
		       &current) &&
	       !read_state(reader, current, out) && out->frame >= at->sp &&
	       out->frame - at->sp <= SPILLED_WORDS * sizeof(uintptr_t);
}

/* Returns the cache key under which the thread's last walk stored the lua_State that it found. */
static uint64_t key_of_thread(const struct runtime *runtime, const struct runtime_reader *reader)
{
	return runtime_mix(runtime->entry, reader->stack_start + reader->stack_bytes);
}

static int is_current(struct runtime_reader *reader, const struct state *state)
{
	uintptr_t current;

	return !runtime_load_word(reader, state->global + GLOBAL_CURRENT, &current) &&
	       current == state->at;
}

/*
 * Find the interpreter frame if the lua_State of the thread's last walk is still the current one.
 * This saves testing each word between at->sp and the frame. Returns 1 or 0.
 */
static int find_frame_again(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_activation *at, struct state *state, uintptr_t *frame)
{
	uint64_t known[RUNTIME_CACHE_WORDS];
	uintptr_t word;

	if (!reader->stack_bytes ||
		!runtime_cache_find(reader, key_of_thread(runtime, reader), known) ||
		read_state(reader, known[0], state) || !is_current(reader, state) ||
		state->frame < at->sp ||
		state->frame - at->sp >= SPILLED_WORDS * sizeof(uintptr_t) ||
		runtime_load_word(reader, state->frame + ARCH_LUAJIT_STATE, &word) ||
		word != state->at)
		return 0;
	*frame = state->frame;
	return 1;
}

/*
 * Search the stack for the nearest interpreter frame. A frame contains the address of a lua_State,
 * and this state's list of frames contains the frame. Returns 1 or 0.
 */
static int find_frame_by_words(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_activation *at, struct state *state, uintptr_t *frame)
{
	uint64_t known[RUNTIME_CACHE_WORDS] = {0};
	uintptr_t word;

	for (unsigned n = 0; n < SPILLED_WORDS; n++) {
		*frame = at->sp + n * sizeof(word);
		if (runtime_load_word(reader, *frame + ARCH_LUAJIT_STATE, &word))
			return 0;
		if (read_state(reader, word, state) || !has_frame(reader, state, *frame))
			continue;
		known[0] = state->at;
		if (is_current(reader, state))
			runtime_cache_keep(reader, key_of_thread(runtime, reader), known);
		return 1;
	}
	return 0;
}

/*
 * Find the interpreter's C frame in which the code at @at runs, by the address of the lua_State
 * that is stored in the frame. Returns 1 or 0. While the frame is being set up or released, the
 * search would find an outer frame of the interpreter. That frame is rejected because it is too far
 * from at->sp.
 */
static int find_frame(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_activation *at, struct state *state, uintptr_t *frame)
{
	if (!find_frame_again(runtime, reader, at, state, frame) &&
		!find_frame_by_words(runtime, reader, at, state, frame))
		return 0;
	return *frame - at->sp <= SUBROUTINE_WORDS * sizeof(uintptr_t) || !at->innermost ||
	       state->traced || state->runs >= 0 || state->runs == RUNS_EXIT;
}

static int is_at(const struct runtime *runtime, unsigned edge, uintptr_t pc)
{
	return pc - runtime->objects[edge] < runtime->objects[edge + 1] - runtime->objects[edge];
}

/* Returns the size of the frame at @pc in the entry code; ARCH_LUAJIT_BYTES: not known. */
static uint32_t count_begun(
	const struct runtime *runtime, struct runtime_reader *reader, uintptr_t pc)
{
	uintptr_t at = runtime->objects[LUAJIT_BEGUN];
	uint32_t bytes = ARCH_ENTRY_CFA;
	struct arch_instruction next;
	uint8_t code[CODE_AT_ONCE];

	for (; at < pc; at += next.bytes) {
		if (runtime_load(reader, at, code, sizeof(code)))
			return ARCH_LUAJIT_BYTES;
		next = arch_decode(code, sizeof(code));
		if (!next.bytes)
			return ARCH_LUAJIT_BYTES;
		if (next.effect == ARCH_EFFECT_SP)
			bytes -= (uint32_t)next.value;
		else if (next.effect == ARCH_EFFECT_PUSH_FP)
			bytes += sizeof(uintptr_t);
		else if (next.effect == ARCH_EFFECT_JUMP)
			/* the code of another entry follows */
			bytes = ARCH_ENTRY_CFA;
	}
	return bytes;
}

/* Step to the caller if the interpreter is setting up or releasing its frame. Returns 1 or 0. */
static int leave_edge(
	const struct runtime *runtime, struct runtime_reader *reader, struct unwind_activation *at)
{
	struct arch_code code = {.end = CODE_AT_ONCE, .exact = true};
	struct arch_epilogue epilogue = {.cfa = ARCH_LUAJIT_BYTES};
	uintptr_t cfa, pc;

	if (is_at(runtime, LUAJIT_BEGUN, at->pc))
		epilogue = (struct arch_epilogue){
			.cfa = count_begun(runtime, reader, at->pc), .ra = ARCH_ENTRY_CFA};
	else if (!is_at(runtime, LUAJIT_LEFT, at->pc) ||
		 runtime_load(reader, at->pc, code.bytes, CODE_AT_ONCE) ||
		 arch_find_epilogue(&code, &epilogue))
		return 0;
	cfa = at->sp + epilogue.cfa;
	if (epilogue.cfa >= ARCH_LUAJIT_BYTES ||
		runtime_load_word(reader, cfa - epilogue.ra, &pc) ||
		(epilogue.fp && runtime_load_word(reader, cfa - epilogue.fp, &at->fp)))
		return 0;
	at->pc = pc;
	at->sp = cfa;
	return 1;
}

static int step_luajit(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct unwind_activation *at)
{
	int is_own = is_evaluator(runtime, at->pc);
	struct state state;
	uintptr_t frame;

	(void)stack;
	if (at->question == UNWIND_STACK_END || (at->question == UNWIND_OWN_CODE && !is_own))
		return 0;
	if (is_own && at->innermost && leave_edge(runtime, reader, at))
		return UNWIND_CALLER;
	if (!is_own && find_traced(runtime, reader, at, &state))
		frame = state.frame;
	else if (!find_frame(runtime, reader, at, &state, &frame))
		return 0;
	if (is_own ? frame == at->sp : !is_compiled(runtime, reader, &state, at->pc))
		return 0;
	if (!is_own && at->innermost)
		*luajit_is_in_trace(reader) = 1;
	if (!is_own)
		at->pc = runtime->entry + (runtime->entry_end - runtime->entry) / 2;
	at->sp = frame;
	return UNWIND_INSIDE;
}

/* ---- the innermost function ------------------------------------------------------------------ */

#define RUNNING_REGISTERS                                                  \
	(UINT64_C(1) << ARCH_LUAJIT_BASE | UINT64_C(1) << ARCH_LUAJIT_PC | \
		UINT64_C(1) << ARCH_LUAJIT_DISPATCH)

/* Find the innermost function while the interpreter itself runs. Returns 0 or -EAGAIN. */
static int find_running(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_frame *frame, const struct state *state, struct runtime_stack *stack)
{
	uint8_t code[ARCH_LUAJIT_CODE_BYTES];
	struct luajit_function function;
	struct arch_registers registers;
	uintptr_t link, pc;

	if (state->runs != RUNS_LUA || !frame->registers ||
		~frame->registers(frame, &registers) & RUNNING_REGISTERS ||
		registers.r[ARCH_LUAJIT_DISPATCH] !=
			state->global + luajit_layout(runtime)->dispatch ||
		frame->pc - runtime->entry < ARCH_LUAJIT_BEFORE ||
		runtime_load(reader, frame->pc - ARCH_LUAJIT_BEFORE, code, sizeof(code)) ||
		!arch_luajit_has_base(code, (int32_t)(runtime->entry - frame->pc),
			(int32_t)(runtime->entry_end - frame->pc)))
		return -EAGAIN;
	stack->frame = registers.r[ARCH_LUAJIT_BASE];
	pc = registers.r[ARCH_LUAJIT_PC];
	if (!is_on_stack(state, stack->frame) ||
		runtime_load_word(reader, stack->frame - FRAME_LINK, &link))
		return -EAGAIN;
	if (!arch_luajit_links(code + ARCH_LUAJIT_BEFORE) && pc == link &&
		!luajit_read_function(reader, stack->frame, &function) && luajit_has(&function, pc))
		/* Recursion: pc may belong to this call or to its caller, so it stays unknown. */
		return 0;
	if ((arch_luajit_links(code + ARCH_LUAJIT_BEFORE) || pc == link) &&
		(pc % INSTRUCTION || luajit_read_caller(reader, stack->frame, pc, &stack->frame) ||
			!is_on_stack(state, stack->frame)))
		return -EAGAIN;
	if (luajit_read_function(reader, stack->frame, &function) ||
		(function.code && pc != function.code && !luajit_has(&function, pc)))
		return -EAGAIN;
	stack->own[OWN_PC] = pc;
	return 0;
}

/* Find the innermost Lua function while a C function that it called runs. Returns 0 or -EAGAIN. */
static int find_calling(
	const struct unwind_frame *frame, const struct state *state, struct runtime_stack *stack)
{
	struct arch_registers registers;
	uint64_t known = frame->registers ? frame->registers(frame, &registers) : 0;
	uintptr_t called;

	if (!(known >> ARCH_LUAJIT_CALLED & 1))
		return -EAGAIN;
	called = registers.r[ARCH_LUAJIT_CALLED];
	if (called == state->at)
		called = state->base;
	if (!is_on_stack(state, called))
		return -EAGAIN;
	stack->frame = called;
	stack->own[OWN_PC] = known >> ARCH_LUAJIT_PC & 1 ? registers.r[ARCH_LUAJIT_PC] : 0;
	return 0;
}

/* Set @stack to the innermost function of the thread's innermost C frame of the interpreter. */
static int find_innermost(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_frame *frame, int is_innermost, const struct state *state,
	struct runtime_stack *stack)
{
	stack->own[OWN_PC] = 0;
	if (frame->is_generated || state->runs >= 0 || state->runs == RUNS_EXIT) {
		stack->frame = state->traced ? state->traced : state->base;
		return frame->is_generated && !state->traced ? -EAGAIN : 0;
	}
	if (is_innermost)
		return find_running(runtime, reader, frame, state, stack);
	stack->frame = state->base;
	return state->runs == RUNS_C ? 0 : find_calling(frame, state, stack);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/*
 * Set @stack to the Lua functions of the interpreter's C frame @frame. This is the walk's first
 * frame of the interpreter, or its lua_State differs from that of the previous one.
 */
static int change_state(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, const struct unwind_frame *frame, int is_innermost,
	const struct state *state)
{
	struct runtime_stack before = *stack;
	int error = 0;

	if (!has_frame(reader, state, frame->sp))
		return -EBADMSG;
	stack->state = state->at;
	stack->own[OWN_BOTTOM] = state->bottom;
	if (before.own[OWN_OTHER] == state->at) {
		stack->frame = before.own[OWN_OTHER_BASE];
		stack->own[OWN_PC] = 0;
	} else if ((before.activation && before.own[OWN_OTHER]) || frame->sp != state->frame) {
		return -EBADMSG;
	} else if (before.state) {
		stack->frame = state->base;
		stack->own[OWN_PC] = 0;
	} else {
		error = find_innermost(runtime, reader, frame, is_innermost, state, stack);
	}
	if (!error && !is_on_stack(state, stack->frame))
		return -EAGAIN;
	if (before.activation || before.own[OWN_OTHER] == state->at) {
		stack->own[OWN_OTHER] = before.activation ? before.state : 0;
		stack->own[OWN_OTHER_BASE] = before.frame;
	}
	return error;
}

/*
 * Set @stack for the interpreter's innermost C frame in its entry or exit code, where the frame has
 * no Lua function. In the exit code, until the frame is unlinked, the register that normally has
 * the current instruction has the base of the function to which the interpreter returns.
 */
static int enter_edge(const struct runtime *runtime, struct runtime_stack *stack,
	const struct unwind_frame *frame, const struct state *state, uintptr_t previous)
{
	int is_left = is_at(runtime, LUAJIT_LEFT, frame->pc);
	int is_linked = state->frame == frame->sp;
	struct arch_registers registers;

	if (is_left && !is_linked && state->frame != previous)
		return -EBADMSG;
	stack->frame = state->base;
	if (is_left && is_linked) {
		if (!frame->registers ||
			!(frame->registers(frame, &registers) >> ARCH_LUAJIT_PC & 1))
			return -EAGAIN;
		stack->frame = registers.r[ARCH_LUAJIT_PC];
	}
	if (!is_on_stack(state, stack->frame))
		return -EAGAIN;
	stack->state = state->at;
	stack->own[OWN_BOTTOM] = state->bottom;
	stack->own[OWN_PC] = 0;
	stack->activation = is_linked ? previous : state->frame;
	stack->is_over = 1;
	return 0;
}

static int enter_luajit(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, const struct unwind_frame *frame)
{
	uintptr_t saved[ARCH_LUAJIT_PREVIOUS / sizeof(uintptr_t) + 1], previous;
	int is_first = !stack->state, is_innermost = stack->is_innermost, error = 0;
	int32_t results;
	struct state state;

	if (is_first)
		reader->may_trust = reader->is_own && (is_innermost || *luajit_is_in_trace(reader));
	reader->is_trusted = 0;
	stack->place = RUNTIME_AT_COUNTED;
	/* leave_edge() has stepped over this frame, which is incomplete and so has no functions. */
	if (is_first && is_innermost && frame->caller_sp - frame->sp < ARCH_LUAJIT_BYTES) {
		stack->is_over = 1;
		return 0;
	}
	if (runtime_load(reader, frame->sp, saved, sizeof(saved)))
		return -EFAULT;
	if (read_state(reader, saved[ARCH_LUAJIT_STATE / sizeof(uintptr_t)], &state))
		return -ENOENT;
	previous = saved[ARCH_LUAJIT_PREVIOUS / sizeof(uintptr_t)] & ~(uintptr_t)FRAME_FLAGS;
	if (is_first && is_innermost &&
		(is_at(runtime, LUAJIT_BEGUN, frame->pc) || is_at(runtime, LUAJIT_LEFT, frame->pc)))
		return enter_edge(runtime, stack, frame, &state, previous);
	if (state.at != stack->state)
		error = change_state(runtime, reader, stack, frame, is_innermost, &state);
	else if (stack->activation != frame->sp)
		error = -EBADMSG;
	if (error)
		return error;
	stack->activation = previous;
	if (!is_first)
		stack->own[OWN_PC] = saved[ARCH_LUAJIT_SAVED / sizeof(uintptr_t)];
	memcpy(&results, (const char *)saved + ARCH_LUAJIT_RESULTS, sizeof(results));
	stack->is_over = results < 0;
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void fill_function(const struct luajit_function *function, uintptr_t base, uintptr_t pc,
	struct runtime_frame *out)
{
	*out = (struct runtime_frame){
		.function = function->code,
		.identity = function->identity,
		.first_line = function->first_line,
		.position = -1,
		.code = function->code,
		.lines = function->code,
		.name = base | OF_FRAME,
		.file = function->source,
	};
	if (!out->first_line) {
		out->first_line = 1;
		out->name = OF_MAIN;
	}
	if (luajit_has(function, pc))
		out->position = (int32_t)((pc - function->code) / INSTRUCTION) - 1;
}

/*
 * End the Lua functions of a C frame of the interpreter. Returns 0, or -EBADMSG if this was the
 * outermost C frame of the state but the state's stack has more functions.
 */
static int end_run(struct runtime_stack *stack)
{
	stack->is_over = 0;
	stack->place = UINTPTR_MAX;
	return stack->activation || stack->frame == stack->own[OWN_BOTTOM] ? 0 : -EBADMSG;
}

static int go_outward(struct runtime_reader *reader, struct runtime_stack *stack)
{
	struct luajit_function caller;
	struct luajit_link link;
	int error;

	for (unsigned n = 0; n < 2; n++) {
		error = luajit_read_link(reader, stack->frame, stack->own[OWN_BOTTOM], &link);
		if (error)
			return error;
		stack->frame = link.base;
		if (!link.is_copied)
			break;
	}
	stack->own[OWN_PC] = link.pc;
	stack->is_over = link.is_native;
	if (!link.pc || link.is_native)
		return 0;
	/* Check that the caller contains the calling instruction. */
	error = luajit_read_function(reader, stack->frame, &caller);
	return error || !caller.code || luajit_has(&caller, link.pc) ? error : -EBADMSG;
}

static int next_luajit(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	struct luajit_function function;
	uintptr_t base, pc;
	int error;

	(void)runtime, (void)room;
	for (unsigned n = 0; !stack->is_over && n < SKIPPED_MAX; n++) {
		base = stack->frame;
		pc = stack->own[OWN_PC];
		error = luajit_read_function(reader, base, &function);
		if (!error)
			error = go_outward(reader, stack);
		if (error)
			return error;
		if (!function.code)
			continue;
		fill_function(&function, base, pc, out);
		return 1;
	}
	return stack->is_over ? end_run(stack) : -EBADMSG;
}

const struct runtime_kind runtime_luajit = {
	.name = "luajit",
	.known = "2.1 of Debian 12 to 14",
	.find = luajit_find,
	.enter = enter_luajit,
	.next = next_luajit,
	.step = step_luajit,
	.line = luajit_line,
	.text = luajit_text,
};
