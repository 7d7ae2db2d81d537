/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Perl 5.36, 5.40 and 5.42 with threads (ithreads). Perl_runops_standard() runs a function and all
 * that it calls, except what comes through C: magic, overloading, sort, DESTROY, call_sv(). What
 * runs stands in stacks of contexts, one for each stackinfo, beside loops and blocks:
 *
 *	PL_curstackinfo ─▶ SORT    [by_name]
 *	     si_prev    ─▶ MAIN    [block] [sorted] [loop] [FETCH, returns nowhere] [eval]
 *	                                                   ^ the outermost of its activation
 *
 * Nothing in Perl_runops_standard()'s stack frame tells whose it is, so activations are counted. A
 * context is the outermost of one where it is the first of a stackinfo but the main one, or where
 * it returns to no instruction and what was saved last before it is the instruction under way: so
 * call_sv() begins. `eval {}` in what call_sv() runs goes on in an activation that the one before
 * waits for: both have one run. Between them is docatch(), and the instruction's function if that
 * does not end with a jump to docatch(). What is below all is the program, whose
 * activation perl_run() has called; in a thread, and in a host that calls functions, it has none.
 *
 * The interpreter is the thread-specific value of PL_thr_key, which is looked for among those of
 * the thread and known by what it holds; else that of the main thread is PL_curinterp's. That it
 * is the thread's is told by PL_top_env, which lies on the stack of who runs it.
 *
 * Offsets are from Perl's headers (intrpvar.h, cop.h, cv.h, hv.h, op.h): those of struct
 * perl_layout, and constants that all of its releases share. They are for builds whose interpreter
 * has the size that the process says (PL_interp_size). A context that is pushed or popped at the
 * moment is the topmost: it is read with care, and is none unless its function's depth says so.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "arch/epilogue.h"
#include "arch/ptrace.h"
#include "arch/syscall.h"
#include "libprof/runtime/perl.h"

#define REVISION 5u

/* What differs by release: offsets in bytes, and the numbers of instructions. */
struct perl_layout {
	uint32_t version; /* 100 times the revision, and the version */
	uint32_t interpreter_bytes;
	uint32_t top_env, start_env, script, phase; /* of the interpreter */
	uint32_t saved_op;			    /* the kind of what SAVEOP() saves */
	uint32_t next_state;			    /* the debugger's is the next number */
	uint32_t enter_try, enter_try_catch, require, do_file, leave_eval;
};

/* Printed by layout.py, from perl.layout. */
static const struct perl_layout layouts[] = {
#include "libprof/runtime/perl_layouts.inc"
};

#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

/* runtime.offsets[0] is the index of the process's release. */
static const struct perl_layout *layout_of(const struct runtime *runtime)
{
	return &layouts[runtime->offsets[0]];
}

/* struct interpreter, as much of its beginning as is looked at. */
struct perl_interpreter {
	uintptr_t stack, instruction;
	uint64_t between[3];
	uintptr_t saved;
	int32_t saved_last, saved_room;
	uint64_t behind[19];
	uintptr_t line, current_stack, stackinfo;
};
_Static_assert(offsetof(struct perl_interpreter, saved) == 40 &&
		       offsetof(struct perl_interpreter, line) == 208,
	"as Perl has them");
#define PHASE_DESTRUCT 6u

struct perl_stackinfo {
	uintptr_t stack, contexts, previous, next;
	int32_t last, room, last_sub, kind;
};
#define KIND_SORT      3
#define KIND_MULTICALL 10

/* struct context, of a sub, a format or an eval. */
struct perl_context {
	uint8_t type, wanted;
	uint16_t more;
	int32_t saved, values, marks;
	uintptr_t caller; /* the line that was current: a COP */
	uint64_t between[3];
	uintptr_t next; /* instruction to return to */
	uint64_t sub_before;
	uintptr_t name; /* of an eval */
	uintptr_t function;
	int32_t depth; /* of the function, before */
	uint32_t unused;
	uintptr_t evaluated; /* the function that an eval was compiled to */
};
_Static_assert(
	offsetof(struct perl_context, next) == 48 && offsetof(struct perl_context, evaluated) == 88,
	"as Perl has them");
