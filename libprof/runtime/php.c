/* SPDX-License-Identifier: MIT */
/* ASYNC-SIGNAL-SAFE: reachable from the handler. */
/*
 * Read the PHP functions of a thread, for PHP 8.2 and 8.4 without thread safety (NTS builds). One C
 * frame of execute_ex(), called an activation below, executes a PHP function and the PHP functions
 * that it calls. If a builtin function calls PHP code back, another activation executes that code:
 *
 *	executor_globals ─▶ usort's callback, TOP ─prev─▶ usort ─▶ sort_all ─▶ main script, TOP
 *	                    one activation's run          the run of the calling activation
 *
 * The functions of one activation are a run. A run ends at a frame of PHP code with the flag TOP,
 * the outermost one of its activation. execute_ex()'s C frame has no link to the PHP frames, so
 * activations and runs are matched by counting. Frames of builtins belong to the run that called
 * them. Frames without a function are not reported: PHP inserts such a frame when it calls back
 * while no PHP code runs, and one in place of all generators that delegate to another generator
 * (`yield from`). The frames of those generators are found by following the delegations inward.
 *
 * The offsets come from PHP's headers; php_layouts.inc has those that differ between releases. They
 * were checked with Debian's 8.2.36 (Debian 12) and 8.4.27 (Debian 13 and 14).
 *
 * From 8.3 on, php_version_id() returns the release; PHP 8.2 is recognised by its symbols. The size
 * of executor_globals must match, too, because options of PHP's configure script change its layout.
 * Each frame is checked: its function must be of a known kind, and PHP code must be at an
 * instruction of the same function.
 */
#include <errno.h>

#include "libprof/runtime/php.h"

#include "arch/php.h"

/* Offsets that differ between releases, in bytes. */
struct php_layout {
	uint32_t version;
	/* Bytes of executor_globals in the first patch release. */
	uint32_t globals_bytes;
	uint32_t flags, context;  /* in executor_globals */
	uint32_t code;		  /* php_code in zend_op_array */
	uint32_t generator_flags; /* in zend_generator */
};

static const struct php_layout layouts[] = {
#include "libprof/runtime/php_layouts.inc"
};
/* Index in runtime.offsets. The value is an index in `layouts`. */
#define LAYOUT 0u

/* The largest number of bytes that patch releases append to executor_globals. */
#define GLOBALS_MORE	64u
#define GLOBALS_CURRENT 488u
#define IN_SHUTDOWN	1u
#define VM_HYBRID	4u /* ZEND_VM_KIND_HYBRID */

/* The start of zend_execute_data. */
struct php_frame {
	uintptr_t instruction, call, result, function;
	uintptr_t object;
	uint32_t info, extra;
	uintptr_t previous;
};
#define INFO_KIND      0xffu /* the type of `object` */
#define INFO_OBJECT    8u
#define INFO_TOP       (1u << 17)
#define INFO_GENERATOR (1u << 24)

/* The start of zend_function, which is the same for builtins and PHP code. */
struct php_function {
	uint8_t kind, arguments[3];
	uint32_t flags;
	uintptr_t name, scope;
};

/* The part of zend_op_array from `last` on. */
struct php_code {
	uint32_t instructions_count, unused;
	uintptr_t instructions;
	uint64_t behind[7];
	uintptr_t file;
	uint32_t first_line, last_line;
};
#define KIND_BUILTIN 1u
#define KIND_CODE    2u
#define KIND_EVAL    4u /* PHP code, too */

#define INSTRUCTION_BYTES 32u /* sizeof(zend_op) */
#define INSTRUCTION_LINE  24u
#define TEXT_LENGTH	  16u /* of zend_string */
#define TEXT_BYTES	  24u
#define CLASS_NAME	  8u /* of zend_class_entry */

#define GENERATOR_FRAME	   56u /* of zend_generator */
#define GENERATOR_DELEGATE 152u
/* The flag ZEND_GENERATOR_CURRENTLY_RUNNING. */
#define GENERATOR_RUNNING  1u
#define OBJECT_CLASS	   16u

#define FIBER_CONTEXT  64u /* of zend_fiber */
#define FIBER_CALLER   168u
#define CONTEXT_HANDLE 0u /* of zend_fiber_context */
#define CONTEXT_KIND   8u

/* The largest number of generators that delegate, each one to the next. */
#define DELEGATIONS_MAX 32u
/* The largest number of frames without a function in a row. */
#define EMPTY_MAX	8u

/* Bit in runtime_frame.name: the other bits are the address of a function, not of a text. */
#define OF_FUNCTION 1u

