/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the Lua functions of a thread, for Lua 5.1 to 5.5. One C frame of luaV_execute(), called an
 * activation below, executes a Lua function and all that it calls, except calls through C:
 * lua_call() and lua_pcall(), metamethods, coroutines. Each lua_State, including that of a
 * coroutine, has its own list of calls:
 *
 *	coroutine  C->ci ─▶ inner ─▶ body, FRESH ─▶ base       two activations on one C stack,
 *	main       L->ci ─▶ resume ─▶ main chunk, FRESH ─▶ …   each with its state's calls
 *	                    (C)
 *
 * The state of an activation is a word in its stack frame: the caller of luaV_execute() needs the
 * state after the call, so it keeps the state in a callee-saved register, which luaV_execute()
 * saves. A word is a state if its type, its global state and the main state of the global state are
 * right. Among several states, the one whose latest protected call outside of the frame is the
 * nearest is chosen (lua_State.errorJmp, which lies on the C stack). A coroutine that is not
 * running has no protected call. Activations of one state are matched with its calls by counting
 * the calls that are marked FRESH.
 *
 * When a coroutine yields, the activations of its calls end, but the calls stay in its list. After
 * the coroutine is resumed, these calls are reported with its outermost activation, which
 * lua_resume() calls through functions of its own.
 *
 * A function that returns is removed from the list before its activation ends; runtime_walk.c
 * corrects this. A function that is called is added to the list before its activation begins; such
 * a call is recognised by its saved instruction.
 *
 * luaV_execute() keeps the current instruction in a register and saves it where necessary. While
 * luaV_execute() calls nothing and does not grow the stack of values, plain loads can read the
 * calls and the objects that they use. Otherwise Lua may be moving the stack of values.
 */
#include "libprof/runtime/lua.h"

#include <errno.h>
#include <string.h>

#define KIND	    8u /* offset in every object */
#define STATE_KIND  8u /* of a lua_State */
#define STATE_BYTES 192u

#define FRAME_WORDS_MAX 512u
/* The largest number of bytes of the return address and the saved registers. */
#define SAVED_BYTES 64u
/* The largest number of nested protected calls of one state. */
#define PROTECTED_MAX	 256u
#define NATIVE_CALLS_MAX (1u << 18) /* C functions in a row */

/*
 * Indices in runtime_stack.own. runtime_stack.state is the current state, and runtime_stack.frame
 * is the next call of this state.
 */
/* The state before the current one, if it has calls left, or 0; then the next of these calls. */
#define OWN_OTHER      0
#define OWN_OTHER_CALL 1
/* The call whose current instruction is in a register, or 0. */
#define OWN_INNERMOST 2
#define OWN_FLAGS     3
/* Flag: all remaining calls of the state belong to the current C frame of luaV_execute(). */
#define ALL_ARE_READ 1u

/* ---- calls ----------------------------------------------------------------------------------- */

/* Read the call at @at. In 5.1, the saved instruction of the innermost call is in the state. */
static int read_call(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, uintptr_t at, struct lua_call *out)
{
	const struct lua_layout *layout = lua_layout(runtime);
	int error = lua_read_call(runtime, reader, stack->state, at, out);
	uintptr_t current;

	if (error || !layout->state_saved)
		return error;
	if (runtime_load_word(reader, stack->state + layout->state_call, &current))
		return -EFAULT;
	if (current != at)
		return 0;
	return runtime_load_word(reader, stack->state + layout->state_saved, &out->saved);
}

/*
 * If stack->frame is a call of a C function, set it to the next outer call of a Lua function, or 0.
 */
static int skip_native(
	const struct runtime *runtime, struct runtime_reader *reader, struct runtime_stack *stack)
{
	const struct lua_layout *layout = lua_layout(runtime);
	uintptr_t base = stack->state + layout->state_base;
	struct lua_call call;

	if (layout->call_bytes && runtime_load_word(reader, base, &base))
		return -EFAULT;
	for (unsigned n = 0; n < NATIVE_CALLS_MAX; n++) {
		int found;

		if (stack->frame == base)
			stack->frame = 0;
		if (!stack->frame)
			return 0;
		found = lua_read_link(layout, reader, stack->state, stack->frame, &call);
		if (found > 0 && layout->call_bytes)
			found = lua_read_closure(layout, reader, call.value, &call);
		if (found)
			return found < 0 ? found : 0;
		stack->frame = call.previous;
	}
	return -EBADMSG;
}