#define CONTEXT_BYTES	104u
#define CONTEXT_FORMAT	80u /* its name */
#define CONTEXTS_MAX	(1 << 24)
#define TYPE		0xfu
#define TYPE_NULL	0u
#define TYPE_SUB	9u
#define TYPE_FORMAT	10u
#define TYPE_EVAL	11u
#define TYPE_DEFER	13u
#define SUB_IN_REGEX	0x80u /* code in a pattern, which stands in its function */
#define EVAL_BLOCKS	0xc0u /* eval {}, try {} */
#define MORE_TYPE_SHIFT 7u    /* the instruction's */
#define SAVED_MASK	0x3fu
#define DEFER_SAVED	4 /* words: the temporaries' floor and the instruction */
#define SAVED_AT_ONCE	64

#define VALUE_TYPE   0xffu
#define VALUE_CODE   13u
#define VALUE_FORMAT 14u

struct perl_instruction {
	uintptr_t next, sibling, run, target;
	uint16_t type;
	uint8_t flags, own;
	uint32_t line; /* where a line begins, and so `file` */
};
#define TYPE_MASK	 0x1ffu
#define INSTRUCTION_LINE 36u
#define INSTRUCTION_FILE 48u
#define START_MAX	 4u /* instructions until the first line */

/* What a walk keeps (runtime_stack.own). */
#define OWN_INTERPRETER 0  /* address */
#define OWN_CONTEXTS	1  /* of the stackinfo */
#define OWN_TOP		2  /* the topmost context of all */
#define OWN_LINE	3  /* the COP that the next frame is at */
#define IS_CURRENT	1u /* beside it: it is PL_curcop */

/* In struct pthread of glibc: numbers of keys that are in use are odd. */
#define KEYS_FIRST	   0x80u
#define KEYS_END	   0x800u
#define KEYS_AT_ONCE	   0x180u
#define NUMBER_MAX	   (1u << 30)
#define STACK_MAX	   ((uintptr_t)64 << 20) /* of a thread that is known by PL_top_env alone */
#define NAME_HASHED	   128u
#define FUNCTION_BYTES_MAX 8192u      /* of the instructions whose code is looked at */
#define SKIPPED_MAX	   (1u << 20) /* contexts of loops and blocks, in one go */

/* The number in the symbol @name, which has @bytes; 0: there is none. */
static uint32_t number_of(struct runtime_reader *reader, struct runtime_symbols *symbols,
	const char *name, unsigned bytes)
{
	uintptr_t at = runtime_symbol(symbols, reader, name, NULL);
	uint32_t found = 0;

	return at && !runtime_load(reader, at, &found, bytes) ? found : 0;
}

/* Stand behind the next function that the code from @at to @end calls. Returns its start, or 0. */
static uintptr_t next_called(struct runtime_reader *reader, uintptr_t *at, uintptr_t end)
{
	uint8_t code[ARCH_CALL_BYTES];
	uintptr_t called = 0;

	for (; !called && *at + sizeof(code) <= end &&
		!runtime_load(reader, *at, code, sizeof(code));
		*at += ARCH_CALL_STEP)
		called = arch_called(code, *at);
	return called;
}

static int calls(struct runtime_reader *reader, uintptr_t at, uintptr_t end, uintptr_t wanted)
{
	uintptr_t called;

	do
		called = next_called(reader, &at, end);
	while (called && called != wanted);
	return called != 0;
}

/* Find the function of instruction @number. Returns 0, or -ENOENT: it is none of the module's. */
static int find_instruction(struct runtime_reader *reader, struct runtime_symbols *symbols,
	unsigned number, uintptr_t *begin, uintptr_t *end)
{
	uintptr_t table = runtime_symbol(symbols, reader, "PL_ppaddr", NULL), at;

	if (!table || runtime_load_word(reader, table + number * sizeof(at), &at) ||
		runtime_function(symbols, reader, at, begin, end) || *begin != at ||
		*end - *begin > FUNCTION_BYTES_MAX)
		return -ENOENT;
	return 0;
}

/* Find docatch(), which is not exported: the one function that `eval {}` and `try {}` both call. */
static void find_joiner(struct runtime *out, struct runtime_reader *reader,
	struct runtime_symbols *symbols, const struct perl_layout *layout)
{
	uintptr_t at, end, other, other_end, called, begin, behind;

