/* SPDX-License-Identifier: MIT */
/*
 * Find the distance from the stack pointer to the frame pointer at one pc of a function, from the
 * function's code alone, for walks that begin without the frame pointer. All paths from the entry
 * are followed along branches and past calls, and the effect of each instruction on the two
 * pointers is tracked. If paths with different values join, as after alloca(), the distance is
 * unknown.
 *
 * Blocks to which no branch leads are cases of a switch, or exception handlers. Their stack pointer
 * is assumed to be the same as at the jumps through a register. If there are no such jumps, it is
 * assumed to be the same as at the calls that push no arguments.
 *
 * If a function aligns its stack after it has set its frame pointer, the result is a small range of
 * distances that contains the true one. The caller must find out which one is true.
 *
 * Context: not signal-safe, one thread only, because a static struct depth_search is used.
 */
#ifndef LIBPROF_UNWIND_STACK_DEPTH_H
#define LIBPROF_UNWIND_STACK_DEPTH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/code.h"
#include "arch/epilogue.h"

/* Bytes of the largest function that is decoded; largest interpreter loops have a quarter. */
#define DEPTH_CODE_MAX	0x40000u
#define DEPTH_STATES	250u
#define DEPTH_TODO	4096u
#define DEPTH_WINDOW	64u
#define DEPTH_ALIGN_MAX 256u

/*
 * The stack pointer and the frame pointer on a path. Offsets count from the stack pointer at the
 * function's entry, or, once the code has aligned the stack pointer, from its value before that.
 *
 * In a search to the returns (is_outward), offsets count from the stack pointer at the start of the
 * search. `fp` is the offset at which the path itself has saved the frame pointer, and `mark` the
 * offset from which the path has loaded the caller's frame pointer.
 */
struct depth_state {
	int32_t sp, fp, mark;
	/* If not 0, the stack was aligned after `fp` was set: sp may be lower by less than this. */
	uint32_t align;
	bool has_sp, has_fp, has_mark, unused; /* no padding, for memcmp() */
};

/* The distance from sp to fp in bytes. If align is not 0, it is least to least + align - 1. */
struct stack_depth {
	uint32_t least, align;
};

struct depth_search {
	const struct arch_text *source;
	/* Start of the function; the return address whose state is wanted, or 0 for none. */
	uintptr_t begin, pc;
	uint32_t bytes;
	unsigned state_count, todo_count;
	/*
	 * State at the pc; state at the start of blocks that no branch reaches; 0: not known yet.
	 */
	uint8_t found, gap;
	/* True if `gap` comes from jumps through registers, false if it comes from calls. */
	bool has_jumps;
	bool has_failed;
	/* If true, search the code from the pc to each return, else from the entry to the pc. */
	bool is_outward;
	uintptr_t window_begin;
	unsigned window_bytes;
	uint8_t window[DEPTH_WINDOW];
	struct depth_state states[DEPTH_STATES + 1]; /* state 0 is unused */
	uint32_t todo[DEPTH_TODO];		     /* offsets */
	/* number of the state at each offset; 0: not reached */
	uint8_t at[DEPTH_CODE_MAX];
};

static inline struct arch_instruction depth_decode(struct depth_search *search, uint32_t offset)
{
	uintptr_t pc = search->begin + offset, skip = pc - search->window_begin;

	if (pc < search->window_begin || skip + 15 > search->window_bytes) {
		search->window_begin = pc;
		search->window_bytes =
			arch_text_read(search->source, pc, search->window, DEPTH_WINDOW);
		skip = 0;
	}
	return arch_decode(search->window + skip, search->window_bytes - (unsigned)skip);
}

/* Returns the number of @state; adds it if it is new. Sets has_failed if the table is full. */
static inline uint8_t depth_intern(struct depth_search *search, const struct depth_state *state)
{
	for (unsigned i = 1; i <= search->state_count; i++)
		if (!memcmp(&search->states[i], state, sizeof(*state)))
			return (uint8_t)i;
	if (search->state_count == DEPTH_STATES) {
		search->has_failed = true;
		return 1;
	}
	search->states[++search->state_count] = *state;
	return (uint8_t)search->state_count;
}