/* ---- the state of an activation -------------------------------------------------------------- */

/* A word that may be the lua_State that runs in a stack frame. */
struct candidate {
	uintptr_t state; /* 0: none */
	/* Address of the state's nearest protected call outside of the stack frame. */
	uintptr_t jump;
	int is_ambiguous;
};

/* Returns the nearest protected call at or above the address @sp in the list @first, or 0. */
static uintptr_t find_jump(struct runtime_reader *reader, uintptr_t first, uintptr_t sp)
{
	for (unsigned n = 0; first && first < sp && n < PROTECTED_MAX; n++)
		if (runtime_load_word(reader, first, &first))
			return 0;
	return first < sp ? 0 : first;
}

/* Find the main state of the global state @global. Returns 0 or -EFAULT. */
static int load_main(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t global, uintptr_t *out)
{
	*out = global + layout->global_main;
	return layout->main_is_inside ? 0 : runtime_load_word(reader, *out, out);
}

/*
 * Set @out to @state if @state may be the lua_State of the frame that ends at @sp, and if the
 * state's nearest protected call outside of the frame is nearer than out->jump.
 */
static void try_state(const struct lua_layout *layout, struct runtime_reader *reader,
	uintptr_t state, uintptr_t sp, struct candidate *out)
{
	uintptr_t global, main, main_global, stack, end, call, function, jump;
	uint8_t kind;
	char content[STATE_BYTES];

	if (state == out->state || state % 8 || state - reader->stack_start < reader->stack_bytes ||
		runtime_load(reader, state, content, layout->state_errors + sizeof(uintptr_t)) ||
		content[KIND] != STATE_KIND)
		return;
	global = runtime_word_in(content, layout->state_global);
	call = runtime_word_in(content, layout->state_call);
	stack = runtime_word_in(content, layout->state_stack);
	end = runtime_word_in(content, layout->state_stack_end);
	jump = runtime_word_in(content, layout->state_errors);
	if (global % 8 || call % 8 || stack >= end || load_main(layout, reader, global, &main) ||
		main % 8 || runtime_load(reader, main + KIND, &kind, 1) || kind != STATE_KIND ||
		runtime_load_word(reader, main + layout->state_global, &main_global) ||
		main_global != global ||
		runtime_load_word(reader, call + layout->call_function, &function) ||
		function < stack || function >= end)
		return;
	jump = find_jump(reader, jump, sp);
	if (!jump && state != main)
		return;
	if (!jump)
		jump = UINTPTR_MAX;
	if (out->state && jump >= out->jump) {
		out->is_ambiguous |= jump == out->jump;
		return;
	}
	*out = (struct candidate){.state = state, .jump = jump};
}

/* Test the registers, because a frame that is being set up or released may not have the state. */
static void try_registers(const struct lua_layout *layout, struct runtime_reader *reader,
	const struct unwind_frame *frame, struct candidate *out)
{
	struct arch_registers registers;
	uint64_t known = frame->registers ? frame->registers(frame, &registers) : 0;

	for (unsigned i = 0; i < ARCH_DWARF_REGS; i++)
		if (known >> i & 1)
			try_state(layout, reader, registers.r[i], frame->caller_sp, out);
}

/*
 * Find the lua_State that runs in @frame, a C frame of luaV_execute(). The offset of the state in
 * the frame is cached for each return address. If the innermost frame may be half set up, cache the
 * offset only if it is among the registers that are saved first. Returns 0 or -ENOENT.
 */