/* Indices in runtime.objects. php.h has index 0. */
/* Start and, at the next index, end of the function at the outer end of each fiber's stack. */
#define FIBER_ROOT     1u
/* Start and, at the next index, end of the function that switches to another stack. */
#define FIBER_SWITCHER 3u

static const struct php_layout *layout_of(const struct runtime *runtime)
{
	return &layouts[runtime->offsets[LAYOUT]];
}

/* If @function does nothing but return a number, returns this number; otherwise 0. */
static uint32_t returned_by(
	struct runtime_symbols *symbols, struct runtime_reader *reader, const char *function)
{
	uintptr_t at = runtime_symbol(symbols, reader, function, NULL);
	uint8_t code[ARCH_PHP_RETURNS_BYTES];

	return at && !runtime_load(reader, at, code, sizeof(code)) ? arch_php_returned(code) : 0;
}

/* Returns the release, 802 for 8.2; 0 for an older or unknown release. */
static uint32_t find_version(struct runtime_symbols *symbols, struct runtime_reader *reader)
{
	if (runtime_symbol(symbols, reader, "php_version_id", NULL))
		return returned_by(symbols, reader, "php_version_id") / 100;
	return runtime_symbol(symbols, reader, "php_random_algo_mt19937", NULL) &&
			       !runtime_symbol(symbols, reader, "zend_call_stack_init", NULL)
		       ? 802
		       : 0;
}

static int find_layout(uint32_t version, uint64_t globals_bytes)
{
	for (unsigned i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version && globals_bytes >= layouts[i].globals_bytes &&
			globals_bytes <= layouts[i].globals_bytes + GLOBALS_MORE)
			return (int)i;
	return -ENOTSUP;
}

static int find_php(
	struct runtime *out, struct runtime_reader *reader, struct runtime_symbols *symbols)
{
	uint64_t bytes = 0;
	int layout;

	out->base = runtime_symbol(symbols, reader, "executor_globals", &bytes);
	if (!out->base)
		return -ENOENT;
	out->version = find_version(symbols, reader);
	layout = find_layout(out->version, bytes);
	if (layout < 0)
		return layout;
	out->offsets[LAYOUT] = (uint32_t)layout;
	out->base_bytes = bytes;
	out->entry = runtime_symbol(symbols, reader, "execute_ex", &bytes);
	out->entry_end = out->entry + bytes;
	out->code_type = runtime_symbol(symbols, reader, "zend_ce_generator", NULL);
	/* Only the hybrid interpreter jumps to compiled code; others call it (not supported). */
	if (returned_by(symbols, reader, "zend_vm_kind") == VM_HYBRID)
		out->objects[PHP_EXTENSIONS] =
			runtime_symbol(symbols, reader, "zend_extensions", NULL);
	out->objects[FIBER_ROOT] = runtime_symbol(symbols, reader, "make_fcontext", &bytes);
	out->objects[FIBER_ROOT + 1] = out->objects[FIBER_ROOT] + bytes;
	out->objects[FIBER_SWITCHER] =
		runtime_symbol(symbols, reader, "zend_fiber_switch_context", &bytes);
	out->objects[FIBER_SWITCHER + 1] = out->objects[FIBER_SWITCHER] + bytes;
	out->is_counted = 1;
	return out->entry && out->code_type ? 0 : -ENOTSUP;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/*
 * Does @frame, which has no function, stand for generators that delegate to another one? If so,
 * frame->object is the outermost of these generators.
 */
static int stands_for_generators(const struct php_frame *frame)
{
	return !frame->function && (frame->info & INFO_KIND) == INFO_OBJECT;
}

/*
 * Set @stack to the next run, i.e. the PHP frames of the next C frame of execute_ex(). @frame is
 * the innermost of these PHP frames, or a frame that it called and that is not reported.
 */
static int enter_run(struct runtime_reader *reader, struct runtime_stack *stack, uintptr_t frame)
{
	struct php_frame content;

	for (unsigned n = 0; frame; n++) {
		if (n == EMPTY_MAX || runtime_load(reader, frame, &content, sizeof(content)))
			return -EFAULT;
		if (content.function || stands_for_generators(&content))
			break;
		frame = content.previous;
	}
	stack->frame = frame;
	stack->place = frame ? RUNTIME_AT_COUNTED : UINTPTR_MAX;
	return 0;
}

static int begin_php(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_thread *thread, uintptr_t sp, uintptr_t known,
	struct runtime_stack *out)
{
	uintptr_t current;
	uint8_t flags;