/* Returns the state with the values that states @a and @b share; the others are unknown. */
static inline uint8_t depth_merge(struct depth_search *search, uint8_t a, uint8_t b)
{
	struct depth_state state = search->states[a];
	const struct depth_state *other = &search->states[b];

	if (!a || !b || a == b)
		return a ? a : b;
	if (!other->has_fp || state.fp != other->fp)
		state.has_fp = false;
	if (!other->has_sp || state.sp != other->sp || state.align != other->align)
		state.has_sp = false;
	if (!other->has_mark || state.mark != other->mark)
		state.has_mark = false;
	state.fp = state.has_fp ? state.fp : 0;
	state.sp = state.has_sp ? state.sp : 0;
	state.mark = state.has_mark ? state.mark : 0;
	state.align = state.has_sp && state.has_fp ? state.align : 0;
	return depth_intern(search, &state);
}

/* Merge @state into the state at @offset. Returns false if the state at @offset does not change. */
static inline bool depth_merge_into(struct depth_search *search, int64_t offset, uint8_t state)
{
	if (offset < 0 || offset >= search->bytes)
		return false;

	uint8_t merged = depth_merge(search, search->at[offset], state);

	if (merged == search->at[offset])
		return false;
	search->at[offset] = merged;
	return true;
}

static inline void depth_branch(struct depth_search *search, int64_t offset, uint8_t state)
{
	if (!depth_merge_into(search, offset, state))
		return;
	if (search->todo_count == DEPTH_TODO)
		search->has_failed = true;
	else
		search->todo[search->todo_count++] = (uint32_t)offset;
}

static inline void depth_forget_fp(struct depth_state *state)
{
	/* sp was aligned relative to the frame pointer, whose value is lost now. */
	if (state->align)
		state->has_sp = false;
	state->has_fp = false;
	state->fp = 0;
	state->align = 0;
}

static inline void depth_set_sp(struct depth_state *state, bool is_known, int64_t sp)
{
	/* No frame has so many bytes. The limit also prevents overflows of sums. */
	state->has_sp = is_known && sp < INT32_MAX / 4 && sp > INT32_MIN / 4;
	state->sp = state->has_sp ? (int32_t)sp : 0;
}

static inline void depth_set_mark(struct depth_state *state, int64_t value)
{
	state->has_mark = state->has_sp;
	state->mark = state->has_sp ? (int32_t)(state->sp + value) : 0;
}

static inline void depth_apply(
	struct depth_state *state, const struct arch_instruction *instruction)
{
	int64_t value = instruction->value;

	switch (instruction->effect) {
	case ARCH_EFFECT_UNKNOWN:
		depth_set_sp(state, false, 0);
		break;
	case ARCH_EFFECT_SP:
	case ARCH_EFFECT_PUSH_FP:
		depth_set_sp(state, state->has_sp, state->sp + value);
		break;
	case ARCH_EFFECT_ALIGN:
		if (state->align || value > DEPTH_ALIGN_MAX)
			depth_set_sp(state, false, 0);
		else if (state->has_fp && state->has_sp)
			state->align = (uint32_t)value;
		break;
	case ARCH_EFFECT_SP_FROM_FP:
	case ARCH_EFFECT_LEAVE:
		depth_set_sp(state, state->has_fp, state->fp + value);
		state->align = 0;
		if (instruction->effect == ARCH_EFFECT_SP_FROM_FP)
			break;
		/* fall through */
	case ARCH_EFFECT_POP_FP:
		depth_set_sp(state, state->has_sp, state->sp + (value ? value : 8));
		/* fall through */
	case ARCH_EFFECT_LOAD_FP:
	case ARCH_EFFECT_CLOBBER_FP:
		depth_forget_fp(state);
		break;
	case ARCH_EFFECT_FP_FROM_SP:
		depth_forget_fp(state);
		state->has_fp = state->has_sp;
		state->fp = state->has_sp ? (int32_t)(state->sp + value) : 0;
		break;
	case ARCH_EFFECT_MARK:
		depth_set_mark(state, value);
		break;
	case ARCH_EFFECT_MOVE_MARK:
		if (state->has_mark)
			state->mark += (int32_t)value;
		break;
	default:
		break;
	}
}

/*
 * Update @state by @instruction in a search to the returns. At the start, the frame pointer is
 * unknown, but the path may load the caller's frame pointer from the stack.
 */