	if (find_instruction(reader, symbols, layout->enter_try, &at, &end) ||
		find_instruction(reader, symbols, layout->enter_try_catch, &other, &other_end))
		return;
	while ((called = next_called(reader, &at, end))) {
		if (!calls(reader, other, other_end, called) ||
			runtime_function(symbols, reader, called, &begin, &behind) ||
			begin != called)
			continue;
		out->joiner = begin;
		out->joiner_end = behind;
		return;
	}
}

static int find_perl(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uint64_t bytes = 0;
	unsigned i = 0;

	out->base = runtime_symbol(symbols, reader, "PL_curinterp", &bytes);
	if (!out->base || number_of(reader, symbols, "PL_revision", 1) != REVISION)
		return -ENOENT;
	out->base_bytes = bytes;
	out->version = 100 * REVISION + number_of(reader, symbols, "PL_version", 1);
	while (i < LAYOUTS && layouts[i].version != out->version)
		i++;
	if (i == LAYOUTS || !runtime_symbol(symbols, reader, "PL_thr_key", NULL) ||
		number_of(reader, symbols, "PL_interp_size", 2) != layouts[i].interpreter_bytes)
		return -ENOTSUP;
	out->offsets[0] = i;
	out->entry = runtime_symbol(symbols, reader, "Perl_runops_standard", &bytes);
	out->entry_end = out->entry + bytes;
	out->start = runtime_symbol(symbols, reader, "perl_run", &bytes);
	out->start_end = out->start + bytes;
	out->is_counted = out->is_joined = 1;
	find_joiner(out, reader, symbols, &layouts[i]);
	return out->entry && out->start ? 0 : -ENOTSUP;
}

/* ---- contexts -------------------------------------------------------------------------------- */

/* Stand at the topmost context of the stackinfo at @address. */
static int enter_stackinfo(struct runtime_reader *reader, struct runtime_stack *stack,
	uintptr_t address, struct perl_stackinfo *info)
{
	if (runtime_load(reader, address, info, sizeof(*info)))
		return -EFAULT;
	if (info->last < -1 || info->last > info->room || info->room > CONTEXTS_MAX ||
		!info->contexts)
		return -EBADMSG;
	stack->activation = address;
	stack->own[OWN_CONTEXTS] = info->contexts;
	stack->frame = info->contexts + (uintptr_t)(info->last + 1) * CONTEXT_BYTES;
	return 0;
}

/* Is it of one of the kinds that may be a frame, or begin a run? */
static int is_told(const struct runtime_stack *stack, const struct perl_context *context)
{
	switch (context->type & TYPE) {
	case TYPE_SUB:
	case TYPE_FORMAT:
	case TYPE_DEFER:
		return 1;
	case TYPE_EVAL:
		return !(context->type & EVAL_BLOCKS);
	case TYPE_NULL:
		return stack->frame == stack->own[OWN_CONTEXTS] + CONTEXT_BYTES;
	default:
		return 0;
	}
}

/*
 * Read the next context that counts: stack->frame is where it ends. What the topmost of all leads
 * to is read with care. Returns 1; 0: there are no more; or -errno.
 */
static int find_context(
	struct runtime_reader *reader, struct runtime_stack *stack, struct perl_context *out)
{
	for (unsigned n = 0; n < SKIPPED_MAX; n++) {
		struct perl_stackinfo info;

		if (stack->frame == stack->own[OWN_CONTEXTS]) {
			if (runtime_load(reader, stack->activation, &info, sizeof(info)))
				return -EFAULT;
			if (!info.previous)
				return 0;
			if (enter_stackinfo(reader, stack, info.previous, &info))
				return -EBADMSG;
			continue;
		}
		reader->is_trusted = reader->may_trust;
		if (runtime_load(reader, stack->frame - CONTEXT_BYTES, out, sizeof(*out)))
			return -EFAULT;
		reader->is_trusted = reader->may_trust && stack->frame != stack->own[OWN_TOP];
		if (is_told(stack, out))
			return 1;
		stack->frame -= CONTEXT_BYTES;
	}
	return -EBADMSG;
}