	(void)thread;
	(void)sp;
	(void)known;
	/*
	 * This reader uses two members in its own way: `activation` counts the reported frames, and
	 * `state` counts the reported generators of one frame without a function.
	 */
	*out = (struct runtime_stack){0};
	if (runtime_load(reader, runtime->base + layout_of(runtime)->flags, &flags, 1) ||
		runtime_load_word(reader, runtime->base + GLOBALS_CURRENT, &current))
		return -EFAULT;
	if (current && flags & IN_SHUTDOWN)
		return -EBUSY;
	return enter_run(reader, out, current);
}

/* Returns the index of the instruction at @at in @code, or -1 if @code has no such instruction. */
static int32_t position_in(const struct php_code *code, uintptr_t at)
{
	uintptr_t offset = at - code->instructions;

	if (offset % INSTRUCTION_BYTES || offset / INSTRUCTION_BYTES >= code->instructions_count)
		return -1;
	return (int32_t)(offset / INSTRUCTION_BYTES);
}

/*
 * Returns the current instruction of @frame, the innermost frame, or 0 if it is not known. The
 * interpreter has the frame and the instruction in registers, and stores the instruction in the
 * frame only if it must. Compiled code has only the frame in a register.
 */
static uintptr_t find_instruction(const struct runtime_stack *stack, uintptr_t frame)
{
	const uint64_t needed = 1ULL << ARCH_DWARF_PHP_FRAME | 1ULL << ARCH_DWARF_PHP_INSTRUCTION;
	struct arch_registers registers;

	if (!stack->run_by || stack->run_by->is_generated || !stack->run_by->registers ||
		(stack->run_by->registers(stack->run_by, &registers) & needed) != needed ||
		registers.r[ARCH_DWARF_PHP_FRAME] != frame)
		return 0;
	return registers.r[ARCH_DWARF_PHP_INSTRUCTION];
}

/* Is the next frame to report the innermost one, and does compiled code execute it? */
static int is_compiled(const struct runtime_stack *stack)
{
	return !stack->activation && stack->run_by && stack->run_by->is_generated;
}

/*
 * Read the function of @frame, which is at @instruction (0: not known). PHP stored
 * frame->instruction at the last call or a similar point. Check that it belongs to the function,
 * unless @has_none is set because compiled code executes the frame. Returns 0; -ENOENT for the
 * frame at the outer end of a fiber, which is not reported; or another -errno.
 */
static int read_function(const struct runtime *runtime, struct runtime_reader *reader,
	const struct php_frame *frame, uintptr_t instruction, int has_none,
	struct runtime_frame *out)
{
	const uintptr_t at = frame->function;
	struct php_function function;
	struct php_code code;