static inline void depth_apply_outward(
	struct depth_state *state, const struct arch_instruction *instruction)
{
	switch (instruction->effect) {
	case ARCH_EFFECT_PUSH_FP:
		depth_set_sp(state, state->has_sp, (int64_t)state->sp + instruction->value);
		state->has_fp = state->has_sp;
		state->fp = state->sp;
		break;
	case ARCH_EFFECT_POP_FP:
		if (state->has_fp && state->has_sp && state->fp == state->sp)
			depth_forget_fp(state);
		else
			depth_set_mark(state, 0);
		depth_set_sp(state, state->has_sp, (int64_t)state->sp + instruction->value);
		break;
	case ARCH_EFFECT_LOAD_FP:
		depth_set_mark(state, instruction->value);
		break;
	case ARCH_EFFECT_SP:
		depth_set_sp(state, state->has_sp, (int64_t)state->sp + instruction->value);
		break;
	case ARCH_EFFECT_UNKNOWN:
	case ARCH_EFFECT_ALIGN:
	case ARCH_EFFECT_SP_FROM_FP:
	case ARCH_EFFECT_LEAVE:
	case ARCH_EFFECT_SAVE_FP:
		depth_set_sp(state, false, 0);
		break;
	default:
		break;
	}
}

/* At a call or a jump through a register: unreached blocks may start with @state, so note it. */
static inline void depth_note_gap(struct depth_search *search, uint8_t state, bool is_jump)
{
	const struct depth_state *old = &search->states[search->gap];
	const struct depth_state *now = &search->states[state];

	if (is_jump != search->has_jumps && search->gap) {
		if (!is_jump)
			return;
		search->gap = 0;
	}
	search->has_jumps = is_jump;
	/* Use the state of the calls that push the fewest bytes. */
	if (search->gap && !is_jump && old->has_sp && now->has_sp && old->has_fp && now->has_fp &&
		old->fp == now->fp && old->align == now->align)
		search->gap = old->sp >= now->sp ? search->gap : state;
	else if (is_jump || now->has_fp)
		search->gap = depth_merge(search, search->gap, state);
}

/* Execute @instruction, which ends at offset @next. Updates @state; returns its new number. */
static inline uint8_t depth_step(struct depth_search *search, struct depth_state *state,
	const struct arch_instruction *instruction, uint32_t next)
{
	bool is_wanted = search->begin + next == search->pc;
	uint8_t number;

	/* A path cannot be followed behind an unknown instruction. */
	search->has_failed |= !instruction->bytes;
	if (search->is_outward) {
		is_wanted = instruction->effect == ARCH_EFFECT_RETURN;
		depth_apply_outward(state, instruction);
	} else {
		depth_apply(state, instruction);
	}
	number = depth_intern(search, state);
	if (is_wanted)
		search->found = depth_merge(search, search->found, number);
	return number;
}

/* Follow one path from @offset until it ends, or until it changes no state any more. */
static inline void depth_follow(struct depth_search *search, uint32_t offset)
{
	bool is_compared = false;

	while (!search->has_failed) {
		struct arch_instruction instruction = depth_decode(search, offset);
		struct depth_state state = search->states[search->at[offset]];
		uint32_t next = offset + instruction.bytes;
		int64_t target = (int64_t)next + instruction.value;
		uint8_t number;

		number = depth_step(search, &state, &instruction, next);
		switch (instruction.effect) {
		case ARCH_EFFECT_CALL:
		case ARCH_EFFECT_CALL_INDIRECT:
			depth_note_gap(search, number, false);
			break;
		case ARCH_EFFECT_BRANCH:
			/*
			 * A stack probe loops until the stack pointer equals a register, the mark.
			 * Do not follow this branch back, because sp differs in each round. After
			 * the loop, sp is the mark.
			 */
			if (is_compared && state.has_mark)
				depth_set_sp(&state, true, state.mark);
			else
				depth_branch(search, target, number);
			number = depth_intern(search, &state);
			break;
		case ARCH_EFFECT_JUMP:
			depth_branch(search, target, number);
			return;
		case ARCH_EFFECT_JUMP_INDIRECT:
			depth_note_gap(search, number, true);
			return;
		case ARCH_EFFECT_RETURN:
			search->has_failed |= search->is_outward && instruction.value;
			return;
		case ARCH_EFFECT_STOP:
			return;
		default:
			break;
		}
		is_compared = instruction.effect == ARCH_EFFECT_COMPARE_MARK;
		if (!depth_merge_into(search, next, number))
			return;
		offset = next;
	}
}