/* Was the instruction under way saved before the context began, and nothing else since? */
static int begins_call(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, const struct perl_context *context)
{
	int is_trusted = reader->is_trusted, is_so;
	struct perl_interpreter interpreter;
	uintptr_t last;

	if (runtime_load(reader, stack->own[OWN_INTERPRETER], &interpreter, sizeof(interpreter)))
		return 0;
	if (context->saved <= 0 || context->saved > interpreter.saved_last)
		return 0;
	/* It is moved when it grows. */
	if ((int64_t)interpreter.saved_room - interpreter.saved_last < SAVED_AT_ONCE)
		reader->is_trusted = 0;
	is_so = !runtime_load_word(reader,
			interpreter.saved + ((uintptr_t)context->saved - 1) * sizeof(last),
			&last) &&
		(last & SAVED_MASK) == layout_of(runtime)->saved_op;
	reader->is_trusted = is_trusted;
	return is_so;
}

/*
 * Does the context return to the end of a defer block, which is the next context outward? That
 * block has its own activation, for which the instruction under way was saved, too.
 */
static int ends_defer(struct runtime_reader *reader, const struct runtime_stack *stack,
	const struct perl_context *context)
{
	struct perl_context outer;

	return stack->frame - stack->own[OWN_CONTEXTS] > CONTEXT_BYTES &&
	       !runtime_load(reader, stack->frame - 2 * CONTEXT_BYTES, &outer, sizeof(outer)) &&
	       (outer.type & TYPE) == TYPE_DEFER &&
	       (int64_t)context->saved - outer.saved <= DEFER_SAVED;
}

/* Is it the outermost context of an activation? */
static int begins_run(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, const struct perl_context *context)
{
	unsigned type = context->type & TYPE;
	uintptr_t previous;

	if (type == TYPE_DEFER)
		return 1;
	if (stack->frame == stack->own[OWN_CONTEXTS] + CONTEXT_BYTES &&
		!runtime_load_word(reader,
			stack->activation + offsetof(struct perl_stackinfo, previous), &previous) &&
		previous)
		return 1;
	return (type == TYPE_SUB || type == TYPE_EVAL) && !context->next &&
	       begins_call(runtime, reader, stack, context) && !ends_defer(reader, stack, context);
}

/* Stand at the next run. */
static int enter_run(struct runtime_reader *reader, struct runtime_stack *stack)
{
	struct perl_context context;
	int found = stack->frame ? find_context(reader, stack, &context) : 0;

	if (found < 0)
		return found;
	stack->place = !stack->frame ? UINTPTR_MAX
		       : found	     ? RUNTIME_PLACE_COUNTED
				     : RUNTIME_PLACE_OUTERMOST;
	return 0;
}

/* ---- a thread's interpreter ------------------------------------------------------------------ */

/* Does it run on the stack that has @sp? One that nobody has entered has none. */
static int is_on_stack(const struct perl_layout *layout, struct runtime_reader *reader,
	uintptr_t interpreter, uintptr_t sp, int is_threads)
{
	uintptr_t top;

	if (runtime_load_word(reader, interpreter + layout->top_env, &top))
		return 0;
	if (is_threads && top == interpreter + layout->start_env)
		return 1;
	return reader->stack_bytes ? top - reader->stack_start < reader->stack_bytes
				   : top - sp < STACK_MAX;
}

/*
 * sort and what else calls a function many times has its context from before the first call to
 * behind the last. In between, no instruction is under way.
 */
static int skip_idle(struct runtime_reader *reader, struct runtime_stack *stack, int32_t kind)
{
	struct perl_context context;
	int found;

	if (kind != KIND_SORT && kind != KIND_MULTICALL)
		return 0;
	found = find_context(reader, stack, &context);
	if (found > 0 && stack->frame == stack->own[OWN_CONTEXTS] + CONTEXT_BYTES)
		stack->frame -= CONTEXT_BYTES;
	return found < 0 ? found : 0;
}