	if (at % 8 || runtime_load(reader, at, &function, sizeof(function)))
		return -EFAULT;
	*out = (struct runtime_frame){
		.function = at,
		/*
		 * Mix the words one after another: builtins and their names are at equal distances,
		 * so XORs of the two addresses would be equal.
		 */
		.identity =
			runtime_mix(runtime_mix(runtime_mix(0, at), function.name), function.scope),
		.position = -1,
		.name = at | OF_FUNCTION,
	};
	if (function.kind == KIND_BUILTIN)
		return function.name ? 0 : -ENOENT;
	if (function.kind != KIND_CODE && function.kind != KIND_EVAL)
		return -EBADMSG;
	if (runtime_load(reader, at + layout_of(runtime)->code, &code, sizeof(code)))
		return -EFAULT;
	/* While PHP handles an exception, frame->instruction is in executor_globals. Accept it. */
	if (!has_none && position_in(&code, frame->instruction) < 0 &&
		frame->instruction - runtime->base >= runtime->base_bytes)
		return -EBADMSG;
	out->identity = runtime_mix(runtime_mix(out->identity, code.file), code.first_line);
	out->first_line = code.first_line;
	out->file = code.file;
	out->position = position_in(&code, instruction);
	out->lines = instruction;
	return 0;
}

/*
 * Find the frame of a generator in the chain of generators for which the frame @empty stands. Each
 * generator delegates ("yield from") to the next, and the last one, whose @number is 0, delegates
 * to the generator that runs. Returns 1 with the frame's address; 0 if there are fewer generators;
 * or -errno.
 */
static int find_delegating(const struct runtime *runtime, struct runtime_reader *reader,
	const struct php_frame *empty, uintptr_t number, uintptr_t *frame)
{
	uintptr_t generators[DELEGATIONS_MAX], generator = empty->object, class, wanted, next;
	unsigned count = 0;

	if (!stands_for_generators(empty))
		return 0;
	if (runtime_load_word(reader, runtime->code_type, &wanted))
		return -EFAULT;
	for (;; generator = next) {
		if (runtime_load_word(reader, generator + OBJECT_CLASS, &class) ||
			runtime_load_word(reader, generator + GENERATOR_DELEGATE, &next))
			return -EFAULT;
		if (class != wanted || (next && count == DELEGATIONS_MAX))
			return -EBADMSG;
		if (!next)
			break;
		generators[count++] = generator;
	}
	if (number >= count)
		return 0;
	generator = generators[count - 1 - number];
	return runtime_load_word(reader, generator + GENERATOR_FRAME, frame) ? -EFAULT : 1;
}

/*
 * Read the next frame that has a function, from stack->frame on. Returns 1; 2 if the result is the
 * frame of a generator for which stack->frame stands; or -errno.
 */
static int find_frame(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct php_frame *out)
{
	for (unsigned n = 0; n < EMPTY_MAX; n++) {
		uintptr_t delegating;
		int found;

		if (runtime_load(reader, stack->frame, out, sizeof(*out)))
			return -EFAULT;
		if (out->function)
			return 1;
		found = find_delegating(runtime, reader, out, stack->state, &delegating);
		if (found < 0)
			return found;
		if (found) {
			stack->state++;
			return runtime_load(reader, delegating, out, sizeof(*out)) ? -EFAULT : 2;
		}
		stack->state = 0;
		stack->frame = out->previous;
	}
	return -EBADMSG;
}

/*
 * Has PHP finished resuming the generator with @frame? PHP first makes this frame the current one,
 * then links it to the new caller, then sets the flag. Until the second step, the frame is linked
 * to the previous caller.
 */
static int is_resumed(
	const struct runtime *runtime, struct runtime_reader *reader, const struct php_frame *frame)
{
	uint8_t flags;

	/* The member `result` of a generator's frame is the generator. */
	return !runtime_load(
		       reader, frame->result + layout_of(runtime)->generator_flags, &flags, 1) &&
	       flags & GENERATOR_RUNNING;
}

static int next_php(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct runtime_frame *out, unsigned room)
{
	struct php_frame frame;
	uintptr_t instruction;
	int found, error = -ENOENT;

	(void)room;
	if (stack->is_over) {
		stack->is_over = 0;
		return enter_run(reader, stack, stack->frame);
	}
	/* Use no plain loads: PHP makes the innermost frame current before linking it. */
	if (stack->activation < 2)
		reader->is_trusted = 0;
	for (unsigned n = 0; n < EMPTY_MAX && error == -ENOENT; n++) {
		found = find_frame(runtime, reader, stack, &frame);
		if (found < 0)
			return found;
		instruction = stack->activation ? frame.instruction
						: find_instruction(stack, stack->frame);
		error = read_function(
			runtime, reader, &frame, instruction, is_compiled(stack), out);
		if (error == -ENOENT)
			stack->frame = frame.previous;
	}
	if (error)
		return error;
	if (!stack->activation && found == 1 && frame.info & INFO_GENERATOR &&
		!is_resumed(runtime, reader, &frame))
		return -EBADMSG;
	stack->activation++;
	/* Use no plain loads: PHP makes a generator's frame current before linking it. */
	if (frame.info & INFO_GENERATOR)
		reader->is_trusted = reader->may_trust = 0;
	if (found == 2)
		return 1;
	stack->frame = frame.previous;
	stack->is_over = !stack->frame || (out->file && frame.info & INFO_TOP);
	return 1;
}

/* ---- fibers ---------------------------------------------------------------------------------- */
/*
 * A fiber has its own native stack, with one C frame of execute_ex() that executes all that the
 * fiber calls. At the outer end of this stack, language frames and the walk continue in the context
 * that resumed the fiber:
 *
 *	executor_globals ─▶ fiber ─caller─▶ context, in the fiber that resumed it ─▶ … ─▶ main's
 *	                                       │ handle
 *	                                       ▼
 *	                                    registers, return address in zend_fiber_switch_context()
 *
 * zend_fiber_switch_context() stores the handle before and after the switch.
 */

static int is_within(const struct runtime *runtime, unsigned object, uintptr_t pc)
{
	uintptr_t start = runtime->objects[object];

	return pc - start < runtime->objects[object + 1] - start;
}

/* Find the fiber with @context, or the active fiber if @context is 0. Returns 1 or 0. */
static int find_fiber(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t context, uintptr_t *fiber)
{
	struct {
		uintptr_t main, current, active;
	} globals;
	uintptr_t kind, wanted;

	if (runtime_load(reader, runtime->base + layout_of(runtime)->context, &globals,
		    sizeof(globals)) ||
		!globals.active || globals.current != globals.active + FIBER_CONTEXT ||
		context == globals.main)
		return 0;
	*fiber = context ? context - FIBER_CONTEXT : globals.active;
	return !runtime_load_word(reader, globals.current + CONTEXT_KIND, &wanted) &&
	       !runtime_load_word(reader, *fiber + FIBER_CONTEXT + CONTEXT_KIND, &kind) &&
	       kind == wanted;
}

/*
 * Step from the outer end of a fiber's stack to the stack on which the fiber was resumed. Do
 * nothing while the thread is switching stacks (stack->is_over), because PHP has not stored yet
 * where it left that stack. stack->own[0] is the context of the next fiber outward.
 */
static int find_resumer(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct unwind_activation *at)
{
	uintptr_t fiber, caller, handle;

	if (!ARCH_PHP_HAS_FIBERS || stack->is_over || !is_within(runtime, FIBER_ROOT, at->pc) ||
		!find_fiber(runtime, reader, stack->own[0], &fiber) ||
		runtime_load_word(reader, fiber + FIBER_CALLER, &caller) || !caller ||
		runtime_load_word(reader, caller + CONTEXT_HANDLE, &handle) ||
		runtime_load_word(reader, handle + ARCH_PHP_LEFT_PC, &at->pc) ||
		runtime_load_word(reader, handle + ARCH_PHP_LEFT_FP, &at->fp) ||
		!is_within(runtime, FIBER_SWITCHER, at->pc))
		return 0;
	at->sp = handle + ARCH_PHP_LEFT_BYTES;
	stack->own[0] = caller;
	return UNWIND_CALLER;
}

static int step_php(const struct runtime *runtime, struct runtime_reader *reader,
	struct runtime_stack *stack, struct unwind_activation *at)
{
	switch (at->question) {
	case UNWIND_GENERATED:
		return php_leave_compiled(runtime, reader, at);
	case UNWIND_STACK_END:
		return find_resumer(runtime, reader, stack, at);
	default:
		stack->is_over |= at->innermost && is_within(runtime, FIBER_SWITCHER, at->pc);
		return 0;
	}
}

/* ---- lines and texts ------------------------------------------------------------------------- */

static uint32_t php_line(const struct runtime *runtime, struct runtime_reader *reader,
	const struct runtime_frame *frame)
{
	uint32_t line;

	(void)runtime;
	if (frame->position < 0 ||
		runtime_load(reader, frame->lines + INSTRUCTION_LINE, &line, sizeof(line)))
		return 0;
	return line;
}

/* Copy the zend_string at @address, up to a NUL. Returns the number of bytes. */
static uint32_t copy_text(
	struct runtime_reader *reader, uintptr_t address, char *out, uint32_t room, int keep_end)
{
	uintptr_t length;