static inline void depth_follow_all(struct depth_search *search)
{
	while (search->todo_count && !search->has_failed)
		depth_follow(search, search->todo[--search->todo_count]);
}

/* Follow the blocks to which no branch leads. Skip padding between parts of the function. */
static inline void depth_follow_unreached(struct depth_search *search)
{
	for (uint32_t offset = 0; offset < search->bytes && !search->has_failed;) {
		struct arch_instruction instruction = depth_decode(search, offset);

		if (!instruction.bytes)
			search->has_failed = true;
		if (!search->at[offset] && instruction.effect != ARCH_EFFECT_NOP &&
			instruction.effect != ARCH_EFFECT_STOP && search->gap) {
			depth_branch(search, offset, search->gap);
			depth_follow_all(search);
		}
		offset += instruction.bytes;
	}
}

static inline struct depth_search *depth_begin(
	const struct arch_text *source, uintptr_t begin, uintptr_t end, uintptr_t pc)
{
	static struct depth_search search;

	memset(&search, 0, offsetof(struct depth_search, window));
	search.source = source;
	search.begin = begin;
	search.bytes = (uint32_t)(end - begin);
	search.pc = pc;
	memset(search.at, 0, search.bytes);
	return &search;
}

/*
 * Find the distance from sp to fp at @pc of the function [@begin, @end) in @source. If @exact, @pc
 * is the next instruction to execute. Otherwise @pc is a return address, and the result is the
 * distance at the end of the call before @pc. Returns 0, or -ENOENT if the code does not show the
 * distance.
 */
static __attribute__((unused)) int stack_depth_find(const struct arch_text *source, uintptr_t begin,
	uintptr_t end, uintptr_t pc, bool exact, struct stack_depth *depth)
{
	const struct depth_state entry = {.has_sp = true};
	const struct depth_state *found;
	struct depth_search *search;

	if (end < begin || end - begin > DEPTH_CODE_MAX || pc < begin || pc > end - exact)
		return -ENOENT;
	search = depth_begin(source, begin, end, exact ? 0 : pc);
	depth_branch(search, 0, depth_intern(search, &entry));
	depth_follow_all(search);
	depth_follow_unreached(search);
	if (exact)
		search->found = search->at[pc - begin];
	found = &search->states[search->found];
	if (search->has_failed || !search->found || !found->has_sp || !found->has_fp ||
		found->fp < found->sp)
		return -ENOENT;
	depth->least = (uint32_t)(found->fp - found->sp);
	depth->align = found->align;
	return 0;
}

/*
 * Find the caller of the function that contains @pc of @source, if the begin of the function is not
 * known, by following all paths to its returns. Returns 0, or -ENOENT if the paths have different
 * results.
 */
static __attribute__((unused)) int stack_depth_outward(
	const struct arch_text *source, uintptr_t pc, struct arch_epilogue *epilogue)
{
	const uintptr_t reach = DEPTH_CODE_MAX / 2;
	const struct depth_state start = {.has_sp = true};
	const struct depth_state *found;
	struct depth_search *search;
	uintptr_t begin, end;

	/* If a call leaves the return address in a register, it may be anywhere by now. */
	if (!ARCH_ENTRY_CFA || pc < source->start || pc >= source->end)
		return -ENOENT;
	begin = pc - source->start > reach ? pc - reach : source->start;
	end = source->end - pc > reach ? pc + reach : source->end;
	search = depth_begin(source, begin, end, 0);
	search->is_outward = true;
	depth_branch(search, pc - begin, depth_intern(search, &start));
	depth_follow_all(search);
	found = &search->states[search->found];
	if (search->has_failed || !search->found || !found->has_sp || found->sp < 0 ||
		(found->has_mark && (found->mark < 0 || found->mark >= found->sp)))
		return -ENOENT;
	epilogue->ra = ARCH_ENTRY_CFA;
	epilogue->cfa = (uint32_t)found->sp + ARCH_ENTRY_CFA;
	epilogue->fp = found->has_mark ? epilogue->cfa - (uint32_t)found->mark : 0;
	epilogue->others = true;
	return 0;
}

#endif