static int find_state(const struct runtime *runtime, struct runtime_reader *reader,
	const struct unwind_frame *frame, int is_innermost, uintptr_t current, uintptr_t *state)
{
	const struct lua_layout *layout = lua_layout(runtime);
	uint64_t hash = runtime_mix(runtime_mix(0, runtime->entry), frame->caller_pc);
	uintptr_t at, word, found_at = 0, in_frame;
	struct candidate found = {.state = 0};
	uint32_t kept;

	if (runtime_cache_find_number(reader, hash, &kept) &&
		kept * sizeof(word) <= frame->caller_sp - frame->sp) {
		if (runtime_load_word(reader, frame->caller_sp - kept * sizeof(word), &word))
			return -ENOENT;
		if (word != current || !current)
			try_state(layout, reader, word, frame->caller_sp, &found);
		*state = word;
		if (word && (word == current || word == found.state))
			return 0;
	}
	at = frame->caller_sp - sizeof(word);
	for (unsigned n = 0; at >= frame->sp && n < FRAME_WORDS_MAX; n++, at -= sizeof(word)) {
		uintptr_t before = found.state;

		if (runtime_load_word(reader, at, &word))
			return -ENOENT;
		try_state(layout, reader, word, frame->caller_sp, &found);
		if (found.state != before)
			found_at = at;
	}
	in_frame = found.state;
	if (is_innermost)
		try_registers(layout, reader, frame, &found);
	if (!found.state || found.is_ambiguous)
		return -ENOENT;
	if (!is_innermost ||
		(found.state == in_frame && frame->caller_sp - found_at <= SAVED_BYTES))
		runtime_cache_keep_number(
			reader, hash, (uint32_t)((frame->caller_sp - found_at) / sizeof(word)));
	*state = found.state;
	return 0;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int has_begun(
	const struct runtime *runtime, struct runtime_reader *reader, const struct lua_call *call)
{
	uintptr_t code;

	return runtime_load_word(reader, call->proto + lua_layout(runtime)->code, &code) ||
	       call->saved != code;
}

/*
 * Is @call a tail call that has not replaced its caller yet? Up to 5.3, Lua first adds such a call
 * to the list, then moves the call to the list entry of its caller.
 */
static int is_replacing(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, const struct lua_call *call)
{
	const struct lua_layout *layout = lua_layout(runtime);
	struct lua_call caller;
	uint32_t opcode;

	if (call->is_fresh ||
		lua_read_call(runtime, reader, stack->state, call->previous, &caller) ||
		!caller.function ||
		runtime_load(reader, caller.saved - LUA_INSTRUCTION, &opcode, sizeof(opcode)))
		return 0;
	opcode &= (1u << layout->opcode_bits) - 1;
	/* OP_TAILCALL is the opcode after OP_CALL, and both have the kind 'C'. */
	return opcode && lua_dialect(layout)->opcodes[opcode] == 'C' &&
	       lua_dialect(layout)->opcodes[opcode - 1] == 'C';
}

/* Set stack->frame to the state's innermost Lua call that luaV_execute() has started. */
static int enter_state(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, int is_first, int is_innermost)
{
	uintptr_t call;
	struct lua_call innermost;
	int error;

	if (runtime_load_word(reader, stack->state + lua_layout(runtime)->state_call, &call))
		return -EFAULT;
	stack->frame = call;
	error = skip_native(runtime, reader, stack);
	if (error || !is_first || stack->frame != call)
		return error;
	stack->own[OWN_INNERMOST] = call;
	error = read_call(runtime, reader, stack, call, &innermost);
	if (error || (is_innermost ? !is_replacing(runtime, reader, stack, &innermost)
				   : has_begun(runtime, reader, &innermost)))
		return error;
	/* The innermost call has not started yet, so use its caller. */
	stack->own[OWN_INNERMOST] = 0;
	stack->frame = innermost.previous;
	return skip_native(runtime, reader, stack);
}

/*
 * Set @stack to the next call of @state, which is another state than that of the previous C frame
 * of luaV_execute(). The previous state may have more calls, if C code called into @state from a
 * function of the previous state. Keep these calls in own[OWN_OTHER].
 */
static int change_state(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, uintptr_t state, int is_innermost)
{
	struct runtime_stack before = *stack;
	int is_known = before.own[OWN_OTHER] == state, is_first = !before.state;

	stack->state = state;
	if (before.own[OWN_OTHER] && before.frame && !is_known)
		return -EBADMSG;
	if (before.frame || is_known) {
		stack->own[OWN_OTHER] = before.frame ? before.state : 0;
		stack->own[OWN_OTHER_CALL] = before.frame;
	}
	stack->frame = before.own[OWN_OTHER_CALL];
	return is_known ? 0 : enter_state(runtime, reader, stack, is_first, is_innermost);
}

static int is_called_by_lua_call(const struct runtime *runtime, uintptr_t caller_pc)
{
	for (unsigned i = 0; i < RUNTIME_OBJECTS_MAX; i += 2)
		if (caller_pc > runtime->objects[i] && caller_pc <= runtime->objects[i + 1])
			return 1;
	return 0;
}

static int enter_lua(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, const struct unwind_frame *frame)
{
	int is_trusted = reader->is_trusted, is_innermost = stack->is_innermost, error;
	uintptr_t state;

	if (!stack->state)
		reader->may_trust = reader->is_own && is_innermost;
	reader->is_trusted = 0;
	error = find_state(runtime, reader, frame, is_innermost, stack->state, &state);
	if (!error && state != stack->state)
		error = change_state(runtime, reader, stack, state, is_innermost);
	/*
	 * If this state has no calls left but the previous one has, the C frame should belong to
	 * the previous state. Fail, because the previous state's calls would be lost.
	 */
	if (!error && !stack->frame && stack->own[OWN_OTHER])
		error = -EBADMSG;
	reader->is_trusted = is_trusted;
	stack->own[OWN_FLAGS] = is_called_by_lua_call(runtime, frame->caller_pc) ? 0 : ALL_ARE_READ;
	stack->place = stack->frame ? RUNTIME_AT_COUNTED : UINTPTR_MAX;
	return error;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * Returns the address after the current instruction of the function with @code, if a register has
 * that address. Returns 0 if no register has it, or if it is not clear which register has it.
 */
static uintptr_t find_instruction(
	const struct runtime_stack *stack, uintptr_t code, uintptr_t code_bytes)
{
	struct arch_registers registers;
	uintptr_t found = 0;
	uint64_t known;

	if (!stack->run_by || !stack->run_by->registers)
		return 0;
	known = stack->run_by->registers(stack->run_by, &registers);
	for (unsigned slot = 0; slot < ARCH_CFI_SLOTS; slot++) {
		unsigned reg = arch_cfi_reg(slot);
		uintptr_t at = registers.r[reg] - code;

		if (!(known >> reg & 1) || !at || at > code_bytes || at % LUA_INSTRUCTION)
			continue;
		/* Of the addresses of the current and of the next instruction, use the latter. */
		if (found && at + LUA_INSTRUCTION != found && found + LUA_INSTRUCTION != at &&
			found != at)
			return 0;
		if (at > found)
			found = at;
	}
	return found ? code + found : 0;
}

static int fill_call(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, const struct lua_call *call, struct runtime_frame *out)
{
	const struct lua_layout *layout = lua_layout(runtime);
	uintptr_t code, bytes, saved = call->saved;
	const uint64_t *noted;
	int error = lua_read_proto(layout, reader, call, &noted);

	if (error)
		return error;
	code = noted[LUA_NOTED_CODE];
	bytes = noted[LUA_NOTED_NUMBERS] >> 32;
	if (saved - code > bytes || (saved - code) % LUA_INSTRUCTION)
		return -EBADMSG;
	*out = (struct runtime_frame){
		.function = call->proto,
		.identity = noted[LUA_NOTED_IDENTITY],
		.first_line = (uint32_t)noted[LUA_NOTED_NUMBERS],
		.position = -1,
		.code = call->proto,
		.lines = call->proto,
		.name = call->at | OF_CALL,
		.file = noted[LUA_NOTED_FILE],
	};
	if (!out->first_line) {
		out->first_line = 1;
		out->name = OF_MAIN;
	}
	if (call->at == stack->own[OWN_INNERMOST] && !layout->notes_all)
		saved = find_instruction(stack, code, bytes);
	if (saved > code)
		out->position = (int32_t)((saved - code) / LUA_INSTRUCTION) - 1;
	return 0;
}

static int next_lua(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	struct lua_call call;
	int error;

	(void)room;
	if (stack->is_over) {
		stack->is_over = 0;
		stack->place =
			stack->frame || stack->own[OWN_OTHER] ? RUNTIME_AT_COUNTED : UINTPTR_MAX;
		return 0;
	}
	error = read_call(runtime, reader, stack, stack->frame, &call);
	if (!error)
		error = fill_call(runtime, reader, stack, &call, out);
	if (error)
		return error;
	stack->frame = call.previous;
	error = skip_native(runtime, reader, stack);
	if (error)
		return error;
	stack->is_over =
		!stack->frame || (call.is_fresh && !(stack->own[OWN_FLAGS] & ALL_ARE_READ));
	return 1;
}

const struct runtime_kind runtime_lua = {
	.name = "lua",
	.known = "5.1 to 5.5",
	.find = lua_find,
	.enter = enter_lua,
	.next = next_lua,
	.line = lua_line,
	.text = lua_text,
};