/* Stand at the innermost run of the interpreter that @slot has, if that runs on the stack. */
static int enter_slot(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t slot,
	uintptr_t sp, int is_threads, struct runtime_stack *out)
{
	const struct perl_layout *layout = layout_of(runtime);
	struct perl_interpreter interpreter;
	struct perl_stackinfo info;
	uintptr_t address;
	uint32_t phase;
	int error;

	*out = (struct runtime_stack){.state = slot};
	reader->is_trusted = reader->is_own && is_threads;
	error = runtime_load_word(reader, slot, &address);
	reader->is_trusted = 0;
	if (error || !address || address % 8 ||
		runtime_load(reader, address, &interpreter, sizeof(interpreter)) ||
		enter_stackinfo(reader, out, interpreter.stackinfo, &info) ||
		info.stack != interpreter.current_stack)
		return -ENOENT;
	/* One that is no more has no stackinfo. */
	reader->is_trusted = reader->is_own;
	error = runtime_load(reader, address + layout->phase, &phase, sizeof(phase)) ||
		!is_on_stack(layout, reader, address, sp, is_threads);
	reader->is_trusted = 0;
	if (error)
		return -ENOENT;
	if (phase >= PHASE_DESTRUCT)
		return -EBUSY;
	/* They are moved when they grow. */
	reader->may_trust = reader->is_own && info.last < info.room;
	out->own[OWN_INTERPRETER] = address;
	out->own[OWN_TOP] = out->frame;
	out->own[OWN_LINE] = interpreter.line | IS_CURRENT;
	error = interpreter.instruction ? 0 : skip_idle(reader, out, info.kind);
	return error ? error : enter_run(reader, out);
}

/* Among the values that @thread has for keys. */
static int find_slot(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, struct runtime_stack *out)
{
	int error = -ENOENT;

	for (uintptr_t at = thread->self + KEYS_FIRST;
		error == -ENOENT && at < thread->self + KEYS_END; at += sizeof(uintptr_t)) {
		uintptr_t entry[2];

		if ((at - thread->self) % KEYS_AT_ONCE == 0)
			runtime_expect(reader, at, KEYS_AT_ONCE + sizeof(uintptr_t));
		if (runtime_load(reader, at, entry, sizeof(entry)))
			return -ENOENT;
		if (entry[0] % 2 && entry[0] < NUMBER_MAX && entry[1] > NUMBER_MAX)
			error = enter_slot(runtime, reader, at + sizeof(uintptr_t), sp, 1, out);
	}
	return error;
}

/*
 * Find out pthread_self() of a thread that is known by its number: the kernel has the address of
 * glibc's list of robust mutexes, which is near it. Returns it, or 0 if it is not known.
 */
static uintptr_t find_self(struct runtime_reader *reader, uint32_t tid)
{
	uintptr_t robust = 0, bytes = 0, words[ARCH_THREAD_WORDS];

	if (!ARCH_THREAD_ROBUST || !tid ||
		arch_syscall4(SYS_get_robust_list, tid, (long)&robust, &bytes, 0) || !robust ||
		runtime_load(reader, robust - ARCH_THREAD_ROBUST, words, sizeof(words)) ||
		!arch_is_thread_self(robust - ARCH_THREAD_ROBUST, words))
		return 0;
	return robust - ARCH_THREAD_ROBUST;
}