	if (!address || runtime_load_word(reader, address + TEXT_LENGTH, &length))
		return 0;
	return runtime_load_text(reader, address + TEXT_BYTES, length, out, room, keep_end);
}

/* Write "Class::method" or "function"; for code outside of functions, the name in PHP's traces. */
static uint32_t copy_name(
	struct runtime_reader *reader, uintptr_t address, char *out, uint32_t room)
{
	uintptr_t name, scope, class_name;
	struct php_function function;
	uint32_t used = 0;

	if (runtime_load(reader, address, &function, sizeof(function)))
		return 0;
	name = function.name;
	scope = function.scope;
	if (scope && name && !runtime_load_word(reader, scope + CLASS_NAME, &class_name)) {
		used = copy_text(reader, class_name, out, room - 2, 0);
		out[used++] = ':';
		out[used++] = ':';
	}
	if (name)
		return used + copy_text(reader, name, out + used, room - used, 0);
	for (const char *at = function.kind == KIND_EVAL ? "eval" : "{main}"; *at;)
		out[used++] = *at++;
	return used;
}

static uint32_t php_text(const struct runtime *runtime, struct runtime_reader *reader,
	uintptr_t address, char *out, uint32_t room, int keep_end)
{
	uint32_t used = address & OF_FUNCTION
				? copy_name(reader, address - OF_FUNCTION, out, room - 1)
				: copy_text(reader, address, out, room - 1, keep_end);

	(void)runtime;
	out[used] = '\0';
	return used + 1;
}

const struct runtime_kind runtime_php = {
	.name = "php",
	.known = "8.2 and 8.4",
	.find = find_php,
	.begin = begin_php,
	.next = next_php,
	.step = step_php,
	.line = php_line,
	.text = php_text,
};