static int begin_perl(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *who, uintptr_t sp, uintptr_t known, struct runtime_stack *out)
{
	const struct runtime_thread found = {.self = find_self(reader, who->self ? 0 : who->tid)};
	const struct runtime_thread *thread = who->self ? who : &found;
	int error = -ENOENT;

	reader->may_trust = 0;
	if (thread->self && known - thread->self < KEYS_END)
		error = enter_slot(runtime, reader, known, sp, 1, out);
	else if (known == runtime->base)
		error = enter_slot(runtime, reader, known, sp, 0, out);
	if (error == -ENOENT && thread->self)
		error = find_slot(runtime, reader, thread, sp, out);
	if (error == -ENOENT)
		error = enter_slot(runtime, reader, runtime->base, sp, 0, out);
	return error == -ENOENT ? -ESRCH : error;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* The line that the next frame is at, where the function was called at @caller. */
static uint32_t line_of(
	struct runtime_reader *reader, const struct runtime_stack *stack, uintptr_t caller)
{
	uintptr_t at = stack->own[OWN_LINE];
	int is_trusted = reader->is_trusted;
	uint32_t line;

	/* One that is just begun is at no line of its own yet. */
	if (at % 2) {
		at -= IS_CURRENT;
		reader->is_trusted = 0;
	}
	if (!at || (at != stack->own[OWN_LINE] && at == caller) ||
		runtime_load(reader, at + INSTRUCTION_LINE, &line, sizeof(line)))
		line = 0;
	reader->is_trusted = is_trusted;
	return line;
}

/* The line that a function begins with: that of its first statement. */
static int find_start(const struct runtime *runtime, struct runtime_reader *reader, uintptr_t start,
	struct runtime_frame *out)
{
	const uint32_t next_state = layout_of(runtime)->next_state;
	struct perl_instruction instruction;

	for (unsigned n = 0; n < START_MAX && start; n++, start = instruction.next) {
		unsigned type;

		if (runtime_load(reader, start, &instruction, sizeof(instruction)))
			return -EFAULT;
		type = instruction.type & TYPE_MASK;
		if (type == next_state || type == next_state + 1) {
			out->first_line = instruction.line;
			return runtime_load_word(reader, start + INSTRUCTION_FILE, &out->file)
				       ? -EFAULT
				       : 0;
		}
	}
	return 0;
}

/*
 * The function of @context, which is at @at. Returns 1; 0: it has left it; -EAGAIN: it has not
 * entered it yet; or another -errno.
 */
static int read_function(const struct runtime *runtime, struct runtime_reader *reader,
	const struct perl_context *context, uintptr_t at, int is_topmost, struct runtime_frame *out)
{
	int is_format = (context->type & TYPE) == TYPE_FORMAT;
	struct perl_value value;
	struct perl_code code;
	uintptr_t glob;

	if (!context->function)
		return is_topmost ? 0 : -EBADMSG;
	if (context->function % 8 ||
		runtime_load(reader, context->function, &value, sizeof(value)) ||
		(value.flags & VALUE_TYPE) != (is_format ? VALUE_FORMAT : VALUE_CODE) ||
		value.body % 8 || runtime_load(reader, value.body, &code, sizeof(code)))
		return is_topmost ? -EAGAIN : -EBADMSG;
	/* A function in C that compares for sort runs in none of Perl's activations. */
	if (code.flags & CODE_NATIVE ||
		(is_topmost && (is_format ? code.depth < 1 : code.depth != context->depth + 1)))
		return -EAGAIN;
	out->function = code.start;
	out->name = context->function | OF_CODE;
	if (is_format && runtime_load_word(reader, at + CONTEXT_FORMAT, &glob))
		return -EFAULT;
	if (is_format)
		out->name = glob | OF_GLOB;
	if (find_start(runtime, reader, code.start, out))
		return -EFAULT;
	/* Closures are copies of one function. */
	out->identity = runtime_mix(runtime_mix(code.start, out->first_line), out->file);
	out->identity = runtime_mix(out->identity, is_format ? glob : code.name);
	return 1;
}

/* Code of a file: what it is called by. */
static int read_file(struct runtime_reader *reader, const struct perl_context *context,
	struct runtime_frame *out)
{
	struct runtime_bytes bytes = {.reader = reader};
	struct perl_value value;
	int byte;

	out->first_line = 1;
	if (!context->name || runtime_load(reader, context->name, &value, sizeof(value)))
		return -EFAULT;
	out->file = bytes.at = value.content;
	bytes.end = bytes.at + NAME_HASHED;
	out->identity = out->name;
	while ((byte = runtime_byte(&bytes)) > 0)
		out->identity = runtime_mix(out->identity, (unsigned)byte);
	return 1;
}

/* Of a string that is evaluated, at a statement; its lines are none of the file's. */
static int read_eval(struct runtime_reader *reader, const struct perl_context *context,
	struct runtime_frame *out)
{
	if (runtime_load(reader, context->caller + INSTRUCTION_LINE, &out->first_line,
		    sizeof(out->first_line)) ||
		runtime_load_word(reader, context->caller + INSTRUCTION_FILE, &out->file))
		return -EFAULT;
	out->line = 0;
	out->identity = runtime_mix(runtime_mix(OF_EVAL, context->caller), out->first_line);
	return 1;
}

/*
 * Is the eval of the topmost @context being compiled or run? A context that is pushed keeps for a
 * moment the type of what was there before, so it may look like an eval that is over. Nothing has
 * entered the function of that one any more, or its memory is used for something else. While Perl
 * compiles, or frees what it compiled, an instruction of eval itself is under way, or none.
 */
static int is_evaluating(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, const struct perl_context *context)
{
	const uintptr_t interpreter = stack->own[OWN_INTERPRETER];
	struct perl_instruction instruction;
	struct perl_value value;
	struct perl_code code;
	unsigned type;
	uintptr_t at;

	if (runtime_load_word(
		    reader, interpreter + offsetof(struct perl_interpreter, instruction), &at))
		return 0;
	if (!at)
		return 1;
	if (runtime_load(reader, at, &instruction, sizeof(instruction)))
		return 0;
	type = instruction.type & TYPE_MASK;
	if (type == context->more >> MORE_TYPE_SHIFT || type == layout_of(runtime)->leave_eval)
		return 1;
	return context->evaluated % 8 == 0 &&
	       !runtime_load(reader, context->evaluated, &value, sizeof(value)) &&
	       (value.flags & VALUE_TYPE) == VALUE_CODE && value.body % 8 == 0 &&
	       !runtime_load(reader, value.body, &code, sizeof(code)) && code.depth > 0;
}

/* As read_function(); 0: it stands for no frame, too. */
static int read_frame(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_stack *stack, const struct perl_context *context,
	struct runtime_frame *out)
{
	const struct perl_layout *layout = layout_of(runtime);
	unsigned instruction = context->more >> MORE_TYPE_SHIFT;
	unsigned type = context->type & TYPE;

	*out = (struct runtime_frame){
		.position = -1, .line = line_of(reader, stack, context->caller)};
	if (type == TYPE_FORMAT || (type == TYPE_SUB && !(context->type & SUB_IN_REGEX)))
		return read_function(runtime, reader, context, stack->frame - CONTEXT_BYTES,
			stack->frame == stack->own[OWN_TOP], out);
	if (type != TYPE_EVAL)
		return 0;
	if (stack->frame == stack->own[OWN_TOP] && !is_evaluating(runtime, reader, stack, context))
		return -EAGAIN;
	if (instruction == layout->require || instruction == layout->do_file) {
		out->name = instruction == layout->require ? OF_REQUIRE : OF_DO;
		return read_file(reader, context, out);
	}
	out->name = OF_EVAL;
	return read_eval(reader, context, out);
}

static int tell_main(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out)
{
	*out = (struct runtime_frame){.position = -1,
		.name = OF_MAIN,
		.first_line = 1,
		.line = line_of(reader, stack, 0)};
	if (runtime_load_word(
		    reader, stack->own[OWN_INTERPRETER] + layout_of(runtime)->script, &out->file))
		return -EFAULT;
	out->identity = runtime_mix(OF_MAIN, out->file);
	stack->frame = 0;
	stack->is_over = 1;
	return 1;
}

static int next_perl(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	if (stack->is_over) {
		stack->is_over = 0;
		return enter_run(reader, stack);
	}
	for (unsigned n = 0; n < SKIPPED_MAX; n++) {
		struct perl_context context;
		int found = find_context(reader, stack, &context), begins, told;

		(void)room;
		if (found <= 0)
			return found ? found : tell_main(runtime, reader, stack, out);
		begins = begins_run(runtime, reader, stack, &context);
		told = read_frame(runtime, reader, stack, &context, out);
		stack->frame -= CONTEXT_BYTES;
		if (told == -EAGAIN)
			continue;
		if (told < 0)
			return told;
		stack->is_over = told && begins;
		if (told)
			stack->own[OWN_LINE] = context.caller;
		if (told || begins)
			return told ? told : enter_run(reader, stack);
	}
	return -EBADMSG;
}

const struct runtime_kind runtime_perl = {
	.name = "perl",
	.known = "5.36, 5.40 and 5.42",
	.find = find_perl,
	.begin = begin_perl,
	.next = next_perl,
	.text = perl_text,
};
